//! The spans of a turn, by OpenTelemetry's conventions for generative AI: for each span a record, and one function that
//! makes its attributes of the record.
//!
//! Who does a piece of work opens its span (`ports::Platform::span`) and fills the record with what the trace and the
//! log say of it. No span holds content: no prompt, no answer, no argument, no result.
//!
//! Architecture Invariant: this folder names only `contract`, `encoding` and `ports`. No other one names an attribute.

mod chat;
mod execute_tool;
mod invoke_agent;
pub mod names;
mod retrieval;
mod service;
mod traced_ids;

pub use chat::{Chat, ChatEnd};
pub use execute_tool::{ToolExecution, ToolExecutionEnd};
pub use invoke_agent::{AgentInvocation, AgentInvocationEnd};
pub use retrieval::{QuestionEmbedding, TurnRetrieval};
pub use traced_ids::traced_id;

use crate::ports::TraceSpan;

/// Notes how a piece of work failed that came to no end of its own.
pub fn note_error(span: &impl TraceSpan, error: &str) {
    span.text(names::ERROR, error);
}

/// Sets an attribute that may be unknown.
fn text_if(span: &impl TraceSpan, name: &'static str, value: Option<&str>) {
    if let Some(value) = value {
        span.text(name, value);
    }
}

/// The same for a number.
fn number_if(span: &impl TraceSpan, name: &'static str, value: Option<f64>) {
    if let Some(value) = value {
        span.number(name, value);
    }
}
