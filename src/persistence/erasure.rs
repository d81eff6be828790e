//! Erasing a session (interface §1, §9) in one durable step. Only three things outlive it: the ids of responses that
//! the model service still has to delete, until they are deleted or given up; the cancellations of responses; and the
//! receipt, until none is to be deleted and the user's object, if there is one, has counted it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::SessionStore;
use super::records::{Session, to_json};
use super::responses::{DeletionState, StoredResponses};
use super::schema::{RECEIPT, SCHEMA, session_tables};
use crate::contract::{Result, SessionId, TurnStatus};
use crate::encoding::timestamp;
use crate::object::{TaskKind, drop_tables, has_table};
use crate::ports::{Database, insert};

/// The response to `DELETE /sessions/{SessionId}`: the number of rows and files that were erased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ErasureReceipt {
    pub session_id: SessionId,
    /// When its rows were erased: ISO 8601, UTC.
    pub erased_at: String,
    pub turns: u64,
    pub submissions: u64,
    pub conversation_entries: u64,
    pub model_calls: u64,
    pub tool_calls: u64,
    pub mode_changes: u64,
    /// Files that server tools made, equal ones once.
    #[serde(default)]
    pub files: u64,
    /// Responses at the model service; absent when none is to be deleted, because the context does not
    /// say `DeleteStored`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_responses: Option<StoredResponses>,
}

impl ErasureReceipt {
    /// The number of all that it counts but files and responses.
    pub fn rows(&self) -> u64 {
        let counts = [self.turns, self.submissions, self.conversation_entries];
        let counts =
            counts.into_iter().chain([self.model_calls, self.tool_calls, self.mode_changes]);
        counts.fold(0, u64::saturating_add)
    }
}

/// A receipt as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StoredReceipt {
    #[serde(flatten)]
    receipt: ErasureReceipt,
    /// The number of the incarnation of a user's session whose receipt the user's object has not counted yet; 0 for none.
    #[serde(default, skip_serializing_if = "crate::encoding::is_default")]
    for_user: u64,
}

/// Which responses of a session its model services are to delete.
pub(crate) struct StoredAtServices<'a> {
    /// The operator asks for deletions at one of the services at least.
    pub(crate) any_deletes: bool,
    /// Whether the service of that agent context is to delete all that it may have stored.
    pub(crate) deletes: &'a dyn Fn(&str) -> bool,
    /// Whether calls whose instance was lost may have stored one: they left no transcript.
    pub(crate) lost_calls_too: bool,
}

impl<D: Database> SessionStore<D> {
    /// Erases the session, whose files are deleted already. Responses that the model service is to
    /// delete stay with the receipt; so do those of an earlier erasure under the same id. The receipt of a
    /// user's session stays until [`SessionStore::receipt_collected`].
    pub(crate) fn erase(
        &self,
        session: &Session,
        files: u64,
        at_services: StoredAtServices<'_>,
        now: u64,
    ) -> Result<ErasureReceipt> {
        let receipt = self.receipt_over(&session.session_id, files, now)?;
        // A turn's row holds its latest model call.
        let latest_calls = self.number("SELECT COUNT(model_call) AS number FROM turns", &[])?;
        let model_calls = latest_calls + receipt.model_calls;
        let StoredAtServices { any_deletes, deletes, lost_calls_too } = at_services;
        let (mut ids, mut stored_responses) = (BTreeMap::new(), None);
        if any_deletes {
            ids = self.responses_in_transcripts(session)?;
            let unknown = self.unknown_responses(session, &ids, lost_calls_too)?;
            stored_responses = Some(StoredResponses { unknown, ..StoredResponses::default() });
            ids.retain(|_, service| deletes(service));
        }
        let receipt = ErasureReceipt { model_calls, stored_responses, ..receipt };
        let unread = self.pending_responses(session)?;
        self.durable_step(|| {
            drop_tables(self.database.as_ref(), session_tables())?;
            self.tasks.erase()?;
            self.memory.take();
            self.steers_accepted.take();
            for (id, service) in &unread {
                self.tasks.add(TaskKind::Cancel, id, service, now)?;
            }
            for (id, service) in &ids {
                self.add_response(id, service, DeletionState::Pending)?;
            }
            self.release_responses(&|service| any_deletes && deletes(service))?;
            let for_user = session.state.incarnation;
            let receipt = self.save_receipt(StoredReceipt { receipt, for_user })?;
            if self.count_responses()?.0 > 0 {
                self.tasks.add(TaskKind::Deletion, "", "", now)?;
            }
            Ok(receipt)
        })
    }

