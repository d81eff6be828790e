//! Layer 1, Composition: everything that a request to the model service is made of (AGN-003,
//! the interface, section 4).
//!
//! Architecture Invariant: pure. Nothing here calls, executes, loops, retries or stores; and no
//! other layer writes prompts, tools or context.

mod artifact_content;
mod context_block;
mod model_request;
mod tool_definition;
mod tool_list;
mod trace;
mod user_message;

pub use artifact_content::{ArtifactKind, classify};
pub use context_block::context_block;
pub use model_request::{ComposedRequest, ModelRequest, compose_request};
pub use tool_definition::{ToolDefinition, client_tool_definitions, default_tool_definitions};
pub use tool_list::{MergedTools, ToolList, merge_tools};
pub use trace::Block;
pub use user_message::{ComposedTurn, TurnMaterial, compose_turn};
