//! Which object a request goes to, once its caller may ask (interface §13).

use super::body_room::HeldBody;
use crate::contract::{ErrorCode, Fault, SessionId, parse, peek_session_id};
use crate::entry::endpoints::Found;
use crate::entry::route::{Route, SessionRoute};
use crate::identity::{Caller, Subject};
use crate::ports::{ObjectClass, user_name};

/// The class and the name of the object that a request goes to, if its caller may ask.
pub(super) fn addressee(
    caller: &Caller,
    found: &Found,
    body: Option<&HeldBody>,
) -> Result<(ObjectClass, String), Vec<Fault>> {
    let (Found { endpoint, route }, mut submitted) = (found, None);
    if let (Route::Execute, Some(body)) = (route, body) {
        submitted = Some(body.read(session_of)??);
    }
    let of_session = |id: &SessionId| Some(caller.session_name(id.as_str()));
    let (class, name, subject) = match (route, &submitted) {
        (Route::Execute, Some(id)) => (ObjectClass::Session, of_session(id), Subject::SomeTurn(id)),
        (Route::Turn(id, turn, _), _) => {
            (ObjectClass::Session, of_session(id), Subject::Turn(id, turn))
        }
        (Route::Session(id, SessionRoute::Rename), _) => {
            (ObjectClass::User, caller.own_name(), Subject::Session(id))
        }
        // The user's object hides a session from the list before the session erases itself.
        (Route::Session(id, SessionRoute::Erase), _) if caller.user.is_some() => {
            (ObjectClass::User, caller.own_name(), Subject::Session(id))
        }
        (Route::Session(id, _), _) => (ObjectClass::Session, of_session(id), Subject::Session(id)),
        (Route::Sessions(_), _) => (ObjectClass::User, caller.own_name(), Subject::Sessions),
        (Route::User(user, _), _) => {
            (ObjectClass::User, Some(user_name(&caller.tenant, user)), Subject::Nothing)
        }
        (Route::Workspace(id, _), _) => {
            (ObjectClass::Workspace, Some(caller.workspace_name(id)), Subject::Workspace(id))
        }
        _ => return Err(Fault::internal("No object is asked.").into()),
    };
    // A key that may act for users needs a name, and no other right.
    if name.is_none() && caller.may_act() {
        return Err(no_user().into());
    }
    endpoint.needs.map_or(Ok(()), |needs| caller.permit(&needs, subject))?;
    Ok((class, name.ok_or_else(no_user)?))
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
