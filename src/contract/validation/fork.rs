//! Reading the body of `POST /sessions/{SessionId}/fork` (interface §17).
//!
//! A fork takes a session as it is and brings no words, so the settings and the words of a User Turn are forbidden here.

use super::reader::Reader;
use super::request_object::request_object;
use super::user_turn::forbidden_in_others;
use crate::contract::{Fault, ForkRequest, SessionId, TurnId, limits};
use crate::json::ForbiddenMembers;

const FORBIDDEN: [ForbiddenMembers; 5] = forbidden_in_others(
    "has no place in a fork, which takes the session as it is; send it with the new session's next turn",
);

request_object! {
    fn fork(reader, node) -> ForkRequest as FORK forbidding FORBIDDEN {
        "SessionId" required => session_id = identifier(SessionId::parse),
        "AfterTurnId" => after_turn_id = identifier(TurnId::parse),
        "ConversationContextId" => conversation_context_id = full_text(limits::IDENTIFIER),
    }
}

/// Reads a fork.
pub fn parse_fork(body: &[u8]) -> Result<ForkRequest, Vec<Fault>> {
    Reader::read_body(body, Reader::fork)
}
