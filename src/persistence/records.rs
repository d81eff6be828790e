//! What is kept of a session: one type per table, with the exact form of each row.

use std::num::TryFromIntError;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::contract::{
    Fault, InvokeResult, SessionId, ToolResult, TurnId, TurnStatus, Usage, Warning,
};
use crate::encoding::timestamp;
use crate::files::OutputFile;
use crate::ports::{Row, Value, unreadable};

/// The session's one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// The client's id.
    pub session_id: SessionId,
    /// Milliseconds since the epoch.
    pub created_at: u64,
    /// Milliseconds since the epoch.
    pub updated_at: u64,
    /// Bound by the first turn.
    pub agent_context: String,
    /// Bound by the first turn.
    pub conversation_context: String,
    /// Key of the current mode: the authority (AGN-011 §3.2).
    pub mode: String,
    /// Hash of the latched client tools, a JSON array; `None` until the session receives any.
    pub client_tools: Option<String>,
    /// Hash of the latched solution context; `None` when there is none.
    pub solution_context: Option<String>,
    /// Hash of the solution context that the conversation last showed.
    pub solution_context_sent: Option<String>,
    /// Hash of the tool list that the model service was last sent.
    pub tools_sent: Option<String>,
    /// Id of the model's last response: where the chain goes on.
    pub chain_head: Option<String>,
    /// The last conversation entry that the model service has; later ones are owed.
    pub acknowledged: EntrySeq,
    /// Ordinal of the turn that is running or awaiting tools.
    pub live_turn: Option<u64>,
    /// The calls whose outputs the model has not been given yet.
    pub open_calls: Option<OpenCalls>,
}

impl Session {
    /// The open calls, when they belong to that turn.
    pub fn open_calls_of(&self, turn: u64) -> Option<OpenCalls> {
        self.open_calls.filter(|open| open.turn == turn)
    }
}

/// Names the calls of one model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCalls {
    /// Ordinal of the turn.
    pub turn: u64,
    /// The model call within the turn.
    pub model_call: u32,
}

/// A turn's row.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// 1 for the session's first turn.
    pub ordinal: u64,
    /// The client's id.
    pub turn_id: TurnId,
    /// Where the turn stands.
    pub status: TurnStatus,
    /// Milliseconds since the epoch.
    pub started_at: u64,
    /// Milliseconds since the epoch.
    pub updated_at: u64,
    /// How often the current submission was taken up.
    pub attempts: u32,
    /// Hash of the tool list, frozen when the turn began (AGN-011 §4.4).
    pub tools: String,
    /// How far the turn has come.
    pub progress: TurnProgress,
    /// SHA-256 of the canonical request that is its latest submission.
    pub fingerprint: String,
    /// When that was accepted, in milliseconds since the epoch.
    pub accepted_at: u64,
    /// Whether the row holds the transcript of a model call.
    pub(super) has_transcript: bool,
}

impl Turn {
    pub(super) fn from_row(row: &Row, progress: TurnProgress) -> Result<Self, Fault> {
        Ok(Self {
            ordinal: row.number("ordinal")?,
            turn_id: TurnId::parse(&row.text("turn_id")?)?,
            status: TurnStatus::parse(&row.text("status")?).ok_or_else(|| unreadable("status"))?,
            started_at: row.number("started_at")?,
            updated_at: row.number("updated_at")?,
            attempts: row.number("attempts")?,
            tools: row.text("tools")?,
            progress,
            fingerprint: row.text("fingerprint")?,
            accepted_at: row.number("accepted_at")?,
            has_transcript: row.number::<u8>("has_transcript")? != 0,
        })
    }
}

/// How far a turn has come: what the reasoner needs to go on besides the conversation and the calls.
/// A new member needs a default, so that older rows stay readable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TurnProgress {
    /// The turn is delivered as a stream, its continuations too.
    pub streaming: bool,
    /// Number of the latest submission.
    pub submission: u32,
    /// Model calls of this turn that gave an output.
    pub model_calls: u32,
    /// Model calls of the latest submission that gave an output.
    pub iterations: u32,
    /// Number of the segment that the next model call writes. It grows with every attempt, so that
    /// text of an attempt that was lost is never taken for text of another.
    pub next_segment: u32,
    /// Sent on the turn's first model call only.
    pub tool_choice: Option<String>,
    /// What the model said beside the calls it made last, and in which segment.
    pub said_with_calls: Option<(u32, String)>,
    /// Key of the mode whose welcome message stands before the final text.
    pub welcome: Option<String>,
    /// Sum over the turn's model calls.
    pub usage: Option<Usage>,
    /// For the final response.
    pub user_warnings: Vec<String>,
    /// For the `InvokeResult`.
    pub warnings: Vec<Warning>,
    /// What server tools made, for the final response.
    pub files: Vec<OutputFile>,
    /// Where the client reached the deployment, scheme and authority: links begin with it.
    pub origin: String,
    /// What the model had said when the turn was aborted.
    pub text_so_far: Option<String>,
}

