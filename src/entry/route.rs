//! The endpoints, and how a method and a path select one (interface §1).
//!
//! The door and the object both find the route: the door for the object's class and name and for the body,
//! the object for the endpoint. The client's URL is what crosses between them, in no second spelling.

use std::borrow::Cow;

use super::page_query::{TurnPage, session_filter, turn_page};
use super::removed_path::RemovedPath;
use super::request::decoded;
use crate::contract::{ErrorCode, Fault, Operation, SessionId, TurnId, UserId, limits};
use crate::files::{PresentedLink, no_such_file};
use crate::users::SessionFilter;

/// An endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// `GET /`, and the page's files below `/playground/`.
    Playground,
    /// `GET /health`
    Health,
    /// `GET /errors`
    Errors,
    /// `GET /openapi.json`
    OpenApi,
    /// `POST /execute`; the body names the session.
    Execute,
    /// `GET /files/{FileId}`, with the presented link.
    File(PresentedLink),
    /// `POST /tickets`
    Tickets,
    /// `GET /sessions?After=…&Limit=1..100&Status=…&Query=…&Order=…`
    Sessions(SessionFilter),
    /// An endpoint below `/sessions/{SessionId}`.
    Session(SessionId, SessionRoute),
    /// An endpoint below `/users/{User}`.
    User(UserId, UserRoute),
    /// An endpoint below `/workspaces/{WorkspaceId}`; the id is any text.
    Workspace(String, WorkspaceRoute),
}

/// An endpoint of one workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceRoute {
    /// `PUT /workspaces/{WorkspaceId}/documents`
    Upsert,
    /// `DELETE /workspaces/{WorkspaceId}/documents?Path=…`
    Remove(Vec<RemovedPath>),
    /// `POST /workspaces/{WorkspaceId}/search`
    Search,
    /// `POST /workspaces/{WorkspaceId}/compare`
    Compare,
    /// `GET /workspaces/{WorkspaceId}`
    Counts,
    /// `DELETE /workspaces/{WorkspaceId}`
    Erase,
}

impl WorkspaceRoute {
    /// The endpoint at a path below the workspace, and the methods of that path.
    fn find(method: &str, below: &[&str], query: &str) -> Option<Found<Self>> {
        Some(match below {
            [] if method == "DELETE" => ("GET, DELETE", Ok(Self::Erase)),
            [] => ("GET, DELETE", Ok(Self::Counts)),
            ["documents"] if method == "DELETE" => {
                ("PUT, DELETE", RemovedPath::all_of(query).map(Self::Remove))
            }
            ["documents"] => ("PUT, DELETE", Ok(Self::Upsert)),
            ["search"] => ("POST", Ok(Self::Search)),
            ["compare"] => ("POST", Ok(Self::Compare)),
            _ => return None,
        })
    }

    /// Whether the request has a JSON body.
    pub fn has_body(&self) -> bool {
        match self {
            Self::Upsert | Self::Search | Self::Compare => true,
            Self::Remove(..) | Self::Counts | Self::Erase => false,
        }
    }
}

/// An endpoint of one user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserRoute {
    /// `GET /users/{User}`
    View,
    /// `POST /users/{User}/revoke`
    Revoke,
    /// `DELETE /users/{User}`
    Erase,
}

impl UserRoute {
    /// The endpoint at a path below the user, and the methods of that path.
    fn find(method: &str, below: &[&str]) -> Option<Found<Self>> {
        Some(match below {
            [] if method == "DELETE" => ("GET, DELETE", Ok(Self::Erase)),
            [] => ("GET, DELETE", Ok(Self::View)),
            ["revoke"] => ("POST", Ok(Self::Revoke)),
            _ => return None,
        })
    }
}

