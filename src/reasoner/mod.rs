//! Layer 4, Reasoner: the only loop (AGN-027 §4, layer 4). It repeats composition, model call and
//! server tools until the model gives a final text, or calls that only the client can run.
//!
//! The stored state decides the next step, so after any interruption a turn goes on from its last
//! durable step. Outside effects since that step happen again: a model call is repeated, and a server
//! tool whose result was not stored yet runs again, with the same `ToolCallId`.
//!
//! Architecture Invariant: only this layer composes requests, calls the model, runs server tools, repeats a
//! call or changes a session's mode.

mod approval;
mod compaction;
mod model_call;
mod model_step;
mod pictures;
mod retrieval_step;
mod run_ending;
mod run_summary;
mod running_turn;
mod settlement;
mod sources;
mod steering;
mod tool_results;
mod tool_step;
mod turn_beginning;
mod turn_ending;
mod turn_loop;

pub(crate) use crate::composition::boot_message;
pub(crate) use crate::server_tools::FileSources;
pub(crate) use approval::refuse_other_repeater;
pub(crate) use model_call::{Interruption, RestingServices};
pub use model_call::{Sending, SentEntries, SentForm};
pub(crate) use run_summary::RunSummary;
pub use running_turn::Reasoner;
pub(crate) use running_turn::{Connections, RunMemory, RunTrace, StartedTurn};
pub(crate) use tool_results::{conflict, not_awaiting, pending_calls};
pub(crate) use turn_beginning::{
    NewContinuation, NewUserTurn, begin_turn, continue_turn, resume_turn,
};
pub(crate) use turn_ending::{TurnEnd, end_turn, turn_aborted};
