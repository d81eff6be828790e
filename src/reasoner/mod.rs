//! Layer 4, Reasoner: the only loop (AGN-027 §4, layer 4). Composition, model call, server tools,
//! and again, until there is a final text, or calls that only the client can run.
//!
//! The stored state decides the next step, so a turn goes on after any cut exactly where its last
//! durable step left it. Effects outside since then happen again: a model call is made again, and a
//! server tool whose result was not stored yet runs again, with the same `ToolCallId`.
//!
//! Architecture Invariant: only this layer calls the layers before it, repeats a call, or applies a
//! mode change.

mod cancellation;
mod conversation_input;
mod endpoint;
mod erasure;
mod exchange;
mod live_segment;
mod live_text;
mod model_step;
mod position;
mod remedies;
mod retry;
mod run_report;
mod settlement;
mod text_cursor;
mod tool_step;
mod turn_beginning;
mod turn_ending;
mod turn_loop;

pub use cancellation::Cancellation;
pub use erasure::delete_responses;
pub use live_text::{LiveText, Outcome};
pub use position::Position;
pub use run_report::{RunReport, Timings};
pub use settlement::{abort, turn_aborted};
pub use text_cursor::TextCursor;
pub use turn_beginning::{
    NewUserTurn, PreparedTurn, begin_continuation, prepare_turn, resume_turn,
};
pub use turn_ending::tool_call;
pub use turn_loop::Reasoner;
