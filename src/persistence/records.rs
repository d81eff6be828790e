//! What is kept of a session: one type per table, with the form of its columns. Times are
//! milliseconds since the epoch.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::call::OpenCalls;
use super::entry_seq::EntrySeq;
use super::fork::ForkOrigin;
use super::other_contexts::OtherContexts;
use super::progress::TurnProgress;
use super::window::{Ladder, Window};
use crate::contract::closed_list;
use crate::contract::{Fault, InvokeResult, Result, SessionId, TurnId, TurnStatus, Usage};
use crate::encoding::sparse_object;
use crate::ports::unreadable_column;

/// The session's one row. As JSON it crosses from a session to its fork.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub session_id: SessionId,
    /// When its first turn was accepted.
    pub created_at: u64,
    /// When a turn last changed it.
    pub updated_at: u64,
    /// The agent context of the turn that runs, else the bound one ([`Session::bound`]).
    pub agent_context: String,
    /// The same.
    pub conversation_context: String,
    /// Key of the current mode: the authority (AGN-011 §3.2).
    pub mode: String,
    /// Hash of the latched client tools, a JSON array; `None` until the session receives any.
    pub client_tools: Option<String>,
    /// Hash of the latched solution context; `None` when there is none.
    pub solution_context: Option<String>,
    /// Hash of the solution context that the conversation last showed.
    pub solution_context_sent: Option<String>,
    /// Hash of the tool list that the model service was last sent; `None` where hosted tools were left out of it.
    pub tools_sent: Option<String>,
    /// Id of the model's last response, which the next one continues.
    pub chain_head: Option<String>,
    /// The last conversation entry that the model service has received.
    pub acknowledged: EntrySeq,
    /// Ordinal of the turn that is running or awaiting tools.
    pub open_turn: Option<u64>,
    /// The calls whose outputs the model has not received yet.
    pub open_calls: Option<OpenCalls>,
    /// What adds up over its model calls.
    pub state: SessionState,
}

sparse_object! {
    /// What adds up over a session's model calls, and what its user's object told. A new member needs a default, so that
    /// older rows stay readable.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct SessionState {
        /// How often the session has been written, so that the newest of its two places is known (`session_row.rs`).
        pub writes?: u64,
        /// Prompt tokens of the newest model call that reported them, summaries aside.
        pub context_tokens: Option<u64>,
        /// Whether calls send another window of the conversation since then.
        pub window_moved?: bool,
        /// Tokens of all model calls that reported any.
        pub total_tokens: u64,
        /// The number of the newest model call.
        pub model_calls: u64,
        /// What calls send of the conversation.
        pub window: Window,
        /// How the session came to a rung of its window, where it has one or tries to do without.
        pub ladder?: Option<Box<Ladder>>,
        /// How the model service keeps the responses that calls continue.
        pub chain?: Chain,
        /// Whether the model service gives no reasoning to send back, and has said so.
        pub reasoning_refused?: bool,
        /// Whether the model service refuses to make responses in the background.
        pub background_refused?: bool,
        /// Attempts at model calls that were cut before the id of a response was known that the service may have
        /// stored.
        pub unknown_responses?: u64,
        /// Instances that were lost when they may have been at a model call, whose attempts nobody recorded.
        pub lost_calls?: u64,
        /// Hash of a solution context that the model service refused, for its length or its contents. It counts as long
        /// as it is the latched one.
        pub refused_solution_context?: Option<String>,
        /// Ordinal of the turn whose client tools are latched.
        pub client_tools_turn?: u64,
        /// Ordinal of the newest turn that brought client tools, until they or newer ones are latched; 0 for none.
        pub untaken_tools_turn?: u64,
        /// The number under which the user's object registered the session; 0 for a session of no user.
        #[serde(rename = "registration")]
        pub incarnation?: u64,
        /// Credentials that were issued earlier are revoked, in milliseconds since the epoch; 0 for none.
        #[serde(rename = "tickets_before")]
        pub credentials_valid_from?: u64,
        /// Ordinal of an ended turn whose kept steers wait until its calls have their outputs; 0 for none.
        pub waiting_steers_turn?: u64,
        /// The tokens that a session of a user may spend, where a budget bounds the user's.
        pub lease?: Option<Lease>,
        /// The title that the first instruction gave a session of a user.
        pub title?: Option<String>,
        /// The contexts beside those that it is bound to, where it had or asked for others.
        pub contexts?: Option<Box<OtherContexts>>,
        /// Where the session comes from, if it is a fork.
        pub fork?: Option<Box<ForkOrigin>>,
    }
}

