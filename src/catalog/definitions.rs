//! Parts of a checked catalog that stand in more than one object, or whose fields no declaration says (AGN-003 §2 for the
//! contexts, AGN-011 §4 for modes and their tools).
//!
//! The readers own the rules, and `lookups` how it is asked.

use serde::Serialize;
use serde_json::value::RawValue;

use super::secret_template::SecretTemplate;
use crate::encoding::{closed_list, sparse_object};

closed_list! {
    /// The product's own tools: a mode may name them, and no catalog may redefine them.
    pub enum BuiltInTool {
        /// Changes the mode; every turn offers it (AGN-011 §4.2).
        ChangeMode = "agent_change_mode",
        /// Lists the modes; modes that name it offer it.
        ListModes = "agent_list_modes",
    }
}

/// The mode in which a session starts by default (AGN-011 §3.1).
pub const GENERAL_MODE: &str = "general";
/// The conversation context of sessions that name none.
pub const DEFAULT_CONTEXT: &str = "default";

/// What happens to a conversation that grows too long for the model. An export shows it without the prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Compaction {
    pub by: CompactionBy,
    /// The tokens of a call's input from which the conversation is shortened, 1000 to 100000000; always
    /// present when the service shortens it. Absent: the conversation is shortened when the service refuses
    /// its length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<u32>,
    /// The instructions for the summary, never blank. Absent: the product's own.
    #[serde(skip)]
    pub prompt: Option<String>,
}

closed_list! {
    /// Who shortens a conversation.
    #[derive(Default)]
    pub enum CompactionBy {
        /// This product, by a summary.
        #[default]
        Own = "Own",
        /// The model service; each call carries the threshold.
        Service = "Service",
        None = "None",
    }
}

sparse_object! {
    /// The `TotalTokens` at which no further model call begins (interface §6). An export shows it without the lease.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "PascalCase")]
    pub struct Budget {
        /// Of one turn, 1 to 4294967295. Absent: without a bound.
        pub turn_tokens?: Option<u64>,
        /// Of a whole session, 1 to 4294967295. Absent: without a bound.
        pub session_tokens?: Option<u64>,
        /// Of a user on one day, UTC, in all sessions. Absent: without a bound.
        pub user_tokens_per_day?: Option<u64>,
        /// Of a user in one month, UTC. Absent: without a bound.
        pub user_tokens_per_month?: Option<u64>,
        /// What a session takes of a user's tokens at once. Absent: 50,000.
        #[serde(skip)]
        pub lease: Option<u64>,
    }
}

impl Budget {
    /// What bounds the tokens of a user, if anything does: of a day, of a month, and those of a lease.
    pub fn of_user(&self) -> Option<(Option<u64>, Option<u64>, u64)> {
        let (day, month) = (self.user_tokens_per_day, self.user_tokens_per_month);
        (day.is_some() || month.is_some()).then_some((day, month, self.lease.unwrap_or(50_000)))
    }
}

/// Who remembers the conversation between calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Continuation {
    /// The service: `store: true`, then `previous_response_id`.
    #[default]
    Stored,
    /// This product: `store: false`, and each call sends the whole conversation.
    Replay,
}

/// A tool that the model service runs by itself.
#[derive(Debug, Clone)]
pub struct HostedTool {
    /// Its `type`, such as `web_search`.
    pub kind: String,
    /// Its `server_label`: a list may hold several MCP servers.
    pub server_label: Option<String>,
    /// As the document writes it, `type` included.
    pub json: Box<RawValue>,
}

impl HostedTool {
    /// Whether both have the same type and label: a call can hold only one of them.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.kind, &self.server_label) == (&other.kind, &other.server_label)
    }
}

impl PartialEq for HostedTool {
    fn eq(&self, other: &Self) -> bool {
        self.json.get() == other.json.get()
    }
}

closed_list! {
    /// How a server tool's failure affects the turn.
    #[derive(Default)]
    pub enum OnError {
        /// The turn fails (AGN-027 §4, layer 3).
        #[default]
        FailTurn = "FailTurn",
        /// The model gets the error as the tool's result and goes on.
        ReportToModel = "ReportToModel",
    }
}

/// One header whose value may name secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderTemplate {
    /// As written; no other header of the same call has this name in any case.
    pub name: String,
    /// Expanded on every call.
    pub value: SecretTemplate,
}
