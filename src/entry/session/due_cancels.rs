//! The background responses that the model service is to cancel (interface §4, Background responses), for what ends
//! outside a run and for the alarm.

use super::session_host::SessionHost;
use crate::contract::Fault;
use crate::entry::context::AdmissionContext;
use crate::ports::{Database, Platform};

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// Begins to cancel what a step has just given up; the alarm repeats it.
    pub(super) fn start_cancels(&self, context: &AdmissionContext) -> Result<(), Fault> {
        if self.cancels.next_at()?.is_none() {
            return Ok(());
        }
        self.ensure_alarm(context.deployment.turn_alarm_ms)?;
        self.cancels.start(context.catalog.as_ref().ok(), &context.deployment)
    }

    /// The same, and waits for it: what is to be deleted is cancelled before.
    pub(super) async fn cancel_all(&self, context: &AdmissionContext) -> Result<(), Fault> {
        self.start_cancels(context)?;
        self.cancels.idle().await;
        Ok(())
    }

    /// Goes on with the cancellations when the alarm has rung, and sets the next one before any work.
    pub(super) async fn resume_cancels(
        &self,
        context: &AdmissionContext,
        every_ms: u64,
    ) -> Result<(), Fault> {
        let Some(next_at) = self.cancels.next_at()? else { return Ok(()) };
        if next_at > self.platform.now_ms() {
            return self.alarm.set_by(self.platform.as_ref(), next_at);
        }
        self.ensure_alarm(every_ms)?;
        self.cancel_all(context).await
    }
}