/// An endpoint of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionRoute {
    /// `GET /sessions/{SessionId}`
    Session,
    /// `GET /sessions/{SessionId}/export`
    Export,
    /// `DELETE /sessions/{SessionId}`
    Erase,
    /// `PATCH /sessions/{SessionId}`
    Rename,
    /// `POST /sessions/{SessionId}/fork`
    Fork,
    /// `GET /sessions/{SessionId}/modes`
    Modes,
    /// `GET /sessions/{SessionId}/turns?After=TurnId&Limit=1..100`
    Turns(TurnPage),
    /// `GET /sessions/{SessionId}/turns/{TurnId}`
    Turn(TurnId),
    /// `GET /sessions/{SessionId}/turns/{TurnId}/stream`
    Stream(TurnId),
    /// `GET /sessions/{SessionId}/turns/{TurnId}/trace`
    Trace(TurnId),
    /// `POST /sessions/{SessionId}/turns/{TurnId}/cancel`
    Cancel(TurnId),
    /// `POST /sessions/{SessionId}/turns/{TurnId}/steer`
    Steer(TurnId),
}

impl SessionRoute {
    /// The endpoint at a path below the session, and the methods of that path.
    fn find(method: &str, below: &[&str], query: &str) -> Option<Found<Self>> {
        Some(match below {
            [] if method == "DELETE" => ("GET, PATCH, DELETE", Ok(Self::Erase)),
            [] if method == "PATCH" => ("GET, PATCH, DELETE", Ok(Self::Rename)),
            [] => ("GET, PATCH, DELETE", Ok(Self::Session)),
            ["export"] => ("GET", Ok(Self::Export)),
            ["fork"] => ("POST", Ok(Self::Fork)),
            ["modes"] => ("GET", Ok(Self::Modes)),
            ["turns"] => ("GET", turn_page(query).map(Self::Turns)),
            ["turns", turn] => ("GET", TurnId::parse(turn).map(Self::Turn)),
            ["turns", turn, "stream"] => ("GET", TurnId::parse(turn).map(Self::Stream)),
            ["turns", turn, "trace"] => ("GET", TurnId::parse(turn).map(Self::Trace)),
            ["turns", turn, "cancel"] => ("POST", TurnId::parse(turn).map(Self::Cancel)),
            ["turns", turn, "steer"] => ("POST", TurnId::parse(turn).map(Self::Steer)),
            _ => return None,
        })
    }

    /// The operation that a credential must permit.
    pub(super) fn operation(&self) -> Operation {
        match self {
            Self::Session | Self::Modes | Self::Turns(_) | Self::Turn(_) => Operation::Read,
            Self::Export => Operation::Export,
            Self::Erase => Operation::Erase,
            Self::Rename => Operation::Rename,
            Self::Stream(_) => Operation::Watch,
            Self::Trace(_) => Operation::Trace,
            Self::Cancel(_) => Operation::Cancel,
            Self::Fork | Self::Steer(_) => Operation::Execute,
        }
    }

    /// The turn that it is about; `None` where it is about the whole session.
    pub(super) fn turn(&self) -> Option<&TurnId> {
        match self {
            Self::Turn(turn)
            | Self::Stream(turn)
            | Self::Trace(turn)
            | Self::Cancel(turn)
            | Self::Steer(turn) => Some(turn),
            Self::Session
            | Self::Export
            | Self::Erase
            | Self::Rename
            | Self::Fork
            | Self::Modes
            | Self::Turns(_) => None,
        }
    }

    /// Whether the request has a JSON body.
    fn has_body(&self) -> bool {
        matches!(self, Self::Rename | Self::Fork | Self::Steer(_))
    }

    /// Whether the response is sent piece by piece.
    fn is_streamed(&self) -> bool {
        match self {
            Self::Stream(_) | Self::Export => true,
            Self::Session
            | Self::Erase
            | Self::Rename
            | Self::Fork
            | Self::Modes
            | Self::Turns(_)
            | Self::Turn(_)
            | Self::Trace(_)
            | Self::Cancel(_)
            | Self::Steer(_) => false,
        }
    }

