//! The messages of webhooks (interface §15): those that wait, and what became of the others, for the trace.
//!
//! A message is written in the step that ends or pauses its turn. A session has the table from its first message on.

use serde::Serialize;

use super::SessionStore;
use super::records::StoredOutcome;
use super::schema::WEBHOOKS;
use crate::contract::closed_list;
use crate::contract::{Fault, TurnId};
use crate::ports::{Database, Row};

closed_list! {
    /// What has become of a message.
    pub enum WebhookState {
        Pending = "pending",
        Delivered = "delivered",
        /// Given up.
        Failed = "failed",
    }
}

/// A message that is due from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueWebhook {
    /// The same for all webhooks that are told the event.
    pub message_id: String,
    /// The name of the webhook.
    pub webhook: String,
    pub event: &'static str,
    /// JSON text, which stays the same.
    pub body: String,
}

/// The end of a submission.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    pub outcome: &'a StoredOutcome,
    /// The messages that tell it.
    pub webhooks: &'a [DueWebhook],
    pub now_ms: u64,
}

/// A message that waits for its next attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingWebhook {
    turn: u64,
    submission: u32,
    pub(crate) turn_id: TurnId,
    pub(crate) event: String,
    pub(crate) webhook: String,
    pub(crate) message_id: String,
    pub(crate) body: String,
    pub(crate) created_at: u64,
    /// Failed ones so far.
    pub(crate) attempts: u32,
    /// When the next attempt is due.
    pub(crate) next_at: u64,
}

/// What an attempt came to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WebhookStep {
    /// There is no further attempt.
    End(WebhookState),
    /// The next attempt is due at that time.
    Again(u64),
}

/// A message as the trace shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct WebhookRecord {
    pub webhook: String,
    pub event: String,
    pub state: WebhookState,
    pub attempts: u32,
    /// Absent where no attempt got a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_status: Option<u16>,
}

impl<D: Database> SessionStore<D> {
    /// Adds the messages of a turn's submission, which are due at once. A message that waits already stays as it is.
    pub(super) fn add_webhooks(
        &self,
        turn: u64,
        submission: u32,
        due: &[DueWebhook],
        now_ms: u64,
    ) -> Result<(), Fault> {
        if !due.is_empty() && !self.has_webhooks()? {
            self.database.execute(WEBHOOKS, &[])?;
            self.memory.borrow_mut().has_webhooks = true;
        }
        for message in due {
            self.database.execute(
                "INSERT OR IGNORE INTO webhooks (state, turn, submission, event, webhook, message_id, body,
                    created_at, attempts, next_at)
                 VALUES ('pending', ?, ?, ?, ?, ?, ?, ?, 0, ?)",
                &[
                    turn.into(),
                    submission.into(),
                    message.event.into(),
                    message.webhook.as_str().into(),
                    message.message_id.as_str().into(),
                    message.body.as_str().into(),
                    now_ms.into(),
                    now_ms.into(),
                ],
            )?;
        }
        Ok(())
    }

    /// The message whose next attempt is due first.
    pub(crate) fn next_webhook(&self) -> Result<Option<PendingWebhook>, Fault> {
        if !self.has_webhooks()? {
            return Ok(None);
        }
        let statement =
            "SELECT webhooks.*, turns.turn_id FROM webhooks JOIN turns ON ordinal = turn
             WHERE state = 'pending' ORDER BY next_at, turn, submission LIMIT 1";
        let row = self.database.first(statement, &[])?;
        let pending = |row: Row| {
            Ok(PendingWebhook {
                turn: row.get("turn")?,
                submission: row.get("submission")?,
                turn_id: row.get("turn_id")?,
                event: row.get("event")?,
                webhook: row.get("webhook")?,
                message_id: row.get("message_id")?,
                body: row.get("body")?,
                created_at: row.get("created_at")?,
                attempts: row.get("attempts")?,
                next_at: row.get("next_at")?,
            })
        };
        row.map(pending).transpose()
    }

    /// Records an attempt at a message. Nothing is written where the message is gone with its session.
    pub(crate) fn settle_webhook(
        &self,
        message: &PendingWebhook,
        step: WebhookStep,
        status: Option<u16>,
    ) -> Result<(), Fault> {
        if !self.has_webhooks()? {
            return Ok(());
        }
        let (state, next_at) = match step {
            WebhookStep::End(state) => (state, message.next_at),
            WebhookStep::Again(next_at) => (WebhookState::Pending, next_at),
        };
        self.durable_step(|| {
            // The body is kept only for further attempts.
            self.database.execute(
                "UPDATE OR REPLACE webhooks
                 SET state = ?1, body = CASE ?1 WHEN 'pending' THEN body ELSE '' END,
                    attempts = attempts + 1, next_at = ?2, last_status = COALESCE(?3, last_status)
                 WHERE state = 'pending' AND turn = ?4 AND submission = ?5 AND event = ?6 AND webhook = ?7
                    AND created_at = ?8 AND attempts = ?9",
                &[
                    state.as_str().into(),
                    next_at.into(),
                    status.into(),
                    message.turn.into(),
                    message.submission.into(),
                    message.event.as_str().into(),
                    message.webhook.as_str().into(),
                    message.created_at.into(),
                    message.attempts.into(),
                ],
            )
        })
    }

    /// The messages of a turn, those of its first submission first.
    pub(crate) fn webhooks_of(&self, turn: u64) -> Result<Vec<WebhookRecord>, Fault> {
        if !self.has_webhooks()? {
            return Ok(Vec::new());
        }
        let statement = "SELECT webhook, event, state, attempts, last_status FROM webhooks
             WHERE state IN ('pending', 'delivered', 'failed') AND turn = ?
             ORDER BY submission, created_at, webhook";
        let record = |row: &Row| {
            Ok(WebhookRecord {
                webhook: row.get("webhook")?,
                event: row.get("event")?,
                state: row.get("state")?,
                attempts: row.get("attempts")?,
                last_status: row.get("last_status")?,
            })
        };
        self.database.query(statement, &[turn.into()])?.iter().map(record).collect()
    }

    /// Whether the session ever had a message. It asks the storage only where nothing of the session is known.
    pub(crate) fn has_webhooks(&self) -> Result<bool, Fault> {
        self.find_tables()?;
        Ok(self.memory.borrow().has_webhooks)
    }
}
