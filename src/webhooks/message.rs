//! The message of an event (Standard Webhooks 1.0, *Payload*): made of the outcome that the same step stores.
//!
//! It holds ids and words of closed lists. Content is in it only where the webhook says so.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::catalog::{Catalog, Webhook, WebhookEvent};
use crate::contract::{
    ReadOutcome, Result, SessionId, TurnId, TurnStatus, UserId, WaitingCall, json_text, shown,
    unreadable_outcome,
};
use crate::encoding::{sha256_hex, timestamp};
use crate::persistence::{DueWebhook, Session, StoredOutcome, Turn};
use crate::ports::{Platform, user_name};

/// The longest outcome that a message holds, in bytes.
const LONGEST_OUTCOME: usize = 256 * 1024;

/// The hex digits of a message's id.
const ID_DIGITS: usize = 32;

#[derive(Serialize)]
struct WebhookMessage<'a> {
    r#type: &'a str,
    /// When the event happened: ISO 8601, UTC.
    timestamp: &'a str,
    data: TurnData<'a>,
}

shown! {
    struct TurnData<'a> {
        session_id: &'a SessionId,
        turn_id: &'a TurnId,
        tenant: &'a str,
        /// The user whose session it is; a `SessionId` names no session by itself then.
        user?: Option<&'a UserId>,
        status: TurnStatus,
        /// The kind of the result; absent of a failed or aborted turn.
        kind?: Option<&'a str>,
        /// The first code of a failure.
        error_code?: Option<&'a str>,
        /// The calls that a paused turn waits for.
        tool_calls?: Vec<&'a WaitingCall>,
        /// The stored `InvokeResult`, byte for byte.
        outcome?: Option<&'a RawValue>,
    }
}

/// The messages about a turn that ends or pauses with an outcome, one for each webhook that is told. `turn` has the
/// status after the outcome.
///
/// # Errors
/// `internal` for an outcome that is no `InvokeResult`.
pub fn messages_of<P: Platform>(
    platform: &P,
    catalog: &Catalog,
    session: &Session,
    turn: &Turn,
    outcome: &StoredOutcome,
    now_ms: u64,
) -> Result<Vec<DueWebhook>> {
    let Some(event) = event_of(turn.status) else { return Ok(Vec::new()) };
    let told: Vec<_> = catalog.webhooks_of(&session.conversation_context, event).collect();
    if told.is_empty() {
        return Ok(Vec::new());
    }
    let read = ReadOutcome::of(&outcome.body)?;
    let (tenant, user) = (platform.tenant().unwrap_or_default(), platform.user());
    let owner = user.map_or_else(|| tenant.to_owned(), |user| user_name(tenant, user));
    let happened_at = timestamp(now_ms);
    let id = message_id(&owner, session, turn, event, &happened_at);
    let message = |(name, webhook): (&str, &Webhook)| {
        let holds_outcome = webhook.content && outcome.body.len() <= LONGEST_OUTCOME;
        let stored = holds_outcome.then(|| serde_json::from_str::<&RawValue>(&outcome.body));
        let data = TurnData {
            session_id: &session.session_id,
            turn_id: &turn.turn_id,
            tenant,
            user,
            status: turn.status,
            kind: read.result.as_ref().and_then(|result| result.kind.as_deref()),
            error_code: read.errors.first().map(|error| error.code.as_str()),
            tool_calls: read.result.iter().flat_map(|result| &result.tool_calls).collect(),
            outcome: stored.transpose().map_err(|_| unreadable_outcome())?,
        };
        let message = WebhookMessage { r#type: event.as_str(), timestamp: &happened_at, data };
        Ok(DueWebhook {
            message_id: id.clone(),
            webhook: name.to_owned(),
            event: event.as_str(),
            body: json_text("A webhook's message", &message)?,
        })
    };
    told.into_iter().map(message).collect()
}

/// The id of an event. A submission that fails, is repeated and fails again has two events, and so have turns of one name
/// in two lives of a session. `owner` is the tenant, or `{tenant}/~{user}`.
fn message_id(
    owner: &str,
    session: &Session,
    turn: &Turn,
    event: WebhookEvent,
    happened_at: &str,
) -> String {
    let (session, turn_id) = (session.session_id.as_str(), turn.turn_id.as_str());
    let submission = turn.progress.submission.to_string();
    let named = [owner, session, turn_id, event.as_str(), &submission, happened_at].join("\n");
    let digits: String = sha256_hex(named.as_bytes()).chars().take(ID_DIGITS).collect();
    format!("msg_{digits}")
}

fn event_of(status: TurnStatus) -> Option<WebhookEvent> {
    match status {
        TurnStatus::Running => None,
        TurnStatus::AwaitingTools => Some(WebhookEvent::AwaitingTools),
        TurnStatus::Completed => Some(WebhookEvent::Completed),
        TurnStatus::Failed => Some(WebhookEvent::Failed),
        TurnStatus::Aborted => Some(WebhookEvent::Aborted),
    }
}
