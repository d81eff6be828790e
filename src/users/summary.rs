//! What the list of a user's sessions shows of one session.

use serde::{Deserialize, Serialize};

use crate::contract::TurnId;
use crate::contract::closed_list;

closed_list! {
    /// The status of a session in its user's list.
    pub enum SessionStatus {
        /// A turn runs.
        Running = "running",
        /// A turn waits for results of the client's tools.
        AwaitingTools = "awaiting_tools",
        /// A turn waits for a human's decision, and for results of the client's tools, where it called some.
        AwaitingApproval = "awaiting_approval",
        /// No turn is live, and the newest one was completed or aborted.
        Idle = "idle",
        /// No turn is live, and the newest one failed.
        Failed = "failed",
    }
}

/// What a paused turn waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Waiting {
    pub turn_id: TurnId,
    /// When the turn paused: ISO 8601, UTC.
    pub since: String,
    /// The names of the tools whose calls wait, in the model's order; of a question, the tool that it is about.
    pub tools: Vec<String>,
}

/// What a session tells of itself. Times are milliseconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct SessionSummary {
    /// The number under which the session was registered.
    pub incarnation: u64,
    /// When its first turn was accepted.
    pub created_at: u64,
    /// When a turn last changed it.
    pub active_at: u64,
    pub status: SessionStatus,
    /// Key of the current mode.
    pub mode: String,
    /// The number of accepted turns.
    pub turns: u64,
    /// Tokens of all model calls that reported any.
    pub tokens: u64,
    /// Of its first instruction; empty without one.
    pub title: String,
    /// Absent unless a turn is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
}