    /// Whether the response can be a turn's stream of events.
    fn sends_events(&self) -> bool {
        matches!(self, Self::Stream(_))
    }
}

/// The methods of a path, separated by `, `, and the endpoint or the fault of its ids or its query.
type Found<R> = (&'static str, Result<R, Fault>);

impl Route {
    /// Finds the endpoint of a method and a target (path and query).
    ///
    /// # Errors
    /// `not_found` for a path that is no endpoint, `method_not_allowed` (with `Details.Allowed`)
    /// for another method than the endpoint's, `not_found` also for a malformed link to a file,
    /// `invalid_field` for a malformed id in the path or value in the query, and for an escape that is no
    /// UTF-8 in either, `unknown_field` for a
    /// query member that the endpoint lacks.
    pub fn find(method: &str, target: &str) -> Result<Self, Fault> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let decoded: Vec<Cow<'_, str>> =
            path.split('/').skip(1).map(decoded).collect::<Result<_, _>>()?;
        let segments: Vec<&str> = decoded.iter().map(AsRef::as_ref).collect();
        let found = match segments.as_slice() {
            [""] | ["playground", _] => Some(("GET", Ok(Self::Playground))),
            ["health"] => Some(("GET", Ok(Self::Health))),
            ["errors"] => Some(("GET", Ok(Self::Errors))),
            ["openapi.json"] => Some(("GET", Ok(Self::OpenApi))),
            ["execute"] => Some(("POST", Ok(Self::Execute))),
            ["tickets"] => Some(("POST", Ok(Self::Tickets))),
            ["files", file] => {
                let presented = PresentedLink::parse(file, query).map(Self::File);
                Some(("GET", presented.ok_or_else(|| no_such_file().fault)))
            }
            ["sessions"] => Some(("GET", session_filter(query).map(Self::Sessions))),
            ["users", user, below @ ..] => UserRoute::find(method, below)
                .map(|(allowed, route)| (allowed, Self::of_user(user, route))),
            ["sessions", session, below @ ..] => SessionRoute::find(method, below, query)
                .map(|(allowed, route)| (allowed, Self::of_session(session, route))),
            ["workspaces", workspace, below @ ..] => WorkspaceRoute::find(method, below, query)
                .map(|(allowed, route)| (allowed, Self::of_workspace(workspace, route))),
            _ => None,
        };
        let (allowed, route) = found.ok_or_else(no_such_endpoint)?;
        let permits = |method| allowed.split(", ").any(|permitted| permitted == method);
        // HEAD gets the head of GET, and the runtime drops the body. For a stream HEAD is refused, because
        // its body would have to run to its end.
        let permits_head = || permits("GET") && !route.as_ref().is_ok_and(Self::is_streamed);
        if !permits(method) && (method != "HEAD" || !permits_head()) {
            let message = format!("This endpoint takes {allowed} only.");
            return Err(Fault::new(ErrorCode::MethodNotAllowed, message).with("Allowed", allowed));
        }
        route
    }

    fn of_session(id: &str, route: Result<SessionRoute, Fault>) -> Result<Self, Fault> {
        Ok(Self::Session(SessionId::parse(id)?, route?))
    }

    fn of_user(name: &str, route: Result<UserRoute, Fault>) -> Result<Self, Fault> {
        let refused = || Fault::new(ErrorCode::InvalidField, format!("User {}.", UserId::RULE));
        let user = UserId::parse(name).ok_or_else(|| refused().at("/User"))?;
        Ok(Self::User(user, route?))
    }

    fn of_workspace(id: &str, route: Result<WorkspaceRoute, Fault>) -> Result<Self, Fault> {
        let length = id.chars().count();
        if !(1..=limits::WORKSPACE_ID).contains(&length) || id.chars().any(char::is_control) {
            let message = format!(
                "WorkspaceId must be 1 to {} characters, none of them a control character.",
                limits::WORKSPACE_ID
            );
            return Err(Fault::new(ErrorCode::InvalidField, message));
        }
        Ok(Self::Workspace(id.to_owned(), route?))
    }

    fn is_streamed(&self) -> bool {
        match self {
            Self::Session(_, route) => route.is_streamed(),
            Self::Playground
            | Self::Health
            | Self::Errors
            | Self::OpenApi
            | Self::Execute
            | Self::Tickets
            | Self::File(_)
            | Self::Sessions(_)
            | Self::User(..)
            | Self::Workspace(..) => false,
        }
    }

    /// Whether a request asks for progress events, at an endpoint that can send some.
    ///
    /// # Errors
    /// `invalid_field` for a value of `Progress` that is neither `true` nor `false`.
    pub(super) fn asks_for_progress(&self, target: &str) -> Result<bool, Fault> {
        let sends_events = match self {
            Self::Execute => true,
            Self::Session(_, route) => route.sends_events(),
            Self::Playground
            | Self::Health
            | Self::Errors
            | Self::OpenApi
            | Self::Tickets
            | Self::File(_)
            | Self::Sessions(_)
            | Self::User(..)
            | Self::Workspace(..) => false,
        };
        Ok(sends_events && asks_for("Progress", target)?)
    }

    /// Whether the request has a JSON body.
    pub(super) fn has_body(&self) -> bool {
        match self {
            Self::Execute | Self::Tickets => true,
            Self::Workspace(_, route) => route.has_body(),
            Self::Session(_, route) => route.has_body(),
            Self::Playground
            | Self::Health
            | Self::Errors
            | Self::OpenApi
            | Self::File(_)
            | Self::Sessions(_)
            | Self::User(..) => false,
        }
    }
}

