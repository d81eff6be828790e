//! What a caller may do at an endpoint (interface §13), as far as method, path and the session's id say. The session
//! decides the rest: about workspaces, contexts, approvals and revocation.

use crate::contract::{ErrorCode, Fault, Operation, SessionId};
use crate::entry::response::{no_session, no_turn};
use crate::entry::route::{Route, SessionRoute, UserRoute, WorkspaceRoute};
use crate::identity::{Caller, Right};

/// Permits a request, or refuses it: `forbidden` for an operation that the credential lacks, `session_not_found` for
/// a session that it does not name, `turn_not_found` for such a turn.
pub(super) fn permit(
    caller: &Caller,
    route: &Route,
    session: Option<&SessionId>,
) -> Result<(), Fault> {
    let is_trace = matches!(route, Route::Session(_, SessionRoute::Trace(_)));
    if is_trace && caller.has_right(Right::Trace) {
        return Ok(());
    }
    if caller.has_key() && caller.user.is_some() {
        caller.need(Right::ActAs)?;
    }
    match route {
        Route::Execute => {
            caller.permit(&[Operation::Execute, Operation::Answer, Operation::Approve])?;
        }
        Route::Session(_, route) => {
            caller.permit(&[route.operation()])?;
            if *route == SessionRoute::Fork {
                // The new session shows what the parent has.
                caller.permit(&[Operation::Read])?;
            }
        }
        Route::Sessions(_) => {
            caller.permit(&[Operation::List])?;
            if caller.grants.turns.is_some() {
                return Err(for_turns_alone(Operation::List));
            }
        }
        Route::User(_, UserRoute::View) => caller.need(Right::ActAs)?,
        Route::User(_, UserRoute::Revoke | UserRoute::Erase) => caller.need(Right::EraseUsers)?,
        Route::Workspace(id, WorkspaceRoute::Search) if !caller.has_key() => {
            caller.grants.permit_any(&[Operation::Search])?;
            caller.grants.permit_workspace(id)?;
        }
        Route::Workspace(..) => caller.need(Right::Workspaces)?,
        Route::Playground
        | Route::Health
        | Route::Errors
        | Route::OpenApi
        | Route::Tickets
        | Route::File(_) => {}
    }
    if let Some(session) = session
        && !caller.grants.name_session(session.as_str())
    {
        return Err(no_session(session));
    }
    match route {
        Route::Session(_, route) => permit_turn(caller, route),
        _ => Ok(()),
    }
}

/// A credential for some turns shows nothing of the others.
fn permit_turn(caller: &Caller, route: &SessionRoute) -> Result<(), Fault> {
    match route.turn() {
        Some(turn) if !caller.grants.name_turn(turn) => Err(no_turn(turn)),
        None if caller.grants.turns.is_some() => Err(for_turns_alone(route.operation())),
        Some(_) | None => Ok(()),
    }
}

fn for_turns_alone(operation: Operation) -> Fault {
    let message = "This credential is for some turns alone, and this shows whole sessions.";
    Fault::new(ErrorCode::Forbidden, message).with("Operation", operation.as_str())
}
