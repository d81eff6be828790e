//! Reading the body of `POST /execute` (AGN-034, interface §2).
//!
//! It owns the choice between the two scenarios, the early reading of the session's name, and the
//! order of a body's members.

use super::body::{object_text, without_byte_order_mark};
use super::reader::Reader;
use super::tool_continuation::ToolContinuation;
use super::user_turn::UserTurn;
use crate::contract::{Fault, SessionId, TurnId};
use crate::json::{Node, Place, first_member, for_each_member};

/// The body of `POST /execute`.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecuteRequest {
    /// Starts a turn.
    UserTurn(Box<UserTurn>),
    /// Gives a waiting turn its tool results.
    ToolContinuation(ToolContinuation),
}

impl ExecuteRequest {
    /// The session the request belongs to.
    pub fn session_id(&self) -> &SessionId {
        match self {
            Self::UserTurn(turn) => &turn.session_id,
            Self::ToolContinuation(continuation) => &continuation.session_id,
        }
    }

    /// The turn the request belongs to.
    pub fn turn_id(&self) -> &TurnId {
        match self {
            Self::UserTurn(turn) => &turn.turn_id,
            Self::ToolContinuation(continuation) => &continuation.turn_id,
        }
    }
}

/// Reads the body of `POST /execute`. Its faults may also be `forbidden_field`, and `empty_turn` last.
pub fn parse(body: &[u8]) -> Result<ExecuteRequest, Vec<Fault>> {
    parse_object(object_text(body)?)
}

/// The second half of [`parse`]; [`object_text`] is the first. Other requests may run in between,
/// because a body can be long.
pub fn parse_object(body: &str) -> Result<ExecuteRequest, Vec<Fault>> {
    let mut reader = Reader::default();
    let node = Node::root(body);
    let request = if has_tool_results(body) {
        reader.tool_continuation(node).map(ExecuteRequest::ToolContinuation)
    } else {
        reader.user_turn(node).map(|turn| ExecuteRequest::UserTurn(Box::new(turn)))
    };
    reader.settle(request)
}

/// Whether the body is a Tool Continuation, by the presence of `ToolResults`. Clients whose lists are never null
/// write an empty one in a User Turn.
fn has_tool_results(body: &str) -> bool {
    let mut present = false;
    // Half a character in a name ends the walk early; it is a fault in either scenario.
    let _ = for_each_member(body, |name, json| {
        present |= name == "ToolResults" && !Node { json, place: Place::Root }.is_unset();
    });
    present
}

/// The order of a body's members, for faults that only the session can find.
pub struct MemberOrder(Vec<String>);

impl MemberOrder {
    /// Reads the body again only when the session may find more than one fault in it.
    pub fn of(request: &ExecuteRequest, body: &[u8]) -> Self {
        let mut members = Vec::new();
        if let ExecuteRequest::UserTurn(turn) = request {
            let judged = [
                turn.agent_context_id.is_some(),
                turn.conversation_context_id.is_some(),
                turn.tool_choice_name.is_some(),
                turn.tools.is_some(),
            ];
            let several = judged.into_iter().filter(|given| *given).count() > 1;
            if several && let Ok(body) = object_text(body) {
                let _ = for_each_member(body, |name, _| members.push(format!("/{name}")));
            }
        }
        Self(members)
    }

    /// The faults, in the order of their members.
    pub fn sorted(&self, mut faults: Vec<Fault>) -> Vec<Fault> {
        faults.sort_by_key(|fault| self.0.iter().position(|at| fault.path.as_ref() == Some(at)));
        faults
    }
}

/// The session that a body names, for routing it before it is validated. `None` without a valid
/// identifier; [`parse`] then reports why.
pub fn peek_session_id(body: &[u8]) -> Option<SessionId> {
    let text = without_byte_order_mark(body).utf8_chunks().next()?.valid();
    let json = first_member(text, "SessionId")?;
    SessionId::parse(&serde_json::from_str::<String>(json).ok()?).ok()
}
