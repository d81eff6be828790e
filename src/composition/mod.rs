//! Layer 1, Composition: everything that a request to the model service is made of (AGN-003,
//! interface §4): its words, its tool list, its wire items.
//!
//! Architecture Invariant: pure. Nothing here calls, executes, loops, retries or stores; and no
//! other layer writes prompts, tools, tool outputs or context (AGN-027 §3.1.1).
//!
//! Every fallible function fails with `internal`: stored text is unreadable, or a value has no JSON
//! form.

mod artifact_content;
mod call_parameters;
mod content_parts;
mod context_block;
mod mcp_tools;
mod model_request;
mod output_format;
mod plain_words;
mod retrieved_chunks;
mod server_tools;
mod shortened_output;
mod solution_context;
mod summary;
mod tool_definition;
mod tool_list;
mod tool_output;
mod trace;
mod turn;
mod turn_material;
mod user_message;

pub use call_parameters::{CallParameters, safety_identifier};
pub use model_request::{ComposedRequest, ModelRequest, compose_request};
pub use output_format::OutputFormat;
pub(crate) use plain_words::{plain_model_message, plain_user_message};
pub use retrieved_chunks::{RecomposedMessage, RetrievedMaterial, add_retrieved};
pub(crate) use shortened_output::shortened_output;
pub(crate) use solution_context::{
    shows_solution_context, solution_context_of, without_solution_context,
};
pub(crate) use summary::{
    SUMMARY_PROMPT, add_to_record, compose_summary_input, compose_summary_message, estimated_bytes,
    summary_in,
};
pub use tool_list::{McpTool, OfferedTool, ToolList};
pub use tool_output::tool_outputs;
pub(crate) use tool_output::{Abandonment, NoResult, missing_outcome, replacement_output};
pub use trace::Block;
pub use turn::{ComposedTurn, compose_turn};
pub use turn_material::TurnMaterial;
pub use user_message::{ChunksEnd, ComposedMessages, boot_message, compose_steer};
