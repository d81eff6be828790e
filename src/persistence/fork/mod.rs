//! Forks (interface §17): what a session hands to a new one that goes on from one of its turns, and how the new one is
//! built until it is whole.
//!
//! Rows and texts cross as they are stored, in pages, so that no session has to fit into memory. The new session has no row
//! of its own before the last step, which makes it a session.

mod build;
mod copied_tables;
mod rewind;
mod source;

pub(crate) use build::{ForkContexts, ForkStep, OutcomePlace, StoredCopy};
pub(crate) use source::{ForkHead, RowPage, RowPlace, TextPage, TextPlace};

use serde::{Deserialize, Serialize};

use crate::contract::{ForkRequest, SessionId, TurnId};

/// Where a forked session comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForkOrigin {
    pub parent: SessionId,
    /// The last turn that was copied.
    pub turn_id: TurnId,
    /// Its ordinal, which is the number of copied turns.
    pub turns: u64,
    /// Model calls up to this number are those of the parent, as are their responses at the model service.
    pub model_calls: u64,
    /// The request that the fork answers.
    pub request: ForkRequest,
    /// The sessions to which requests of the copied turns were sent: the parent, and those before it, up to a bound.
    pub ancestors: Vec<SessionId>,
}

/// The parent of a fork as clients see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ForkParent {
    session_id: SessionId,
    turn_id: TurnId,
}

impl ForkParent {
    /// The parent of a forked session.
    pub fn of(fork: &ForkOrigin) -> Self {
        Self { session_id: fork.parent.clone(), turn_id: fork.turn_id.clone() }
    }
}

impl ForkOrigin {
    /// Whether a request to fork a session is the one that this fork answers.
    pub fn answers(&self, parent: &SessionId, request: &ForkRequest) -> bool {
        self.parent == *parent && self.request == *request
    }
}

/// What is to be forked: fixed by the first request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkPlan {
    pub(crate) parent: SessionId,
    /// When the parent began, which tells it from a later session of the same id.
    pub(crate) created_at: u64,
    /// The last turn to copy.
    pub(crate) turn_id: TurnId,
    /// Its ordinal.
    pub(crate) turns: u64,
    /// Key of the parent's mode.
    pub(crate) mode: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    pub(crate) request: ForkRequest,
    /// When the credential of the request was issued, in milliseconds since the epoch; `None` for a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) issued_at: Option<u64>,
    /// When the Worker in front received the request, in milliseconds since the epoch.
    pub(crate) received_at: u64,
}