/// `not_found`: the path is no endpoint of this deployment.
pub(super) fn no_such_endpoint() -> Fault {
    let message = "There is no such endpoint. GET /openapi.json lists them.";
    Fault::new(ErrorCode::NotFound, message)
}

/// The values of a member of a target's query, still percent-encoded.
pub(super) fn query_members<'t>(target: &'t str, name: &'t str) -> impl Iterator<Item = &'t str> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    query.split('&').filter_map(move |member| member.strip_prefix(name)?.strip_prefix('='))
}

/// Whether the query of a target has `true` for a member: `Progress` of a stream, `Explain` of a search.
///
/// # Errors
/// `invalid_field` for a value that is neither `true` nor `false`.
pub(super) fn asks_for(name: &str, target: &str) -> Result<bool, Fault> {
    match query_members(target, name).next().map(decoded).transpose()?.as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => {
            let message = format!("{name} must be true or false.");
            Err(Fault::new(ErrorCode::InvalidField, message).at(format!("/{name}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(method: &str, path: &str) -> ErrorCode {
        Route::find(method, path).unwrap_err().code
    }

    #[test]
    fn every_endpoint_is_found_by_its_method_and_path() {
        let session = || SessionId::parse("s:1").unwrap();
        let turn = || TurnId::parse("t.1").unwrap();
        for (method, path, route) in [
            ("GET", "/health", Route::Health),
            (
                "DELETE",
                "/workspaces/w/documents?Path=a+b%20c%2Bd/",
                Route::Workspace(
                    "w".to_owned(),
                    WorkspaceRoute::Remove(RemovedPath::all_of("Path=a+b%20c%2Bd/").unwrap()),
                ),
            ),
            (
                "GET",
                "/workspaces/%EF%BF%BD",
                Route::Workspace("\u{fffd}".to_owned(), WorkspaceRoute::Counts),
            ),
            ("HEAD", "/health", Route::Health),
            ("GET", "/", Route::Playground),
            ("HEAD", "/playground/page-1A2B.js", Route::Playground),
            ("GET", "/errors", Route::Errors),
            ("GET", "/openapi.json", Route::OpenApi),
            ("POST", "/execute", Route::Execute),
            ("POST", "/tickets", Route::Tickets),
            ("DELETE", "/sessions/s:1", Route::Session(session(), SessionRoute::Erase)),
            ("GET", "/sessions/s:1/export", Route::Session(session(), SessionRoute::Export)),
            ("GET", "/sessions/s:1", Route::Session(session(), SessionRoute::Session)),
            (
                "GET",
                "/sessions/s:1/turns",
                Route::Session(
                    session(),
                    SessionRoute::Turns(TurnPage { after: None, limit: 100 }),
                ),
            ),
            (
                "GET",
                "/sessions/s:1/turns?Limit=7&After=t%2E1",
                Route::Session(
                    session(),
                    SessionRoute::Turns(TurnPage { after: Some(turn()), limit: 7 }),
                ),
            ),
            (
                "GET",
                "/sessions/s:1/turns/t.1/trace",
                Route::Session(session(), SessionRoute::Trace(turn())),
            ),
            ("GET", "/sessions/s%3A1", Route::Session(session(), SessionRoute::Session)),
            ("POST", "/sessions/s:1/fork", Route::Session(session(), SessionRoute::Fork)),
            ("GET", "/sessions/s:1/modes", Route::Session(session(), SessionRoute::Modes)),
            (
                "GET",
                "/sessions/s:1/turns/t.1",
                Route::Session(session(), SessionRoute::Turn(turn())),
            ),
            (
                "GET",
                "/sessions/s:1/turns/t.1/stream",
                Route::Session(session(), SessionRoute::Stream(turn())),
            ),
            (
                "POST",
                "/sessions/s:1/turns/t.1/cancel",
                Route::Session(session(), SessionRoute::Cancel(turn())),
            ),
            (
                "POST",
                "/sessions/s:1/turns/t.1/steer",
                Route::Session(session(), SessionRoute::Steer(turn())),
            ),
        ] {
            assert_eq!(Route::find(method, path).unwrap(), route);
        }
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        for path in [
            "",
            "//",
            "/playground",
            "/playground/a/b",
            "/execute/",
            "//execute",
            "/sessions/a/b",
            "/Execute",
            "/health/x",
        ] {
            assert_eq!(code("GET", path), ErrorCode::NotFound, "{path}");
        }
        assert_eq!(code("GET", "/execute"), ErrorCode::MethodNotAllowed);
        assert_eq!(code("DELETE", "/health"), ErrorCode::MethodNotAllowed);
        assert_eq!(code("PUT", "/sessions/a"), ErrorCode::MethodNotAllowed);
        assert_eq!(code("HEAD", "/sessions/a/export"), ErrorCode::MethodNotAllowed);
        assert_eq!(code("GET", "/sessions/"), ErrorCode::InvalidField);
        assert_eq!(code("GET", "/sessions/a%2Fb"), ErrorCode::InvalidField);
        assert_eq!(code("GET", "/sessions/%2E%2e"), ErrorCode::InvalidField);
        assert_eq!(code("GET", "/sessions/a/turns/."), ErrorCode::InvalidField);
        assert_eq!(code("GET", "/sessions/a/turns/%ff"), ErrorCode::InvalidField);
        for segment in ["%FF", "%fe", "a%C3", "%ED%A0%80", "%c0%af"] {
            assert_eq!(code("GET", &format!("/workspaces/{segment}")), ErrorCode::InvalidField);
            let removal = format!("/workspaces/w/documents?Path={segment}");
            assert_eq!(code("DELETE", &removal), ErrorCode::InvalidField);
        }
        for query in ["Limit=0", "Limit=101", "Limit=x", "Limit=", "After=", "After=%20"] {
            assert_eq!(
                code("GET", &format!("/sessions/a/turns?{query}")),
                ErrorCode::InvalidField,
                "{query}"
            );
        }
        assert_eq!(code("GET", "/sessions/a/turns?limit=1"), ErrorCode::UnknownField);
        assert_eq!(code("HEAD", "/sessions/a/turns/b/stream"), ErrorCode::MethodNotAllowed);
    }
}
