//! Reading the body of `POST /sessions/{SessionId}/fork` (interface §17).
//!
//! A fork takes a session as it is and brings no words, so the settings and the words of a User Turn are forbidden here.

use super::body::object_text;
use super::reader::Reader;
use super::user_turn;
use crate::contract::fault::Fault;
use crate::contract::fork::ForkRequest;
use crate::contract::identifiers::{SessionId, TurnId};
use crate::contract::limits;
use crate::json::{ForbiddenMembers, Node, ObjectShape};

const FORK: ObjectShape =
    ObjectShape::new(&["SessionId", "AfterTurnId", "ConversationContextId"], &["SessionId"])
        .forbidding(&FORBIDDEN);

const FORBIDDEN: [ForbiddenMembers; 5] = {
    let [mode, conversation_id, people, others] = user_turn::SERVER_OWNED;
    // A known member is never forbidden: the last group forbids the members that only a User Turn has.
    let of_user_turns = ForbiddenMembers {
        names: user_turn::MEMBERS,
        problem: "has no place in a fork, which takes the session as it is; send it with the new session's next turn",
        unset_is_absent: true,
    };
    [mode, conversation_id, people, others, of_user_turns]
};

/// Reads a fork.
pub fn parse_fork(body: &[u8]) -> Result<ForkRequest, Vec<Fault>> {
    let body = object_text(body)?;
    let mut reader = Reader::default();
    let (mut session_id, mut after_turn_id, mut conversation_context_id) = (None, None, None);
    FORK.read(Node::root(body), &mut reader, |name, node, reader| match name {
        "SessionId" => session_id = reader.identifier(SessionId::parse, node),
        "AfterTurnId" => after_turn_id = reader.identifier(TurnId::parse, node),
        _ => conversation_context_id = reader.full_text(limits::IDENTIFIER, node),
    });
    let request = session_id.map(|session_id| ForkRequest {
        session_id,
        after_turn_id,
        conversation_context_id,
    });
    reader.settle(request)
}
