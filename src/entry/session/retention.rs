//! Retention (interface §6, RetentionDays): a session in which no turn moved for that many days erases itself.
//!
//! The object's only alarm also keeps running turns alive, so the retention's time is set last: after the alarm has rung
//! and found nothing that needs it earlier. That is one written row each time the session's turns have ended.

use super::session_host::SessionHost;
use crate::contract::Result;
use crate::entry::request_context::RequestContext;
use crate::persistence::Session;
use crate::ports::{Database, Platform};
use crate::users::Ending;

const DAY_MS: u64 = 86_400_000;

/// The time until an invalid catalog, which has no retention, is read again, in milliseconds.
const AGAIN_MS: u64 = 3_600_000;

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// Erases a session whose retention is over, as `DELETE` would; else sets the alarm for the end of its
    /// retention. A session of a user has the user's object begin, as a `DELETE` does.
    pub(super) async fn erase_expired(&self, context: &RequestContext) -> Result<()> {
        let Some(session) = self.store.session()? else { return Ok(()) };
        let now = self.platform.now_ms();
        let Some(due) = due(context, &session, now) else { return Ok(()) };
        if due > now || self.running.is_busy() {
            return self.alarm.set_by(self.platform.as_ref(), due);
        }
        if self.platform.user().is_some() {
            let is_heard = self.report_expiry().await?;
            let alarm_interval_ms = context.deployment.turn_alarm_ms;
            return if is_heard { Ok(()) } else { self.ensure_alarm(alarm_interval_ms) };
        }
        self.erase(context, &session.session_id, now, Ending::WhenDone).await?;
        self.end_erasure(context).await
    }

    /// Whether the retention of the session is over and no turn runs.
    pub(super) fn is_expired(&self, context: &RequestContext, session: &Session) -> bool {
        let now = self.platform.now_ms();
        let is_over = due(context, session, now).is_some_and(|due| due <= now);
        is_over && !self.running.is_busy() && context.catalog.is_ok()
    }
}

/// When the retention of a session is to be looked at; `None` where it never ends. It is that of the agent context which the
/// session goes on with where the catalog lacks its own; where it lacks both, the session is looked at each day.
fn due(context: &RequestContext, session: &Session, now_ms: u64) -> Option<u64> {
    let Ok(catalog) = &context.catalog else { return Some(now_ms.saturating_add(AGAIN_MS)) };
    let next = || {
        let (_, conversation) = catalog.goes_on_under(&session.conversation_context)?;
        catalog.agent_context(&conversation.agent_context_id)
    };
    let Some(agent) = catalog.agent_context(&session.agent_context).or_else(next) else {
        return Some(now_ms.saturating_add(DAY_MS));
    };
    let days = agent.retention_days?;
    Some(session.updated_at.saturating_add(u64::from(days).saturating_mul(DAY_MS)))
}
