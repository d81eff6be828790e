//! The catalog's typed form (AGN-003 §2 for the contexts, AGN-011 §4 for modes and their tools).
//!
//! It defines the content of a checked catalog; the readers own the rules, and `lookups` how it is asked.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::approval::Approval;
use super::model_parameters::ModelParameters;
use super::rollout::Rollout;
use super::secret_template::SecretTemplate;
use super::webhook_event::WebhookEvent;
use super::written_once::WrittenOnce;
use crate::encoding::{Jurisdiction, closed_list, sparse_object};

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

/// A checked catalog: every reference in it resolves, and it has at least one mode.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalog {
    /// What the document says of itself, 1 to 64 of `A-Za-z0-9._:-`.
    pub version: Option<String>,
    pub(super) agent_contexts: BTreeMap<String, AgentContext>,
    pub(super) conversation_contexts: BTreeMap<String, ConversationContext>,
    /// In the document's order; at least one.
    pub modes: Vec<Mode>,
    /// The mode marked `IsDefault`, else `general`, else the first.
    pub default_mode: Mode,
    /// In the document's order.
    pub server_tools: Vec<ServerTool>,
    pub(super) mcp_servers: Vec<(String, McpServer)>,
    pub(super) webhooks: Vec<(String, Webhook)>,
    /// Whether the first instruction gives a user's session its title in the list (interface §13). Default `true`.
    pub titles_sessions: bool,
    /// The definition of `agent_change_mode`, which names all modes.
    pub change_mode_definition: WrittenOnce,
}

/// Which model service a session talks to, and how.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentContext {
    /// `{BaseUrl}/responses` is called. Absent: the deployment's `OPENAI_BASE_URL`.
    /// As written in the document, possibly with a slash at its end.
    pub base_url: Option<String>,
    /// The name of the secret that holds the service's key. Absent: no key is sent.
    pub api_key_secret: Option<String>,
    /// The model of conversation contexts without one. Absent: the deployment's `OPENAI_MODEL`.
    pub model: Option<String>,
    /// Who remembers the conversation between calls.
    pub continuation: Continuation,
    /// Whether every call sends the tools; `false` is the rule of AGN-003 §4.2. Default `true`.
    pub resend_tools: bool,
    /// Whether the service makes responses in the background, where they go on without their reader. Default `false`.
    pub background: bool,
    /// Whether erasing a session deletes the responses that the service stored. Default `false`.
    pub delete_stored: bool,
    /// The ids of the agent contexts whose services take calls over, in order; each has a model. Default: none.
    pub fallbacks: Vec<String>,
    /// Whether the service is offered tools that it runs by itself. Default `true`.
    pub offer_hosted_tools: bool,
    /// The source and number of a user turn's chunks.
    pub retrieval: Retrieval,
    /// Headers of every call of the service, in the document's order.
    pub headers: Vec<HeaderTemplate>,
    /// Names and values that every call's URL has as its query, in the document's order; not encoded.
    pub query: Vec<(String, String)>,
    /// Whether calls carry the session's `prompt_cache_key`. Default `true`.
    pub prompt_cache_key: bool,
    /// Whether calls carry a `safety_identifier` of the user's. Default `false`.
    pub safety_identifier: bool,
    /// Parameters of every call.
    pub model_parameters: ModelParameters,
    /// What happens to a conversation that grows too long for the model.
    pub compaction: Compaction,
    /// Tokens that may be spent.
    pub budget: Budget,
    /// Model calls that one submission may make, 1 to 1000. Absent: the deployment's `MAX_ITERATIONS`.
    pub max_iterations: Option<u32>,
    /// Days without activity after which a session erases itself, 1 to 36500. Absent: never.
    pub retention_days: Option<u32>,
    /// The hosts whose addresses a result of a ticket's or a token's client may hand to the model, as those of
    /// [`ServerTool::file_hosts`]. Default: none.
    pub file_hosts: Vec<String>,
    /// The jurisdictions in which the service is, each once. Default: none.
    pub residence: Vec<Jurisdiction>,
}

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

