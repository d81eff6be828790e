//! Erasing a session (interface §1) in one durable step. Only the receipt and the ids of responses
//! that the model service still has to delete outlive the step, until those responses are deleted.

use serde::{Deserialize, Serialize};

use super::SessionStore;
use super::records::{from_json, to_json};
use super::schema::{ERASURE_TABLES, session_tables};
use crate::contract::{Fault, SessionId};
use crate::encoding::timestamp;
use crate::ports::Database;

/// How often the model service is asked to delete responses that it refuses to delete.
const MAX_ATTEMPTS: u32 = 10;

/// The response to `DELETE /sessions/{SessionId}`: the number of rows and files that were erased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ErasureReceipt {
    pub(crate) session_id: SessionId,
    /// When its rows were erased: ISO 8601, UTC.
    pub(crate) erased_at: String,
    pub(crate) turns: u64,
    pub(crate) submissions: u64,
    pub(crate) conversation_entries: u64,
    pub(crate) model_calls: u64,
    pub(crate) tool_calls: u64,
    pub(crate) mode_changes: u64,
    /// Files that server tools made, equal ones once.
    #[serde(default)]
    pub(crate) files: u64,
    /// Responses at the model service; absent when the context does not say `DeleteStored`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stored_responses: Option<StoredResponses>,
}

/// The number of responses that the model service had stored, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct StoredResponses {
    /// Deleted, or unknown to the service.
    pub(crate) deleted: u64,
    /// Still to be deleted; the session's alarm sees to it.
    pub(crate) pending: u64,
    /// Given up, because the service refused to delete them every time.
    pub(crate) refused: u64,
}

/// An erasure of whose stored responses some are still to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingErasure {
    pub(crate) receipt: ErasureReceipt,
    pub(crate) agent_context: String,
    /// How often the model service did not delete all that it was asked to.
    pub(crate) attempts: u32,
    pub(crate) responses: Vec<String>,
}

impl<D: Database> SessionStore<D> {
    /// Ids of the session's responses at the model service.
    pub(crate) fn stored_responses(&self) -> Result<Vec<String>, Fault> {
        let mut ids = Vec::new();
        for ordinal in 1..=self.newest_ordinal()? {
            let calls = self.model_calls(ordinal)?;
            let stored = calls.iter().filter_map(|call| call.get("ResponseId")?.as_str());
            ids.extend(stored.map(str::to_owned));
        }
        Ok(ids)
    }

    /// Erases the session, whose files are deleted already. `responses`, which the model service is to
    /// delete, stay with the receipt; so do those of an earlier erasure under the same id.
    pub(crate) fn erase(
        &self,
        session_id: &SessionId,
        agent_context: &str,
        files: u64,
        responses: Option<Vec<String>>,
        now: u64,
    ) -> Result<PendingErasure, Fault> {
        let earlier = self.pending_erasure()?;
        let delete = responses.is_some() || earlier.is_some();
        let mut pending: Vec<String> = earlier.map_or_else(Vec::new, |earlier| earlier.responses);
        pending.extend(responses.into_iter().flatten());
        let count = |table| self.number(&format!("SELECT COUNT(*) AS number FROM {table}"));
        let count_of_calls = |table| if self.has_call_tables()? { count(table) } else { Ok(0) };
        let turns = count("turns")?;
        let latest_calls = self.number("SELECT COUNT(model_call) AS number FROM turns")?;
        let receipt = ErasureReceipt {
            session_id: session_id.clone(),
            erased_at: timestamp(now),
            turns,
            // A turn's row holds its latest submission and its latest model call.
            submissions: turns + count_of_calls("submissions")?,
            conversation_entries: count("conversation")?,
            model_calls: latest_calls + count_of_calls("model_calls")?,
            tool_calls: count_of_calls("calls")?,
            mode_changes: count_of_calls("mode_history")?,
            files,
            stored_responses: delete.then(|| StoredResponses {
                pending: pending.len() as u64,
                ..StoredResponses::default()
            }),
        };
        let erasure = PendingErasure {
            receipt,
            agent_context: agent_context.to_owned(),
            attempts: 0,
            responses: pending,
        };
        self.step(|| {
            for table in session_tables() {
                self.database.execute(&format!("DROP TABLE IF EXISTS {table}"), &[])?;
            }
            self.memory.take();
            self.keep_erasure(&erasure)
        })?;
        Ok(erasure)
    }

    /// The erasure that is under way.
    pub(crate) fn pending_erasure(&self) -> Result<Option<PendingErasure>, Fault> {
        let table = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'erasure'";
        if self.database.first(table, &[])?.is_none() {
            return Ok(None);
        }
        let Some(row) = self.database.first("SELECT * FROM erasure", &[])? else { return Ok(None) };
        let ids = "SELECT response_id FROM stored_responses ORDER BY number";
        let ids = self.database.query(ids, &[])?;
        Ok(Some(PendingErasure {
            receipt: from_json("receipt", &row.get::<String>("receipt")?)?,
            agent_context: row.get("agent_context")?,
            attempts: row.get("attempts")?,
            responses: ids.iter().map(|row| row.get("response_id")).collect::<Result<_, _>>()?,
        }))
    }

    /// Records that the model service has `deleted` responses when it was asked to delete `asked`. The
    /// erasure ends when none is left, or when the service has refused the rest too often.
    pub(crate) fn settle_erasure(
        &self,
        asked: usize,
        deleted: &[String],
    ) -> Result<Option<ErasureReceipt>, Fault> {
        // Another erasure may have added to the list while the service was asked.
        let Some(mut erasure) = self.pending_erasure()? else { return Ok(None) };
        let before = erasure.responses.len();
        erasure.responses.retain(|id| !deleted.contains(id));
        let counts = erasure.receipt.stored_responses.get_or_insert_default();
        counts.deleted += (before - erasure.responses.len()) as u64;
        if deleted.len() < asked {
            erasure.attempts += 1;
        }
        if erasure.attempts >= MAX_ATTEMPTS {
            counts.refused = erasure.responses.len() as u64;
            erasure.responses.clear();
        }
        counts.pending = erasure.responses.len() as u64;
        self.keep_erasure(&erasure)?;
        Ok(Some(erasure.receipt))
    }

    fn keep_erasure(&self, erasure: &PendingErasure) -> Result<(), Fault> {
        self.step(|| {
            let dropped = ["DROP TABLE IF EXISTS erasure", "DROP TABLE IF EXISTS stored_responses"];
            self.database.execute_all(&dropped)?;
            if erasure.responses.is_empty() {
                return Ok(());
            }
            self.database.execute_all(ERASURE_TABLES)?;
            self.database.execute(
                "INSERT INTO erasure (receipt, agent_context, attempts) VALUES (?, ?, ?)",
                &[
                    to_json("receipt", &erasure.receipt)?.into(),
                    erasure.agent_context.as_str().into(),
                    erasure.attempts.into(),
                ],
            )?;
            for (number, response) in erasure.responses.iter().enumerate() {
                self.database.execute(
                    "INSERT INTO stored_responses (number, response_id) VALUES (?, ?)",
                    &[number.into(), response.as_str().into()],
                )?;
            }
            Ok(())
        })
    }
}
