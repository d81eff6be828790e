//! The catalog: what an operator configures without touching code (interface §6).
//!
//! It owns the document's typed form, its lookups, and [`Catalog::parse`], which checks a whole document
//! and is the only way to a catalog. It fetches nothing, reads no variable and holds no secret, only
//! the names of secrets. Of the crate it names only `encoding` and `json`.

mod agent_context;
mod approval;
mod contexts;
mod definitions;
mod document;
mod embeddings;
mod fallbacks;
mod findings;
mod hosted_tools;
mod http_endpoint;
mod lookups;
mod mcp_servers;
mod model_parameters;
mod modes;
mod names;
mod residence;
mod rollout;
mod secret_template;
mod tool_parameters;
mod tools;
mod turn_tools;
mod values;
mod webhook_event;
mod webhooks;
mod written_once;

pub use approval::{APPROVE_TOOL, Approval, Approvers};
pub use definitions::{
    AgentContext, Budget, BuiltInTool, Catalog, ClientToolDefinition, Compaction, CompactionBy,
    ContextTools, Continuation, ConversationContext, DEFAULT_CONTEXT, Embeddings, GENERAL_MODE,
    HeaderTemplate, HostedTool, HttpService, McpServer, Mode, OnError, Retrieval, RetrievalSource,
    ServerTool, Webhook,
};
pub use document::needed_secrets;
pub use findings::{CatalogFault, NeededSecret};
pub use http_endpoint::url_problem;
pub use model_parameters::{ModelParameter, ModelParameters};
pub use rollout::{Newcomer, Rollout, RolloutBy};
pub use secret_template::{SecretTemplate, check_secret};
pub use turn_tools::NamedTool;
pub use webhook_event::WebhookEvent;
