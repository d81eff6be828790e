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

pub use agent_context::{AgentContext, Retrieval, RetrievalSource};
pub use approval::{APPROVE_TOOL, Approval, Approvers};
pub use definitions::{
    Budget, BuiltInTool, Compaction, CompactionBy, Continuation, DEFAULT_CONTEXT, GENERAL_MODE,
    HeaderTemplate, HostedTool, OnError,
};
pub use document::{Catalog, ConversationContext, needed_secrets};
pub use embeddings::Embeddings;
pub use findings::{CatalogFault, NeededSecret};
pub use http_endpoint::{HttpService, url_problem};
pub use mcp_servers::McpServer;
pub use model_parameters::{ModelParameter, ModelParameters};
pub use modes::Mode;
pub use rollout::{Newcomer, Rollout, RolloutBy};
pub use secret_template::{SecretTemplate, check_secret};
pub use tools::{ClientToolDefinition, ContextTools, ServerTool};
pub use turn_tools::NamedTool;
pub use webhook_event::WebhookEvent;
pub use webhooks::Webhook;
