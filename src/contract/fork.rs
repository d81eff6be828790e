//! A fork after its validation: a new session that goes on from a turn of another one (interface §17).
//!
//! It owns the typed shape, which is also the form in which a fork is stored. It checks nothing itself.

use serde::{Deserialize, Serialize};

use super::identifiers::{SessionId, TurnId};

/// The body of `POST /sessions/{SessionId}/fork`. Two requests are the same where all members are equal, absent ones
/// included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct ForkRequest {
    /// The new session; also the request's idempotency key.
    pub session_id: SessionId,
    /// The last turn that the new session has; absent for the newest one that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_turn_id: Option<TurnId>,
    /// The conversation context under which the new session goes on; absent for that of its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_context_id: Option<String>,
}
