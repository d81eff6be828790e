//! The operator's report of one run of a submission: its end, its cost and where its time went.
//! It holds codes and numbers, never content.

use serde::Serialize;

use crate::contract::{ErrorCode, TurnStatus, Usage};

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
    /// Model calls that failed and were made again.
    pub(crate) retries: u32,
    /// Compactions of the conversation.
    pub(crate) compactions: u32,
    /// Tokens of the turn so far.
    pub(crate) usage: Option<Usage>,
    pub(crate) timings: Timings,
}

/// Milliseconds of one run, by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Timings {
    /// Searching the turn's workspace.
    pub(crate) retrieve: u64,
    /// Composing requests to the model service.
    pub(crate) compose: u64,
    /// Model calls, the waits between attempts included.
    pub(crate) model: u64,
    pub(crate) tools: u64,
    /// Waiting for storage before the outcome is sent.
    pub(crate) persist: u64,
}

impl Timings {
    /// The `Server-Timing` header of a response whose request took `validate` ms to check and
    /// `session` ms in its session's object.
    pub(crate) fn server_timing(&self, validate: u64, session: u64) -> String {
        let Self { retrieve, compose, model, tools, persist } = self;
        format!(
            "validate;dur={validate}, session;dur={session}, retrieve;dur={retrieve}, \
             compose;dur={compose}, model;dur={model}, tools;dur={tools}, persist;dur={persist}"
        )
    }
}
