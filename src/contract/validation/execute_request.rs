//! Reading the body of `POST /execute` (AGN-034, interface §2).
//!
//! It owns the decision between the two scenarios, and what is learned of a body besides its
//! request: the session it is for, and the order of its members.

use super::body::{object_text, without_byte_order_mark};
use super::tool_continuation::tool_continuation;
use super::user_turn::user_turn;
use super::violations::Violations;
use crate::contract::fault::Fault;
use crate::contract::identifiers::SessionId;
use crate::contract::request::ExecuteRequest;
use crate::json::{first_member, for_each_member};

/// Reads the body of `POST /execute`.
///
/// # Errors
/// Every violation, in document order: `malformed_json` alone, or any of `missing_field`,
/// `invalid_field`, `unknown_field`, `forbidden_field`, and `empty_turn` last. A report of more
/// than a hundred is cut and says so.
pub fn parse(body: &[u8]) -> Result<ExecuteRequest, Vec<Fault>> {
    let body = object_text(body)?;
    let mut found = Violations::new();
    let request = if has_tool_results(body) {
        tool_continuation(body, &mut found).map(ExecuteRequest::ToolContinuation)
    } else {
        user_turn(body, &mut found).map(|turn| ExecuteRequest::UserTurn(Box::new(turn)))
    };
    found.settle(request)
}

/// The scenario, by field presence; `null` is absence.
fn has_tool_results(body: &str) -> bool {
    let mut present = false;
    // Half a character in a name ends the walk early, and is a violation in either scenario.
    let _ = for_each_member(body, |name, json| present |= name == "ToolResults" && json != "null");
    present
}

/// In which order a body has its members, for faults that only a session can find.
#[derive(Debug)]
pub struct MemberOrder(Vec<String>);

impl MemberOrder {
    /// Looks through the body again only where a session may find more than one fault.
    pub fn of(request: &ExecuteRequest, body: &[u8]) -> Self {
        let mut members = Vec::new();
        if let ExecuteRequest::UserTurn(turn) = request {
            let judged =
                [&turn.agent_context_id, &turn.conversation_context_id, &turn.tool_choice_name];
            let several = judged.into_iter().flatten().nth(1).is_some();
            if let (true, Ok(body)) = (several, object_text(body)) {
                let _ = for_each_member(body, |name, _| members.push(format!("/{name}")));
            }
        }
        Self(members)
    }

    /// The faults, in the order of the members that they concern.
    pub fn sorted(&self, mut faults: Vec<Fault>) -> Vec<Fault> {
        faults.sort_by_key(|fault| self.0.iter().position(|at| fault.path.as_ref() == Some(at)));
        faults
    }
}

/// The session that a body names, to route it before it is validated. Nothing when there is no
/// such identifier; [`parse`] then says why.
pub fn peek_session_id(body: &[u8]) -> Option<SessionId> {
    let json = first_member(without_byte_order_mark(body), "SessionId")?;
    SessionId::parse(&serde_json::from_str::<String>(json).ok()?).ok()
}