    /// The form of a session that a newer version of the product wrote; `None` where this one reads it, or there is none.
    pub(crate) fn newer_form(&self) -> Result<Option<usize>> {
        SCHEMA.newer(self.database.as_ref())
    }

    /// Whether a session of a newer form has noted responses that the model service is to delete. What is noted of them is
    /// of that form, too.
    pub(crate) fn has_noted_responses(&self) -> Result<bool> {
        has_table(self.database.as_ref(), "responses")
    }

    /// The receipt that counts the rows of the tables that are there, and no responses. For a session of a newer form, whose
    /// whole storage is to be freed, it is all: the latest model call of each turn stands in the turn's row, where this
    /// version cannot look.
    pub(crate) fn receipt_over(
        &self,
        session_id: &SessionId,
        files: u64,
        now: u64,
    ) -> Result<ErasureReceipt> {
        let count = |table| match has_table(self.database.as_ref(), table)? {
            true => self.number(&format!("SELECT COUNT(*) AS number FROM {table}"), &[]),
            false => Ok(0),
        };
        let turns = count("turns")?;
        Ok(ErasureReceipt {
            session_id: session_id.clone(),
            erased_at: timestamp(now),
            turns,
            // A turn's row holds its latest submission.
            submissions: turns + count("submissions")?,
            conversation_entries: count("conversation")?,
            model_calls: count("model_calls")?,
            tool_calls: count("calls")?,
            mode_changes: count("mode_history")?,
            files,
            stored_responses: None,
        })
    }

    /// Notes that the user's object has counted the receipt of that incarnation. The receipt goes unless responses are to be
    /// deleted.
    pub(crate) fn receipt_collected(&self, incarnation: u64) -> Result<()> {
        let stored = self.stored_receipt()?.filter(|stored| stored.for_user == incarnation);
        let Some(stored) = stored else { return Ok(()) };
        self.durable_step(|| self.save_receipt(StoredReceipt { for_user: 0, ..stored }).map(|_| ()))
    }

    /// Whether responses of an erased session are still to be deleted.
    pub(crate) fn has_open_responses(&self) -> Result<bool> {
        Ok(self.has_receipt()? && self.count_responses()?.0 > 0)
    }

    /// The receipt of the erasure that is under way.
    pub(crate) fn receipt(&self) -> Result<Option<ErasureReceipt>> {
        let Some(stored) = self.stored_receipt()? else { return Ok(None) };
        self.with_open_responses(stored.receipt).map(Some)
    }

    /// Records what became of requests to delete responses: `None` where the model service no longer
    /// holds one. The erasure ends when none is left. `None` when it has ended before. With `gives_up` a response is left to
    /// the service that was asked often enough.
    pub(crate) fn settle_erasure(
        &self,
        asked: &[(String, Option<DeletionState>)],
        gives_up: bool,
    ) -> Result<Option<ErasureReceipt>> {
        // Another erasure may have added to the list while the service was asked.
        let Some(mut stored) = self.stored_receipt()? else { return Ok(None) };
        self.durable_step(|| {
            let counts = stored.receipt.stored_responses.get_or_insert_default();
            for (id, deletion_state) in asked {
                self.settle_response(id, *deletion_state, gives_up, counts)?;
            }
            let receipt = self.save_receipt(stored)?;
            if self.count_responses()?.0 == 0 {
                self.tasks.withdraw(TaskKind::Deletion)?;
            }
            Ok(receipt)
        })
        .map(Some)
    }

