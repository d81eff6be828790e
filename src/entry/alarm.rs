//! The alarm of a session's object: it keeps the object from being evicted under a turn, and rings
//! for a turn whose instance was lost. The runtime keeps one, as a part of the object's storage.

use std::cell::Cell;
use std::rc::Rc;

use serde_json::json;

use super::admission_context::ContextSource;
use super::session_host::SessionHost;
use crate::contract::Fault;
use crate::ports::{Database, Deployment, Platform};

/// Whether this instance has set the alarm that is to ring next.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    is_set: Cell<bool>,
}

impl Alarm {
    /// Sees to it that the alarm is set, together with whatever is written in the same stretch: what
    /// is accepted is looked after from that moment on.
    ///
    /// # Errors
    /// `internal` when the storage fails.
    pub(super) fn ensure<P: Platform>(&self, platform: &P, every_ms: u64) -> Result<(), Fault> {
        if !self.is_set.get() {
            platform.set_alarm(platform.now_ms().saturating_add(every_ms))?;
            self.is_set.set(true);
        }
        Ok(())
    }

    /// It has rung, or went with the storage.
    pub(super) fn forget(&self) {
        self.is_set.set(false);
    }
}

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// The alarm has rung: it sees to what goes on without a client.
    ///
    /// # Errors
    /// `internal` when not even the next alarm can be set: the runtime then rings again by itself.
    pub async fn alarm_rang(self: &Rc<Self>, source: &ContextSource) -> Result<(), Fault> {
        self.alarm.forget();
        // A variable that is wrong must not end the looking after.
        let deployment = source.deployment(self.platform.as_ref());
        let every_ms = deployment
            .map_or_else(|_| Deployment::default().turn_alarm_ms, |known| known.turn_alarm_ms);
        if let Err(fault) = self.look_after(source, every_ms).await {
            // The runtime would ring a few times more, and then never again.
            self.platform.log(json!({
                "event": "alarm_failed", "level": "error",
                "code": fault.code.as_str(), "message": fault.message,
            }));
            self.alarm.ensure(self.platform.as_ref(), every_ms)?;
        }
        Ok(())
    }

    /// In order: a turn that runs here keeps its alarm, one that was interrupted is taken up, an
    /// erasure goes on, and storage that holds nothing any more is freed.
    async fn look_after(
        self: &Rc<Self>,
        source: &ContextSource,
        every_ms: u64,
    ) -> Result<(), Fault> {
        if self.is_running() {
            self.alarm.ensure(self.platform.as_ref(), every_ms)?;
        }
        let context = source.context(self.platform.as_ref(), "").await?;
        let waits = self.recover(&context)?;
        self.resume_erasure(&context).await?;
        self.end_erasure(&context).await?;
        match context.catalog {
            Err(fault) if waits => Err(fault),
            _ => Ok(()),
        }
    }
}