/// Tokens of a user that a session may spend (interface §13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// The user's object knows it by this number.
    pub id: u64,
    pub tokens: u64,
    /// The session's tokens when it got the lease.
    pub from: u64,
    /// When the user's object gave it.
    pub granted_at: u64,
    /// The tokens that were spent out of it, once it has ended.
    pub used: Option<u64>,
}

impl Lease {
    /// The tokens that were spent out of it, when the session has spent `total`.
    pub fn used(&self, total: u64) -> u64 {
        self.used.unwrap_or(total.saturating_sub(self.from))
    }

    /// Ends it where nothing bounds what is spent from here on: that is spent out of no lease.
    pub(crate) fn pass(&mut self, total: u64) {
        let used = self.used(total);
        (self.used, self.from) = (Some(used), total.saturating_sub(used));
    }

    /// The tokens that are left of it; none after its end.
    pub fn left(&self, total: u64) -> u64 {
        let used = self.used(total);
        if self.used.is_some() { 0 } else { self.tokens.saturating_sub(used) }
    }
}

/// How a model service keeps the chain of a session's responses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Chain {
    /// When its newest response was stored here.
    pub grown_at: u64,
    /// The chains in a row that were lost soon after they had grown.
    pub lost_early: u32,
    /// Why the session goes on without one: each call sends the whole conversation.
    pub ended: Option<ChainEnd>,
}

closed_list! {
    /// Why a session whose responses were to be stored goes on as in `replay` (interface §4).
    pub enum ChainEnd {
        /// The model service stores no responses, and says so.
        StoreRefused = "store_refused",
        /// The model service stores none that the next call could continue.
        ChainsLost = "chains_lost",
    }
}

impl Session {
    /// Drops the chain of the model service's responses: the next call continues none, sends the whole conversation, and
    /// begins a new chain.
    pub fn drop_chain(&mut self) {
        self.chain_head = None;
    }

    /// Notes that the model service keeps no chain of this session: no call begins another one.
    pub fn end_chain(&mut self, why: ChainEnd) {
        self.drop_chain();
        self.state.chain = Chain { ended: Some(why), ..Chain::default() };
    }

    /// Notes that a turn runs which has run before.
    pub(super) fn run_again(&mut self, turn: &mut Turn, now_ms: u64) {
        turn.status = TurnStatus::Running;
        (turn.updated_at, self.updated_at) = (now_ms, now_ms);
        self.open_turn = Some(turn.ordinal);
    }

    /// Notes that the instance that ran a turn was lost. Where the turn's next step is a model call, the instance
    /// may have been at that call; the id of a pending response is known, and how many others are not.
    pub fn lose_instance(&mut self, turn: &mut Turn) {
        let state = &mut self.state;
        if let Some(pending) = &mut turn.progress.pending {
            let unknown = std::mem::take(&mut pending.unknown_responses);
            state.unknown_responses = state.unknown_responses.saturating_add(unknown);
        } else if turn.progress.retrieval.is_none() && self.open_calls_of(turn.ordinal).is_none() {
            self.state.lost_calls = self.state.lost_calls.saturating_add(1);
        }
    }

    /// Whether the model service has refused the latched solution context.
    pub fn solution_context_is_refused(&self) -> bool {
        self.solution_context.is_some()
            && self.state.refused_solution_context == self.solution_context
    }

    /// The open calls of a turn.
    pub fn open_calls_of(&self, turn: u64) -> Option<OpenCalls> {
        self.open_calls.filter(|open| open.turn == turn)
    }
}

