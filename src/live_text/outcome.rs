//! What a submission ended with, for its watchers, and where its time went (interface §2, Delivery).

use std::rc::Rc;

use serde::Serialize;

/// What a submission ended with: the body of JSON delivery, and the data of `event: result`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// HTTP status of JSON delivery.
    pub(crate) http_status: u16,
    /// The `InvokeResult`, as JSON text.
    pub(crate) body: Rc<str>,
    /// Where the run's time went; zero for a stored outcome.
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
