//! What the session's own endpoints show (interface.md section 1).

use serde::Serialize;
use serde_json::value::RawValue;

use crate::contract::{SessionId, ToolCall, TurnId, TurnStatus, Usage};
use crate::persistence::ModeChange;

/// `GET /sessions/{SessionId}`
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct SessionView {
    /// The client's id.
    pub session_id: SessionId,
    /// Display name of the current mode.
    pub mode_display_name: String,
    /// Bound by the first turn.
    pub agent_context_id: String,
    /// Bound by the first turn.
    pub conversation_context_id: String,
    /// ISO 8601, UTC.
    pub created_at: String,
    /// ISO 8601, UTC.
    pub updated_at: String,
    /// How many turns were accepted.
    pub turn_count: u64,
    /// The newest turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_turn: Option<TurnSummary>,
    /// The turn that runs or awaits tools; absent when the session takes a new turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live_turn: Option<TurnSummary>,
}

/// A turn in few words, with what it waits for.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TurnSummary {
    /// The client's id.
    pub turn_id: TurnId,
    /// Where it stands.
    pub status: TurnStatus,
    /// The calls that the client is to answer; absent unless the turn awaits tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
}

/// `GET /sessions/{SessionId}/turns/{TurnId}`
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TurnView {
    /// The client's id.
    pub session_id: SessionId,
    /// The client's id.
    pub turn_id: TurnId,
    /// Where it stands.
    pub status: TurnStatus,
    /// It is delivered as a stream.
    pub streaming: bool,
    /// ISO 8601, UTC.
    pub started_at: String,
    /// ISO 8601, UTC.
    pub updated_at: String,
    /// ISO 8601, UTC; absent while the turn runs or awaits tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// How often the latest submission was taken up.
    pub attempts: u32,
    /// Model calls that were answered.
    pub model_calls: u32,
    /// Summed over the model calls so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The calls that the client is to answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// What had been said when the turn was aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_so_far: Option<String>,
    /// The latest answer: the `InvokeResult` as it was given. Absent while the turn runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Box<RawValue>>,
}

/// `GET /sessions/{SessionId}/modes`
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ModesView {
    /// The client's id.
    pub session_id: SessionId,
    /// Display name of the current mode.
    pub mode_display_name: String,
    /// Every change, oldest first.
    pub history: Vec<ModeChange>,
}
