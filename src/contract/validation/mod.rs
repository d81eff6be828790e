//! From the bytes of a body to a typed request, or to every violation at once (AGN-034, interface
//! section 2).
//!
//! It owns the decision between the two scenarios. The body is walked in place: first for being
//! JSON, then for the scenario, then member by member in document order. Besides the request that
//! it gives, nothing of the body's size is built.

use serde_json::value::RawValue;

use super::fault::Fault;
use super::identifiers::SessionId;
use super::request::ExecuteRequest;

pub mod artifact_path;
pub mod client_tools;
pub mod documents;
pub mod json_object;
pub mod json_value;
mod nearest_name;
pub mod place;
pub mod rag_scope;
pub mod search;
mod tool_continuation;
mod user_turn;
pub mod violations;
pub mod well_formed;

pub use documents::parse_documents;
pub use search::parse_search;

use json_object::{ForbiddenMembers, first_text, for_each_member};
use place::Place;
use violations::Violations;

/// Members that are the server's own and never a client's.
const SERVER_OWNED: ForbiddenMembers = ForbiddenMembers {
    names: &[
        "Mode",
        "ModeDisplayName",
        "ConversationId",
        "ResponseContinuationId",
        "PreviousResponseId",
        "previous_response_id",
        "CorrelationId",
        "Model",
        "Kind",
    ],
    problem: "belongs to the server; remove it",
    null_is_absent: false,
};

/// Reads the body of `POST /execute`.
///
/// # Errors
/// Every violation, in document order: `malformed_json` alone, or any of `missing_field`,
/// `invalid_field`, `unknown_field`, `forbidden_field`, and `empty_turn` last. A report of more
/// than a hundred is cut and says so.
pub fn parse(body: &[u8]) -> Result<ExecuteRequest, Vec<Fault>> {
    let body = well_formed::object_text(body)?;
    let mut violations = Violations::new();
    let request = if has_tool_results(body) {
        tool_continuation::tool_continuation(body, &mut violations)
            .map(ExecuteRequest::ToolContinuation)
    } else {
        user_turn::user_turn(body, &mut violations)
            .map(|turn| ExecuteRequest::UserTurn(Box::new(turn)))
    };
    violations.settle(request)
}

/// In which order a body has its members, for faults that only a session can find.
#[derive(Debug)]
pub struct MemberOrder(Vec<String>);

impl MemberOrder {
    /// Looks through the body again only where a session may find more than one fault.
    #[must_use]
    pub fn of(request: &ExecuteRequest, body: &[u8]) -> Self {
        let mut members = Vec::new();
        if let ExecuteRequest::UserTurn(turn) = request {
            let judged =
                [&turn.agent_context_id, &turn.conversation_context_id, &turn.tool_choice_name];
            let several = judged.into_iter().flatten().nth(1).is_some();
            if let (true, Ok(body)) = (several, well_formed::object_text(body)) {
                let _ = for_each_member(body, |name, _| members.push(format!("/{name}")));
            }
        }
        Self(members)
    }

    /// The faults, in the order of the members that they concern.
    #[must_use]
    pub fn sorted(&self, mut faults: Vec<Fault>) -> Vec<Fault> {
        faults.sort_by_key(|fault| self.0.iter().position(|at| fault.path.as_ref() == Some(at)));
        faults
    }
}

/// The session that a body names, to route it before it is validated. Nothing when there is no
/// such identifier; [`parse`] then says why.
#[must_use]
pub fn peek_session_id(body: &[u8]) -> Option<SessionId> {
    let body = well_formed::without_byte_order_mark(body);
    SessionId::parse(&first_text(body, "SessionId")?).ok()
}

/// The scenario, by field presence; `null` is absence.
fn has_tool_results(body: &str) -> bool {
    let mut present = false;
    // Half a character in a name ends the walk early, and is a violation in either scenario.
    let _ = for_each_member(body, |name, value| {
        present |= name == "ToolResults" && value.get() != "null";
    });
    present
}

fn identifier<T>(
    parse: fn(&str) -> Result<T, Fault>,
    value: &RawValue,
    place: &Place<'_>,
    violations: &mut Violations,
) -> Option<T> {
    // The identifier itself says how long it may be.
    let text = json_value::text(usize::MAX, value, place, violations)?;
    parse(&text).map_err(|fault| violations.add(fault.code, || fault.at(place.pointer()))).ok()
}