/// A submission of a turn: the user turn or one of its tool continuations.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// No other submission has followed it.
    pub latest: bool,
    /// What it ended with; `None` while it runs.
    pub outcome: Option<StoredOutcome>,
}

/// What a submission ended with, as the client was given it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredOutcome {
    /// HTTP status of JSON delivery.
    pub http_status: u16,
    /// The `InvokeResult`, byte for byte.
    pub body: String,
    /// The segment whose text the outcome carries.
    pub kept_segment: Option<u32>,
}

impl StoredOutcome {
    /// The outcome that an `InvokeResult` is. `kept_segment` is the segment whose text it carries.
    pub fn of(result: &InvokeResult, kept_segment: Option<u32>) -> Self {
        Self { http_status: result.http_status(), body: result.to_json(), kept_segment }
    }
}

/// Why an entry stands in the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// The boot prompt, on the session's first turn.
    System,
    /// What a user turn said.
    User,
    /// A model call's output items.
    ModelOutput,
    /// Outputs of tool calls, in the model's order.
    ToolOutputs,
}

impl EntryKind {
    /// The spelling in the `kind` column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::ModelOutput => "answer",
            Self::ToolOutputs => "tool_outputs",
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        [Self::System, Self::User, Self::ModelOutput, Self::ToolOutputs]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| unreadable("kind"))
    }
}

/// The place of an entry in the conversation, counted from 1; entries are never moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct EntrySeq(pub(super) u64);

impl EntrySeq {
    /// The place before the first entry.
    pub const START: Self = Self(0);
}

impl From<EntrySeq> for Value {
    fn from(EntrySeq(seq): EntrySeq) -> Self {
        seq.into()
    }
}

impl TryFrom<i64> for EntrySeq {
    type Error = TryFromIntError;

    fn try_from(number: i64) -> Result<Self, TryFromIntError> {
        u64::try_from(number).map(Self)
    }
}

/// An entry of the conversation.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its place.
    pub seq: EntrySeq,
    /// Ordinal of the turn that added it.
    pub turn: u64,
    /// Why it is there.
    pub kind: EntryKind,
    /// The model service refused it as input. What a user said is then not sent any more; for tool
    /// outputs, which the calls before them need, stand-ins are sent.
    pub withheld: bool,
    /// Responses API items.
    pub items: Vec<Box<RawValue>>,
}

/// Who runs a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsOn {
    /// A server tool.
    Server,
    /// The client.
    Client,
    /// Nobody: the call cannot be run, and its result tells the model why.
    Nobody,
}

impl RunsOn {
    /// The spelling in the `runs_on` column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Nobody => "nobody",
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        [Self::Server, Self::Client, Self::Nobody]
            .into_iter()
            .find(|place| place.as_str() == text)
            .ok_or_else(|| unreadable("runs_on"))
    }
}

/// A call that the model made.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The model call of the turn that made it, from 0.
    pub model_call: u32,
    /// Its place among that model call's calls, from 0.
    pub position: u32,
    /// The model's id for it.
    pub call_id: String,
    /// The id that clients and tools know it by: unique within the turn.
    pub tool_call_id: String,
    /// Tool name.
    pub name: String,
    /// JSON text as the model wrote it.
    pub arguments: String,
    /// Who runs it.
    pub runs_on: RunsOn,
    /// `None` while the call is open.
    pub result: Option<ToolResult>,
}

impl Call {
    /// Whether it waits for the client.
    pub fn is_pending(&self) -> bool {
        self.runs_on == RunsOn::Client && self.result.is_none()
    }
}

/// A mode change, as `GET …/modes` shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ModeChange {
    /// Mode key.
    pub previous_mode: String,
    /// Mode key.
    pub new_mode: String,
    /// ISO 8601, UTC.
    pub timestamp: String,
    /// The model's reason.
    pub reason: String,
    /// The turn in which it happened.
    pub turn_id: TurnId,
}

impl ModeChange {
    pub(super) fn from_row(row: &Row) -> Result<Self, Fault> {
        Ok(Self {
            previous_mode: row.text("previous_mode")?,
            new_mode: row.text("new_mode")?,
            timestamp: timestamp(row.number("changed_at")?),
            reason: row.text("reason")?,
            turn_id: TurnId::parse(&row.text("turn_id")?)?,
        })
    }
}

/// Reads JSON that we wrote ourselves.
pub(super) fn from_json<T: DeserializeOwned>(column: &str, text: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|_| unreadable(column))
}

/// Writes JSON for a column.
pub(super) fn to_json(column: &str, value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|_| unreadable(column))
}
