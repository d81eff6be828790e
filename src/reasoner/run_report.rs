//! The operator's report of one run of a submission: its end, its cost and where its time went.
//! It holds codes and numbers, never content.

use serde::Serialize;

use crate::contract::{ErrorCode, TurnStatus, Usage};
use crate::live_text::Timings;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct RunReport {
    /// The turn's status after the run; absent when the storage failed and left the turn `running`.
    pub(crate) status: Option<TurnStatus>,
    pub(crate) code: Option<ErrorCode>,
    pub(crate) submission: u32,
    /// Runs of the submission so far, this one included.
    pub(crate) attempts: u32,
    /// Model calls of the submission that gave an output.
    pub(crate) model_calls: u32,
    /// Calls of tools that the model has made in this run.
    pub(crate) tool_calls: u32,
    /// Model calls that failed and were made again.
    pub(crate) retries: u32,
    /// Times that a background response was read on.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) resumed: u32,
    /// Compactions of the conversation.
    pub(crate) compactions: u32,
    /// Steers that a model call has taken.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) steers: u32,
    /// Model calls that a steer has interrupted.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) interrupts: u32,
    /// Tokens of the turn so far.
    pub(crate) usage: Option<Usage>,
    pub(crate) timings: Timings,
    /// Tokens of the submission alone.
    #[serde(skip)]
    pub(crate) own_usage: Usage,
    /// The model that was called.
    #[serde(skip)]
    pub(crate) model: Option<String>,
    /// The catalog asks the model for JSON.
    #[serde(skip)]
    pub(crate) text_is_json: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
