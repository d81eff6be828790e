//! The erasure of a user (interface §13): what is counted while the sessions erase themselves, and the receipt.

use serde::{Deserialize, Serialize};

use crate::contract::shown;
use crate::encoding::timestamp;
use crate::persistence::{ErasureReceipt, StoredResponses};

/// What an erasure never touches: documents in workspaces belong to the tenant, and the log to the operator.
const KEPT: [&str; 2] = ["workspaces", "logs"];

/// An erasure of a user, as it is stored: the sums over the sessions that are done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct UserErasure {
    /// Milliseconds since the Unix epoch.
    pub started_at: u64,
    /// Milliseconds since the Unix epoch; absent while sessions are still to be erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<u64>,
    /// Sessions that are erased, with all that belongs to them.
    pub erased: u64,
    pub counts: ErasedCounts,
}

/// Sums over the receipts of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ErasedCounts {
    /// Turns, submissions, conversation entries, model calls, tool calls and mode changes.
    rows: u64,
    files: u64,
    /// Absent while no session's receipt has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    stored_responses: Option<StoredResponses>,
}

shown! {
    /// The response to `DELETE /users/{User}`.
    pub struct UserReceipt<'a> {
        user: &'a str,
        started_at: String,
        completed_at?: Option<String>,
        sessions: SessionCounts,
        #[serde(flatten)]
        counts: ErasedCounts,
        tickets_before: String,
        kept: [&'static str; 2],
    }

    /// The sessions of a user that is being erased.
    pub struct SessionCounts {
        pub erased: u64,
        /// Still to be erased; the alarm of the user's object sees to it.
        pub pending: u64,
        /// The pending sessions whose latest attempt failed.
        pub failed: u64,
    }
}

impl ErasedCounts {
    /// Adds the counts of one session.
    pub fn add(&mut self, receipt: &ErasureReceipt) {
        self.rows = self.rows.saturating_add(receipt.rows());
        self.files = self.files.saturating_add(receipt.files);
        if let Some(added) = receipt.stored_responses {
            let counts = self.stored_responses.unwrap_or_default();
            self.stored_responses = Some(counts.plus(added));
        }
    }
}

impl UserErasure {
    /// The receipt. `pending` and `failed` are the sessions that are not done, and `underway` the receipts that those
    /// of them have given whose responses are still to be deleted.
    pub fn receipt<'a>(
        &self,
        user: &'a str,
        (pending, failed): (u64, u64),
        underway: impl IntoIterator<Item = &'a ErasureReceipt>,
        credentials_valid_from: u64,
    ) -> UserReceipt<'a> {
        let mut counts = self.counts.clone();
        underway.into_iter().for_each(|receipt| counts.add(receipt));
        UserReceipt {
            user,
            started_at: timestamp(self.started_at),
            completed_at: self.completed_at.map(timestamp),
            sessions: SessionCounts { erased: self.erased, pending, failed },
            counts,
            tickets_before: timestamp(credentials_valid_from),
            kept: KEPT,
        }
    }
}