    /// The ids of responses in the transcripts of the session's own model calls, with the agent contexts whose services made
    /// them; a fork leaves those of its parent alone.
    fn responses_in_transcripts(&self, session: &Session) -> Result<BTreeMap<String, String>> {
        let copied = session.state.fork.as_ref().map(|fork| fork.model_calls);
        let number = |call: &Map<String, Value>| call.get("Number").and_then(Value::as_u64);
        let mut ids = BTreeMap::new();
        for ordinal in 1..=self.newest_ordinal()? {
            let own = session.agent_of_turn(ordinal);
            let made = |of: &Value| {
                let id = of.get("ResponseId")?.as_str()?.to_owned();
                let service = of.get("Service").and_then(Value::as_str);
                Some((id, service.unwrap_or(&own).to_owned()))
            };
            for call in self.call_records::<Map<String, Value>>(ordinal)? {
                let call = call?;
                if copied.is_some_and(|copied| number(&call).unwrap_or(0) <= copied) {
                    continue;
                }
                if call.get("Stored") != Some(&Value::Bool(true)) {
                    continue;
                }
                let retries = call.get("Retries").and_then(Value::as_array);
                ids.extend(retries.into_iter().flatten().filter_map(made));
                ids.extend(made(&Value::Object(call)));
            }
        }
        Ok(ids)
    }

    /// The number of responses that the model service may have stored and whose ids nobody knows. `transcribed`
    /// are the ids in transcripts.
    fn unknown_responses(
        &self,
        session: &Session,
        transcribed: &BTreeMap<String, String>,
        lost_calls_too: bool,
    ) -> Result<u64> {
        let mut session = session.clone();
        if let Some(ordinal) = session.open_turn {
            // A turn that ran in this instance was stopped before.
            let mut turn = self.turn_at(ordinal)?;
            if turn.status == TurnStatus::Running {
                session.lose_instance(&mut turn);
            }
        }
        let lost = match session.state.lost_calls {
            lost if lost > 0 && lost_calls_too => {
                // An instance that is lost leaves no transcript, but the id that it has kept.
                let is_lost = |id: &String| !transcribed.contains_key(id);
                lost.saturating_sub(self.count_kept_responses(is_lost)?)
            }
            _ => 0,
        };
        Ok(session.state.unknown_responses.saturating_add(lost))
    }

    /// The receipt as it is stored: with the responses that are settled.
    fn stored_receipt(&self) -> Result<Option<StoredReceipt>> {
        if !self.has_receipt()? {
            return Ok(None);
        }
        let row = self.database.first("SELECT text FROM receipt", &[])?;
        row.map(|row| row.json("text")).transpose()
    }

    /// Stores a receipt while responses are to be deleted or the user's object has not counted it, and returns it as
    /// clients see it.
    fn save_receipt(&self, stored: StoredReceipt) -> Result<ErasureReceipt> {
        let text = to_json("text", &stored)?;
        let shown = self.with_open_responses(stored.receipt)?;
        if stored.for_user == 0 && self.count_responses()?.0 == 0 {
            self.drop_receipt()?;
            return Ok(shown);
        }
        self.database.execute_all(&[RECEIPT, "DELETE FROM receipt"])?;
        insert!(self.database, "INSERT INTO" receipt { text })?;
        Ok(shown)
    }

    /// The receipt as clients see it: with the responses that are not settled.
    fn with_open_responses(&self, mut receipt: ErasureReceipt) -> Result<ErasureReceipt> {
        let (open, unreachable) = self.count_responses()?;
        if open > 0 {
            receipt.stored_responses.get_or_insert_default();
        }
        if let Some(counts) = &mut receipt.stored_responses {
            counts.pending = open - unreachable;
            counts.unreachable += unreachable;
        }
        Ok(receipt)
    }
}
