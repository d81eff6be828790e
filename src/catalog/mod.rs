//! The catalog: what an operator configures without touching code (interface §6).
//!
//! Owns the document's typed form, its lookups and the one door through which a document comes in,
//! checked whole. It fetches nothing, reads no variable and holds no secret, only secrets' names.
//! Of the crate it names only `json`: whoever builds requests takes from here what it needs.

mod agent_context;
mod definitions;
mod document;
mod findings;
mod http_endpoint;
mod modes;
mod names;
mod parameters;
mod secret_template;
mod tools;
mod values;

pub use definitions::{
    AGENT_CHANGE_MODE, AGENT_LIST_MODES, AgentContext, BUILT_IN_TOOLS, Catalog,
    ClientToolDefinition, Continuation, ConversationContext, DEFAULT_CONTEXT, GENERAL_MODE,
    HeaderTemplate, HttpTool, Mode, OnError, Retrieval, ServerTool,
};
pub use document::needed_secrets;
pub use findings::{CatalogFault, NeededSecret};
pub use secret_template::{MalformedTemplate, SecretFault, SecretTemplate};
