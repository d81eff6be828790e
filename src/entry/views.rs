//! What the session's own endpoints show (the interface, section 1).

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

/// `GET /sessions/{SessionId}/turns`
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TurnsView {
    /// The client's id.
    pub session_id: SessionId,
    /// Oldest first.
    pub turns: Vec<TurnEntry>,
    /// There are turns after the last one shown: ask again with its id as `After`.
    pub more: bool,
}

/// A turn in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TurnEntry {
    /// The client's id.
    pub turn_id: TurnId,
    /// Where it stands.
    pub status: TurnStatus,
    /// ISO 8601, UTC.
    pub started_at: String,
    /// ISO 8601, UTC.
    pub updated_at: String,
    /// Summed over the model calls so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// `GET /sessions/{SessionId}/turns/{TurnId}/trace`: diagnostics, out of band (AGN-033 §3.1). Sizes,
/// sources, ids and times, never content.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TraceView {
    /// The client's id.
    pub session_id: SessionId,
    /// The client's id.
    pub turn_id: TurnId,
    /// Where it stands.
    pub status: TurnStatus,
    /// How often the latest submission was taken up.
    pub attempts: u32,
    /// What the turn's message was made of, and what was left out (AGN-027 §7).
    pub composition: Box<RawValue>,
    /// One entry for each model call: request, retries, rebuild, duration, usage, fault.
    pub model_calls: Vec<Box<RawValue>>,
    /// One entry for each tool call.
    pub tool_calls: Vec<TracedCall>,
    /// The mode changes of this turn.
    pub mode_changes: Vec<ModeChange>,
}

/// A tool call in a trace.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TracedCall {
    /// The model call of the turn that made it, from 0.
    pub model_call: u32,
    /// The id that clients and tools know it by.
    pub tool_call_id: String,
    /// Tool name.
    pub name: String,
    /// `server`, `client`, or `nobody` when it could not be run.
    pub runs_on: &'static str,
    /// Time that the tool took; absent while the call is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_ms: Option<u64>,
    /// It gave a result rather than an error; absent while the call is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successful: Option<bool>,
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
