//! Retention (interface §6, RetentionDays): a session in which no turn moved for that many days erases itself.
//!
//! The object's only alarm also keeps running turns alive: it is set for the end of the retention only when
//! it has rung and nothing else needs it. That is one written row each time the session's turns have ended.

use super::session_host::SessionHost;
use crate::contract::Fault;
use crate::entry::context::AdmissionContext;
use crate::ports::{Database, Platform};

const DAY_MS: u64 = 86_400_000;

/// The time until an invalid catalog, which has no retention, is read again, in milliseconds.
const AGAIN_MS: u64 = 3_600_000;

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// Erases a session whose retention is over, as `DELETE` would; else sets the alarm for the end of its
    /// retention.
    pub(super) async fn erase_expired(&self, context: &AdmissionContext) -> Result<(), Fault> {
        let Some(session) = self.store.session()? else { return Ok(()) };
        let now = self.platform.now_ms();
        let due = match &context.catalog {
            Err(_) => now.saturating_add(AGAIN_MS),
            Ok(catalog) => {
                let agent = catalog.agent_context(&session.agent_context);
                let Some(days) = agent.and_then(|agent| agent.retention_days) else {
                    return Ok(());
                };
                session.updated_at.saturating_add(u64::from(days).saturating_mul(DAY_MS))
            }
        };
        if due > now || self.running.is_busy() {
            return self.alarm.set_for_later(self.platform.as_ref(), due);
        }
        self.erase(context, &session.session_id, now).await?;
        self.end_erasure(context).await
    }
}