/// Where a user turn's chunks come from, and how many it gets (interface §7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrieval {
    pub source: RetrievalSource,
    /// The most chunks of a turn, 1 to 100. Default 8.
    pub limit: u32,
    /// The most bytes of chunk text of a turn, 1 to 1048576. Default 24576.
    pub max_bytes: u32,
    /// The service that embeds the index's chunks and the questions. Absent: words alone rank.
    pub embeddings: Option<Embeddings>,
}

impl Default for Retrieval {
    fn default() -> Self {
        Self { source: RetrievalSource::Index, limit: 8, max_bytes: 24_576, embeddings: None }
    }
}

/// A service that turns texts into vectors, by `POST {BaseUrl}/embeddings` (interface §7).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Embeddings {
    /// The model, as the service names it.
    pub model: String,
    /// The numbers of a vector, 1 to 4096.
    pub dimensions: usize,
    /// Where requests go. Absent: the deployment's `OPENAI_BASE_URL`.
    pub base_url: Option<String>,
    /// The name of the secret that holds the agent context's key, if the document has no `BaseUrl`. A header
    /// with a key takes its place.
    pub api_key_secret: Option<String>,
    /// Headers of every request, added to the agent context's headers if `base_url` is absent.
    pub headers: Vec<HeaderTemplate>,
    /// Names and values of every request's query: the agent context's if the document has no `BaseUrl`, else
    /// none.
    pub query: Vec<(String, String)>,
    /// For one request, in milliseconds, 1 to 900000. Default 10000.
    pub timeout_ms: u64,
    /// The part of a chunk's score that its place by vectors makes, in thousandths; words make the rest. Default 430.
    pub weight: u32,
    /// The jurisdictions in which the service is: the agent context's if the document has no `BaseUrl`.
    pub residence: Vec<Jurisdiction>,
}

/// Where a user turn's chunks come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetrievalSource {
    /// The workspace's own index.
    Index,
    /// The operator's own search service.
    Http(HttpService),
    /// Nowhere: turns see their own artifacts only.
    None,
}

/// The reasoning profile of a conversation (AGN-003 §2).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConversationContext {
    /// Names an agent context of this catalog; empty only beside `instead`.
    pub agent_context_id: String,
    /// The system message of a session's first call; blank only beside `instead`.
    pub boot_prompt: String,
    /// Takes precedence over the agent context's model.
    pub model: Option<String>,
    /// The key of the mode its sessions start in. Absent: `general`, else [`Catalog::default_mode`].
    pub mode: Option<String>,
    pub tools: ContextTools,
    /// Tools of every turn that the model service runs by itself.
    pub hosted_tools: Vec<HostedTool>,
    /// Parameters of every call; each overrides the agent context's.
    pub model_parameters: ModelParameters,
    /// Names of webhooks of this catalog that hear of its sessions' turns, each once.
    pub webhooks: Vec<String>,
    /// The shares of its new sessions that begin under other contexts.
    pub rollout: Option<Rollout>,
    /// The context under which its sessions go on, and new ones begin: one without `Instead`.
    pub instead: Option<String>,
}

/// The tools that a conversation context names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextTools {
    /// Those of sessions none of whose requests had any.
    pub of_client: Vec<ClientToolDefinition>,
    /// Tools of MCP servers that every turn offers, written as in [`Mode::tools`].
    pub of_servers: Vec<String>,
}

/// A client tool: offered to the model, run by the client.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientToolDefinition {
    /// `^[a-zA-Z0-9_-]{1,64}$`, not a built-in tool's name.
    pub name: String,
    /// The text by which the model chooses it.
    pub description: Option<String>,
    /// A JSON Schema that always says `"type": "object"` and has `properties`.
    pub parameters: Map<String, Value>,
    /// Default `false`.
    pub strict: bool,
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

