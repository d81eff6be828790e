//! Which object a request goes to, once its caller may ask (interface §13).

use super::body_room::HeldBody;
use super::permission::permit;
use crate::contract::{ErrorCode, Fault, SessionId, parse, peek_session_id};
use crate::entry::route::{Route, SessionRoute};
use crate::identity::Caller;
use crate::ports::{ObjectClass, user_name};

/// The class and the name of the object that a permitted request goes to.
pub(super) fn addressee(
    caller: &Caller,
    route: &Route,
    body: Option<&HeldBody>,
) -> Result<(ObjectClass, String), Vec<Fault>> {
    let session = match (route, body) {
        (Route::Session(session, _), _) => Some(session.clone()),
        (Route::Execute, Some(body)) => Some(body.read(session_of)??),
        _ => None,
    };
    permit(caller, route, session.as_ref())?;
    let own_user = || caller.own_name().ok_or_else(no_user);
    Ok(match (route, session) {
        (Route::Workspace(workspace, _), _) => {
            (ObjectClass::Workspace, caller.workspace_name(workspace))
        }
        (Route::Sessions(_) | Route::Session(_, SessionRoute::Rename), _) => {
            (ObjectClass::User, own_user()?)
        }
        (Route::User(user, _), _) => (ObjectClass::User, user_name(&caller.tenant, user)),
        // The user's object hides a session from the list before the session erases itself.
        (Route::Session(_, SessionRoute::Erase), _) if caller.user.is_some() => {
            (ObjectClass::User, own_user()?)
        }
        (Route::Session(..) | Route::Execute, Some(session)) => {
            (ObjectClass::Session, caller.session_name(session.as_str()))
        }
        (
            Route::Playground
            | Route::Health
            | Route::Errors
            | Route::OpenApi
            | Route::Tickets
            | Route::File(_)
            | Route::Session(..)
            | Route::Execute,
            _,
        ) => return Err(Fault::internal("No object is asked.").into()),
    })
}

/// `missing_field`: a key acts for nobody, and only users have a list of their sessions.
fn no_user() -> Fault {
    let message = "Only a user has a list of sessions, and titles in it: name the user in the header Aptix-User, or send the user's ticket.";
    Fault::new(ErrorCode::MissingField, message).at("/User")
}

/// The `SessionId` of a submission. A body without one is validated whole, so that the client gets all
/// its faults.
fn session_of(body: &[u8]) -> Result<SessionId, Vec<Fault>> {
    match peek_session_id(body) {
        Some(session) => Ok(session),
        None => parse(body).map(|request| request.session_id().clone()),
    }
}
