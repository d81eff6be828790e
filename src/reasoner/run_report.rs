//! The operator's report of one run of a submission: how it ended, what it cost, where its time went.
//! Ids, codes and numbers, never content.

use serde::Serialize;

use crate::contract::{ErrorCode, TurnStatus, Usage};

/// One run of a submission.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunReport {
    /// The turn's status after it; absent when the storage failed, and the turn is still `running`.
    pub status: Option<TurnStatus>,
    /// Why it failed.
    pub code: Option<ErrorCode>,
    /// Number of the submission within its turn.
    pub submission: u32,
    /// Runs of the submission so far, this one included.
    pub attempts: u32,
    /// Model calls of the submission that gave an output.
    pub model_calls: u32,
    /// Model calls that failed and were made again.
    pub retries: u32,
    /// Tokens of the turn so far.
    pub usage: Option<Usage>,
    /// Where the time went.
    pub timings: Timings,
}

impl Timings {
    /// The `Server-Timing` header of a response whose request took `validate` ms to check and
    /// `session` ms in its session's object.
    pub fn server_timing(&self, validate: u64, session: u64) -> String {
        let Self { compose, model, tools, persist } = self;
        format!(
            "validate;dur={validate}, session;dur={session}, compose;dur={compose}, \
             model;dur={model}, tools;dur={tools}, persist;dur={persist}"
        )
    }
}

/// Milliseconds of one run, by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Timings {
    /// Composing requests to the model service.
    pub compose: u64,
    /// Model calls, the waits between attempts included.
    pub model: u64,
    /// Server tools.
    pub tools: u64,
    /// Waiting for storage before the outcome is sent.
    pub persist: u64,
}
