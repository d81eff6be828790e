//! The webhooks of a session's object (interface §15): messages about turns that end outside a run, and what the alarm does
//! for those that wait.

use super::session_host::SessionHost;
use crate::contract::Fault;
use crate::entry::context::AdmissionContext;
use crate::persistence::{DueWebhook, Session, StoredOutcome, Turn};
use crate::ports::{Database, Platform};
use crate::webhooks::due_webhooks;

/// The time until an invalid catalog, which has no webhooks, is read again, in milliseconds.
const AGAIN_MS: u64 = 300_000;

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// The messages about a turn that ends outside a run; an invalid catalog has no webhooks. Where there are any, the
    /// alarm is set in the same step.
    pub(super) fn due_webhooks(
        &self,
        context: &AdmissionContext,
        session: &Session,
        turn: &Turn,
        outcome: &StoredOutcome,
        now_ms: u64,
    ) -> Result<Vec<DueWebhook>, Fault> {
        let Ok(catalog) = context.catalog() else { return Ok(Vec::new()) };
        let platform = self.platform.as_ref();
        let due = due_webhooks(platform, catalog, session, turn, outcome, now_ms)?;
        if !due.is_empty() {
            self.ensure_alarm(context.deployment.turn_alarm_ms)?;
        }
        Ok(due)
    }

    /// Begins to deliver what is due.
    pub(super) fn deliver_webhooks(&self, context: &AdmissionContext) -> Result<(), Fault> {
        context.catalog().map_or(Ok(()), |catalog| self.webhooks.start(catalog))
    }

    /// Goes on with the deliveries when the alarm has rung, and sets the next one before any work: an object that is
    /// lost meanwhile finds its messages again.
    pub(super) fn resume_webhooks(
        &self,
        context: &AdmissionContext,
        every_ms: u64,
    ) -> Result<(), Fault> {
        let Some(next_at) = self.webhooks.next_at()? else { return Ok(()) };
        if context.catalog.is_err() {
            return self.ensure_alarm(AGAIN_MS);
        }
        if next_at > self.platform.now_ms() {
            return self.alarm.set_by(self.platform.as_ref(), next_at);
        }
        self.ensure_alarm(every_ms)?;
        self.deliver_webhooks(context)
    }
}
