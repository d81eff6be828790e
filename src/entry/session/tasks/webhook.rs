//! Tells a webhook of a turn (interface §15): at once after the step that ended or paused it, and later by the schedule of
//! `webhooks`.

use serde_json::{Value, json};

use super::SessionTasks;
use crate::contract::Result;
use crate::object::{Attempted, Next, Task};
use crate::persistence::{MessagePlace, WebhookMessage};
use crate::ports::{Database, Platform, failure_line, unreadable_column};
use crate::webhooks::{NotTaken, attempt, next_wait_ms};

/// For how long a catalog without the webhook may be an older one than that which wrote the message, in milliseconds.
/// KV takes up to a minute to show a change everywhere, and an isolate reads it twice a minute.
const CATALOG_DELAY_MS: u64 = 90_000;

/// The time until an invalid catalog, which has no webhooks, is read again, in milliseconds.
const AGAIN_MS: u64 = 300_000;

impl<P: Platform, D: Database + 'static> SessionTasks<P, D> {
    /// Attempts a message.
    pub(super) async fn tell_webhook(&self, task: &Task) -> Result<Attempted> {
        let platform = self.host.platform.as_ref();
        let Ok(catalog) = &self.context.catalog else {
            return Ok(Next::Wait(platform.now_ms().saturating_add(AGAIN_MS)).into());
        };
        let message = serde_json::from_str::<WebhookMessage>(&task.work);
        let (Ok(place), Ok(message)) = (MessagePlace::of(&task.id), message) else {
            // Another version has written it, which may come back. Those behind it do not wait for it.
            let wait = next_wait_ms(task.attempts.saturating_add(1), None, platform.random());
            let (event, level) = match wait {
                Some(_) => ("webhook_retry", "warn"),
                None => ("webhook_failed", "error"),
            };
            platform.log(failure_line(event, level, &unreadable_column("work")));
            let again = |wait| Next::Again(platform.now_ms().saturating_add(wait));
            return Ok(wait.map_or(Next::GivenUp, again).into());
        };
        let (turn_id, id) = (message.turn_id, message.message_id);
        let webhook = catalog.webhook(place.webhook);
        let outcome = match webhook {
            Some(webhook) => attempt(platform, webhook, &id, message.body).await,
            None => {
                let reason = "the catalog no longer has the webhook".to_owned();
                Err(NotTaken { reason, ..NotTaken::default() })
            }
        };
        let now = platform.now_ms();
        let NotTaken { status, reason, retry_after_ms } = match outcome {
            Ok(status) => return Ok(Attempted { next: Next::Done, status: Some(status) }),
            Err(not_taken) => not_taken,
        };
        let is_certain = now.saturating_sub(task.created_at) > CATALOG_DELAY_MS;
        let is_final = status == Some(410) || (webhook.is_none() && is_certain);
        let attempts = task.attempts.saturating_add(1);
        let wait = next_wait_ms(attempts, retry_after_ms, platform.random());
        let wait = wait.filter(|_| !is_final);
        let mut line = match wait {
            Some(wait) => json!({ "event": "webhook_retry", "level": "warn", "again_ms": wait }),
            None => json!({ "event": "webhook_failed", "level": "error" }),
        };
        let facts = json!({
            "webhook": place.webhook, "type": place.event, "turn": turn_id.as_str(),
            "attempts": attempts, "http_status": status, "reason": reason,
        });
        if let (Some(line), Value::Object(facts)) = (line.as_object_mut(), facts) {
            line.extend(facts);
        }
        platform.log(line);
        let next = wait.map_or(Next::GivenUp, |wait| Next::Again(now.saturating_add(wait)));
        Ok(Attempted { next, status })
    }
}
