//! The messages of webhooks (interface §15): each is a task, and the trace tells what became of it.
//!
//! A message is written in the step that ends or pauses its turn.

use serde::{Deserialize, Serialize};

use super::SessionStore;
use super::records::{Turn, to_json};
use crate::contract::{Fault, Result, TurnId};
use crate::object::{TaskKind, TaskRecord, TaskState};
use crate::ports::Database;

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

/// What the task of a message has to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WebhookMessage {
    pub(crate) turn_id: TurnId,
    pub(crate) message_id: String,
    pub(crate) body: String,
}

/// A message as the trace shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct WebhookRecord {
    pub webhook: String,
    pub event: String,
    /// What has become of it: `pending`, `delivered`, or `failed` where it was given up.
    pub state: &'static str,
    pub attempts: u32,
    /// Absent where no attempt got a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_status: Option<u16>,
}

/// Where a message stands among those of its session: the id of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessagePlace<'a> {
    turn: u64,
    submission: u32,
    /// When the submission was sent again after a failure, in milliseconds since the epoch; 0 before.
    again_at: u64,
    pub(crate) event: &'a str,
    /// The name of the webhook.
    pub(crate) webhook: &'a str,
}

impl<'a> MessagePlace<'a> {
    /// Earlier turns and submissions come first.
    fn id(self) -> String {
        let Self { turn, submission, again_at, event, webhook } = self;
        let again = if again_at > 0 { format!(".{again_at}") } else { String::new() };
        format!("{}{submission:06}{again}/{event}/{webhook}", Self::prefix(turn))
    }

    /// How the ids of a turn's messages begin.
    fn prefix(turn: u64) -> String {
        format!("{turn:010}/")
    }

    /// Reads the id of a task.
    pub(crate) fn of(id: &'a str) -> Result<Self> {
        let other_form = || Fault::internal("The task of a webhook has an id of another form.");
        let mut parts = id.splitn(4, '/');
        let mut part = || parts.next().ok_or_else(other_form);
        let number = |text: &str| text.parse().map_err(|_| other_form());
        let turn = number(part()?)?;
        let submission = part()?;
        let (submission, again_at) = submission.split_once('.').unwrap_or((submission, "0"));
        Ok(Self {
            turn,
            submission: submission.parse().map_err(|_| other_form())?,
            again_at: number(again_at)?,
            event: part()?,
            webhook: part()?,
        })
    }
}

impl<D: Database> SessionStore<D> {
    /// Adds the messages of a turn's submission, which are due at once. A message that waits already stays as it is.
    pub(super) fn add_webhooks(&self, turn: &Turn, due: &[DueWebhook], now_ms: u64) -> Result<()> {
        let Turn { ordinal: turn, turn_id, progress, .. } = turn;
        let (turn, submission, again_at) = (*turn, progress.submission, progress.spent.again_at);
        for DueWebhook { message_id, webhook, event, body } in due {
            let id = MessagePlace { turn, submission, again_at, event, webhook }.id();
            let (turn_id, message_id, body) = (turn_id.clone(), message_id.clone(), body.clone());
            let work = to_json("work", &WebhookMessage { turn_id, message_id, body })?;
            self.tasks.add(TaskKind::Webhook, &id, &work, now_ms)?;
        }
        Ok(())
    }

    /// The messages of a turn, those of its first submission first.
    pub(crate) fn webhooks_of(&self, turn: u64) -> Result<Vec<WebhookRecord>> {
        self.find_tables()?;
        let tasks = self.tasks.records(TaskKind::Webhook, &MessagePlace::prefix(turn))?;
        let mut messages = Vec::with_capacity(tasks.len());
        for task in &tasks {
            messages.push((MessagePlace::of(&task.id)?, task));
        }
        // A submission may end several times: as failed, and when it is repeated, as completed.
        messages.sort_by_key(|(place, task)| (place.submission, task.created_at, place.webhook));
        let record = |(place, task): (MessagePlace<'_>, &TaskRecord)| WebhookRecord {
            webhook: place.webhook.to_owned(),
            event: place.event.to_owned(),
            state: match task.state {
                TaskState::Pending => "pending",
                TaskState::Done => "delivered",
                TaskState::GivenUp => "failed",
            },
            attempts: task.attempts,
            last_status: task.last_status,
        };
        Ok(messages.into_iter().map(record).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_message_tells_its_place_whatever_its_webhook_is_called() {
        for webhook in ["hook", "a/b", "", "2/turn.completed/x"] {
            for again_at in [0, 1_767_323_045_678] {
                let event = "turn.completed";
                let place = MessagePlace { turn: 7, submission: 2, again_at, event, webhook };
                assert_eq!(MessagePlace::of(&place.id()).unwrap(), place);
            }
        }
        for id in ["", "7", "7/2/turn.completed", "x/2/turn.completed/hook", "7/-1/e/hook"] {
            assert!(MessagePlace::of(id).is_err(), "{id}");
        }
    }
}
