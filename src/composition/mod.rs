//! Layer 1, Composition: everything that a request to the model service is made of (AGN-003,
//! interface §4): its words, its tool list, its wire items.
//!
//! Architecture Invariant: pure. Nothing here calls, executes, loops, retries or stores; and no
//! other layer writes prompts, tools, tool outputs or context (AGN-027 §3.1.1).

mod artifact_content;
mod context_block;
mod model_request;
mod tool_definition;
mod tool_list;
mod tool_output;
mod trace;
mod turn;
mod user_message;

pub use artifact_content::{ArtifactKind, classify};
pub use context_block::context_block;
pub use model_request::{ComposedRequest, ModelRequest, compose_request};
pub use tool_definition::{ToolDefinition, server_tool_definitions};
pub use tool_list::{MergedTools, ToolList, merge_tools};
pub use tool_output::{GivenUp, NoResult, refused_output, stand_in, tool_outputs};
pub use trace::Block;
pub use turn::{ComposedTurn, TurnMaterial, compose_turn};
pub use user_message::{ComposedMessages, MessageMaterial, compose_messages};
