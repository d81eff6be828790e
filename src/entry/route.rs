//! What a request asks for, with all that its path and its query say (interface §1). Which method and path ask for it
//! says the table of endpoints.

use super::page_query::TurnPage;
use super::removed_path::RemovedPath;
use super::request::decoded;
use crate::contract::{ErrorCode, Fault, Result, SessionId, TurnId, UserId};
use crate::files::PresentedLink;
use crate::users::SessionFilter;

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    Playground,
    Health,
    Errors,
    OpenApi,
    /// The body names the session.
    Execute,
    File(PresentedLink),
    Tickets,
    Sessions(SessionFilter),
    Session(SessionId, SessionRoute),
    Turn(SessionId, TurnId, TurnRoute),
    User(UserId, UserRoute),
    /// The id is any text.
    Workspace(String, WorkspaceRoute),
}

/// What a request asks of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionRoute {
    View,
    Turns(TurnPage),
    Fork,
    Modes,
    Export,
    Rename,
    Erase,
}

/// What a request asks of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnRoute {
    View,
    Stream,
    Trace,
    Cancel,
    Steer,
}

/// What a request asks of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserRoute {
    View,
    Revoke,
    Erase,
}

/// What a request asks of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceRoute {
    Upsert,
    Remove(Vec<RemovedPath>),
    Search,
    Compare,
    Counts,
    Erase,
}

/// `not_found`: the path is no endpoint of this deployment.
pub(super) fn no_such_endpoint() -> Fault {
    let message = "There is no such endpoint. GET /openapi.json lists them.";
    Fault::new(ErrorCode::NotFound, message)
}

/// The values of a member of a target's query, still percent-encoded. Its name may be encoded as well.
pub(super) fn query_members<'t>(target: &'t str, name: &'t str) -> impl Iterator<Item = &'t str> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let members = query.split('&').filter_map(|member| member.split_once('='));
    let is_named = move |member: &str| decoded(member).is_ok_and(|member| member == name);
    members.filter_map(move |(member, value)| is_named(member).then_some(value))
}

/// Whether the query of a target has `true` for a member: `Progress` of a stream, `Explain` of a search.
///
/// # Errors
/// `invalid_field` for a value that is neither `true` nor `false`.
pub(super) fn asks_for(name: &str, target: &str) -> Result<bool> {
    match query_members(target, name).next().map(decoded).transpose()?.as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(Fault::invalid_member(name, "must be true or false")),
    }
}