/// A mode of the agent (AGN-011).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mode {
    /// `^[A-Za-z0-9_.-]{1,64}$`; seen by the model, never by clients.
    pub key: String,
    /// The name that clients see; one line, never blank.
    pub display_name: String,
    /// The text by which the model chooses it; may be empty.
    pub when_to_use: String,
    /// Precedes the final text of the turn that changed into the mode; may be empty.
    pub welcome_message: String,
    /// The mode layer of the prompt; may be empty.
    pub instructions: String,
    /// Names of server tools and built-in tools, and tools of MCP servers as `server/tool` or `server/*`, each once.
    /// `agent_change_mode` need not be named.
    pub tools: Vec<String>,
    /// Tools that the model service runs by itself. Each overrides one of the same type of the conversation
    /// context.
    pub hosted_tools: Vec<HostedTool>,
    /// Parameters of the calls made while the mode is on; each overrides the conversation context's.
    pub model_parameters: ModelParameters,
    /// Whether the document marks it as the default. See [`Catalog::default_mode`].
    pub is_default: bool,
}

/// A tool the server runs by an HTTP call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerTool {
    /// `^[a-zA-Z0-9_-]{1,64}$`, not a built-in tool's name.
    pub name: String,
    /// The text by which the model chooses it; never blank.
    pub description: String,
    /// A JSON Schema that always says `"type": "object"` and has `properties`.
    pub parameters: Map<String, Value>,
    /// Whether the model service holds the model to the parameters. Default `false`.
    pub strict: bool,
    /// How its failure affects the turn.
    pub on_error: OnError,
    /// How a human is asked before it runs. Absent: it runs unasked.
    pub approval: Option<Approval>,
    /// Whether calls of it may run beside others that may. Default `false`.
    pub parallel: bool,
    /// The service that runs it.
    pub http: HttpService,
    /// The hosts whose addresses its result may hand to the model, as a URL writes them, in any case. Default: none.
    pub file_hosts: Vec<String>,
    /// Whether its result may name files that the model service keeps. Default `false`.
    pub file_ids: bool,
    /// Whether it gets the place of the call in its client's trace. Default `false`.
    pub trace_context: bool,
    /// As the model service takes it.
    pub definition: WrittenOnce,
}

/// A server of tools that speaks the Model Context Protocol (interface §11).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpServer {
    /// https, or http to this machine. Its time limit holds for each call. Default 60000.
    pub http: HttpService,
    /// Names of tools, `*` standing for any text: only these are offered. Absent: all.
    pub allow: Option<Vec<String>>,
    /// By patterns of names, how a human is asked before a call runs; the first that matches decides.
    pub approvals: Vec<(String, Option<Approval>)>,
    /// By patterns of names, whether calls may run beside others that may; the first that matches decides.
    pub parallels: Vec<(String, bool)>,
    /// By the tool's own name, the SHA-256 that its definition must have, in lower-case hex.
    pub pins: Vec<(String, String)>,
    /// How a fault of the server affects the turn. Default `ReportToModel`.
    pub on_error: OnError,
    /// Whether it gets the place of a call in its client's trace. Default `false`.
    pub trace_context: bool,
    /// SHA-256 of its definition as the document writes it. What was learnt of a server holds only as long as
    /// this fingerprint stays.
    pub fingerprint: String,
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

/// A service of the operator's: it takes a `POST` of JSON and responds with JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpService {
    /// http or https, without credentials and fragment.
    pub url: String,
    /// Headers of every call, in the document's order.
    pub headers: Vec<HeaderTemplate>,
    /// For the whole exchange, in milliseconds, 1 to 900000. Default 30000.
    pub timeout_ms: u64,
}

impl Default for HttpService {
    fn default() -> Self {
        Self { url: String::new(), headers: Vec::new(), timeout_ms: 30_000 }
    }
}

/// A receiver of messages about turns that end or wait (interface §15).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Webhook {
    /// https, or http to this machine. Its time limit holds for one attempt. Default 15000.
    pub http: HttpService,
    /// The names of one or two secrets, each of which signs every message.
    pub signing_secrets: Vec<String>,
    /// The events that are told, each once. Default: all.
    pub events: Vec<WebhookEvent>,
    /// Whether a message holds the turn's outcome. Default `false`.
    pub content: bool,
}

/// One header whose value may name secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderTemplate {
    /// As written; no other header of the same call has this name in any case.
    pub name: String,
    /// Expanded on every call.
    pub value: SecretTemplate,
}