/// A turn's row.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// 1 for the session's first turn.
    pub ordinal: u64,
    pub turn_id: TurnId,
    /// Its status, as clients see it.
    pub status: TurnStatus,
    /// When it was accepted.
    pub started_at: u64,
    /// When its row last changed.
    pub updated_at: u64,
    /// How often the latest submission was run.
    pub attempts: u32,
    /// Hash of the tool list, frozen when the turn began (AGN-011 §4.4).
    pub tools: String,
    /// How far the turn has come.
    pub progress: TurnProgress,
    /// SHA-256 of its latest submission, in canonical form.
    pub fingerprint: String,
    /// When that submission was accepted.
    pub accepted_at: u64,
    /// Whether the row holds the transcript of a model call.
    pub(crate) has_transcript: bool,
}

impl Turn {
    /// When the latest submission began to be worked on, in milliseconds since the epoch.
    pub fn submission_began_at(&self) -> u64 {
        self.accepted_at.max(self.progress.spent.again_at)
    }

    /// The tokens of the latest submission alone; `None` where the turn has none yet.
    pub fn submission_usage(&self) -> Option<Usage> {
        let before = self.progress.usage_before;
        self.progress.usage.map(|usage| before.map_or(usage, |before| usage.since(before)))
    }
}

/// A submission of a turn: the user turn or one of its tool continuations.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Submission {
    /// No other submission has followed it.
    pub(crate) latest: bool,
    /// `None` while it runs.
    pub(crate) outcome: Option<StoredOutcome>,
}

/// What a submission ended with, as the client received it.
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
    /// The outcome of a submission that ends with this `InvokeResult`.
    pub fn of(result: &InvokeResult, kept_segment: Option<u32>) -> Self {
        Self { http_status: result.http_status(), body: result.to_json(), kept_segment }
    }

    /// The outcome of a submission that ends without a result. What the turn was warned of holds all the same.
    pub fn of_failure(fault: &Fault, turn: &Turn) -> Self {
        let warnings = turn.progress.warnings.clone();
        Self::of(&InvokeResult::failure_with(vec![fault.clone()], warnings), None)
    }
}

closed_list! {
    /// Why an entry stands in the conversation.
    pub enum EntryKind {
        /// The boot prompt, on the session's first turn.
        System = "system",
        /// The message of a user turn.
        User = "user",
        /// A model call's output items.
        ModelOutput = "answer",
        /// Outputs of tool calls, in the model's order.
        ToolOutputs = "tool_outputs",
        /// The message of a steer.
        Steer = "steer",
        /// What stands for turns that are no longer sent. A [`Window`] refers to it.
        SummaryMessage = "stand_in",
    }
}

impl EntryKind {
    /// Whether a model has made it, or it answers calls of one; every other entry is one message.
    pub fn is_of_a_model(self) -> bool {
        match self {
            Self::ModelOutput | Self::ToolOutputs => true,
            Self::System | Self::User | Self::Steer | Self::SummaryMessage => false,
        }
    }
}

/// An entry of the conversation, without its items: they may be long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub seq: EntrySeq,
    /// Ordinal of the turn that added it.
    pub turn: u64,
    /// Why it is there.
    pub kind: EntryKind,
    /// The agent context whose model service made it, a model output; `None` for the session's own.
    pub service: Option<String>,
    /// The model service refused it as input. A user's message is then not sent any more; tool
    /// outputs are replaced, because the calls before them need some.
    pub withheld: bool,
    /// Length of its items, a JSON array of Responses API items, in bytes.
    pub bytes: usize,
    /// The number of parts of the kept text that its items are; 0 when they stand in its row.
    pub(crate) kept_parts: usize,
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
    pub reason: String,
    /// The turn in which it happened.
    pub turn_id: TurnId,
    /// The model called it a branch of the conversation.
    pub branch: bool,
}

/// Reads a column's JSON.
pub(super) fn from_json<T: DeserializeOwned>(column: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|_| unreadable_column(column))
}

/// Writes JSON for a column.
pub(super) fn to_json(column: &str, value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|_| unreadable_column(column))
}
