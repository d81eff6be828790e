//! The table of endpoints: method, path, who may ask, body, form of the response, and what path and query carry
//! (interface §1, §13).
//!
//! The door and the object both look here: the door for who may ask, for the body and for the object, the object for what
//! is asked. The client's URL is what crosses between them, in no second spelling.

use std::borrow::Cow;

use super::page_query::{session_filter, turn_page};
use super::removed_path::RemovedPath;
use super::request::decoded;
use super::route::{
    Route, SessionRoute, TurnRoute, UserRoute, WorkspaceRoute, asks_for, no_such_endpoint,
};
use crate::contract::{ErrorCode, Fault, Operation, Result, SessionId, TurnId, UserId, limits};
use crate::files::{PresentedLink, no_such_file};
use crate::identity::{Needs, Right, TicketNeeds};

/// Every endpoint. Of a path with several, `Allow` of a refusal has the order of the rows.
pub static ENDPOINTS: &[Endpoint] = &[
    row("POST /execute", SUBMIT, |_| Ok(Route::Execute)).with_body().sending(ResponseForm::Events),
    row("GET /sessions/{SessionId}", READ, |at| at.session(SessionRoute::View)),
    row("GET /sessions/{SessionId}/turns", READ, |at| {
        Ok(Route::Session(at.session_id()?, SessionRoute::Turns(turn_page(at.query)?)))
    }),
    row("GET /sessions/{SessionId}/turns/{TurnId}", READ, |at| at.turn(TurnRoute::View)),
    row("GET /sessions/{SessionId}/turns/{TurnId}/stream", WATCH, |at| at.turn(TurnRoute::Stream))
        .sending(ResponseForm::Events),
    row("GET /sessions/{SessionId}/turns/{TurnId}/trace", TRACE, |at| at.turn(TurnRoute::Trace)),
    row("POST /sessions/{SessionId}/turns/{TurnId}/cancel", CANCEL, |at| {
        at.turn(TurnRoute::Cancel)
    }),
    row("POST /sessions/{SessionId}/turns/{TurnId}/steer", EXECUTE, |at| at.turn(TurnRoute::Steer))
        .with_body(),
    row("POST /sessions/{SessionId}/fork", FORK, |at| at.session(SessionRoute::Fork)).with_body(),
    row("GET /sessions/{SessionId}/modes", READ, |at| at.session(SessionRoute::Modes)),
    row("GET /sessions/{SessionId}/export", EXPORT, |at| at.session(SessionRoute::Export))
        .sending(ResponseForm::Pieces),
    row("PATCH /sessions/{SessionId}", RENAME, |at| at.session(SessionRoute::Rename)).with_body(),
    row("DELETE /sessions/{SessionId}", ERASE, |at| at.session(SessionRoute::Erase)),
    row("GET /sessions", LIST, |at| session_filter(at.query).map(Route::Sessions)),
    row("GET /users/{User}", VIEW_USERS, |at| at.user(UserRoute::View)),
    row("POST /users/{User}/revoke", ERASE_USERS, |at| at.user(UserRoute::Revoke)),
    row("DELETE /users/{User}", ERASE_USERS, |at| at.user(UserRoute::Erase)),
    row("POST /tickets", MINT, |_| Ok(Route::Tickets)).with_body(),
    row("PUT /workspaces/{WorkspaceId}/documents", WORKSPACES, |at| {
        at.workspace(WorkspaceRoute::Upsert)
    })
    .with_body(),
    row("DELETE /workspaces/{WorkspaceId}/documents", WORKSPACES, |at| {
        let id = at.workspace_id()?;
        Ok(Route::Workspace(id, WorkspaceRoute::Remove(RemovedPath::all_of(at.query)?)))
    }),
    row("POST /workspaces/{WorkspaceId}/search", SEARCH, |at| at.workspace(WorkspaceRoute::Search))
        .with_body(),
    row("POST /workspaces/{WorkspaceId}/compare", WORKSPACES, |at| {
        at.workspace(WorkspaceRoute::Compare)
    })
    .with_body(),
    row("GET /workspaces/{WorkspaceId}", WORKSPACES, |at| at.workspace(WorkspaceRoute::Counts)),
    row("DELETE /workspaces/{WorkspaceId}", WORKSPACES, |at| at.workspace(WorkspaceRoute::Erase)),
    row("GET /files/{FileId}", OPEN, |at| {
        let presented = PresentedLink::parse(at.id(1), at.query);
        presented.map(Route::File).ok_or_else(|| no_such_file().fault)
    }),
    row("GET /health", OPEN, |_| Ok(Route::Health)),
    row("GET /errors", OPEN, |_| Ok(Route::Errors)),
    row("GET /openapi.json", OPEN, |_| Ok(Route::OpenApi)),
    row("GET /", OPEN, |_| Ok(Route::Playground)),
    row("GET /playground/{File}", OPEN, |_| Ok(Route::Playground)),
];

/// The methods of all endpoints, as a header lists them.
pub(super) fn methods() -> String {
    let mut methods = vec!["HEAD"];
    for method in ENDPOINTS.iter().map(Endpoint::method) {
        if !methods.contains(&method) {
            methods.push(method);
        }
    }
    methods.join(", ")
}

/// Nobody is asked who calls.
const OPEN: Option<Needs> = None;
/// A user turn or a continuation; which of them the session's object knows.
const SUBMIT: Option<Needs> =
    Some(Needs::operations(&[&[Operation::Execute, Operation::Answer, Operation::Approve]]));
const READ: Option<Needs> = Some(Needs::operations(&[&[Operation::Read]]));
const WATCH: Option<Needs> = Some(Needs::operations(&[&[Operation::Watch]]));
const CANCEL: Option<Needs> = Some(Needs::operations(&[&[Operation::Cancel]]));
const EXECUTE: Option<Needs> = Some(Needs::operations(&[&[Operation::Execute]]));
const EXPORT: Option<Needs> = Some(Needs::operations(&[&[Operation::Export]]));
const RENAME: Option<Needs> = Some(Needs::operations(&[&[Operation::Rename]]));
const ERASE: Option<Needs> = Some(Needs::operations(&[&[Operation::Erase]]));
const LIST: Option<Needs> = Some(Needs::operations(&[&[Operation::List]]));
/// The new session shows what the parent has.
const FORK: Option<Needs> = Some(Needs::operations(&[&[Operation::Execute], &[Operation::Read]]));
const TRACE: Option<Needs> = Some(Needs {
    key: Right::Sessions,
    instead: Some(Right::Trace),
    ticket: TicketNeeds::Operations(&[&[Operation::Trace]]),
});
const SEARCH: Option<Needs> = Some(Needs {
    key: Right::Workspaces,
    instead: None,
    ticket: TicketNeeds::Operations(&[&[Operation::Search]]),
});
/// A ticket mints a narrower one.
const MINT: Option<Needs> =
    Some(Needs { key: Right::Tickets, instead: None, ticket: TicketNeeds::Ticket });
const WORKSPACES: Option<Needs> = Some(Needs::key(Right::Workspaces));
const VIEW_USERS: Option<Needs> = Some(Needs::key(Right::ActAs));
const ERASE_USERS: Option<Needs> = Some(Needs::key(Right::EraseUsers));

/// A row of the table.
pub struct Endpoint {
    /// Method and path; a segment in braces stands for an id.
    pub label: &'static str,
    /// What a caller needs; `None` where nobody is asked who calls.
    pub needs: Option<Needs>,
    /// Whether the request has a JSON body.
    pub has_body: bool,
    form: ResponseForm,
    read: fn(&Target<'_>) -> Result<Route>,
}

/// How the response is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseForm {
    Whole,
    Pieces,
    /// It can be a turn's stream of events.
    Events,
}

/// What a request asks for, and the row that says so.
pub(super) struct Found {
    pub(super) endpoint: &'static Endpoint,
    pub(super) route: Route,
}

/// The decoded segments of a path, and the query.
struct Target<'t> {
    segments: &'t [&'t str],
    query: &'t str,
}

const fn row(
    label: &'static str,
    needs: Option<Needs>,
    read: fn(&Target<'_>) -> Result<Route>,
) -> Endpoint {
    Endpoint { label, needs, has_body: false, form: ResponseForm::Whole, read }
}

impl Endpoint {
    const fn with_body(self) -> Self {
        Self { has_body: true, ..self }
    }

    const fn sending(self, form: ResponseForm) -> Self {
        Self { form, ..self }
    }

    fn method(&self) -> &'static str {
        self.label.split(' ').next().unwrap_or_default()
    }

    fn is_at(&self, segments: &[&str]) -> bool {
        let mut pattern = self.label.split('/').skip(1);
        let fits = |segment: &&str| {
            pattern.next().is_some_and(|part| part.starts_with('{') || part == *segment)
        };
        segments.iter().all(fits) && pattern.next().is_none()
    }
}

impl Found {
    /// Finds the endpoint of a method and a target (path and query).
    ///
    /// # Errors
    /// `not_found` for a path that is no endpoint, `method_not_allowed` (with `Details.Allowed`)
    /// for another method than the endpoint's, `not_found` also for a malformed link to a file,
    /// `invalid_field` for a malformed id in the path or value in the query, and for an escape that is no
    /// UTF-8 in either, `unknown_field` for a query member that the endpoint lacks.
    pub(super) fn of(method: &str, target: &str) -> Result<Self> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parts: Vec<Cow<'_, str>> =
            path.split('/').skip(1).map(decoded).collect::<Result<_, _>>()?;
        let segments: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
        let at_path = || ENDPOINTS.iter().filter(|row| row.is_at(&segments));
        if at_path().next().is_none() {
            return Err(no_such_endpoint());
        }
        decoded(query)?;
        let not_allowed = || {
            let allowed = at_path().map(Endpoint::method).collect::<Vec<_>>().join(", ");
            let message = format!("This endpoint takes {allowed} only.");
            Fault::new(ErrorCode::MethodNotAllowed, message).with("Allowed", allowed)
        };
        // HEAD gets the head of GET, and the runtime drops the body.
        let is_head = method == "HEAD";
        let method = if is_head { "GET" } else { method };
        let endpoint = at_path().find(|row| row.method() == method).ok_or_else(not_allowed)?;
        let route = (endpoint.read)(&Target { segments: &segments, query })?;
        // The body of a stream would have to run to its end.
        if is_head && endpoint.form != ResponseForm::Whole {
            return Err(not_allowed());
        }
        Ok(Self { endpoint, route })
    }

    /// Whether a request asks for progress events, at an endpoint that can send some.
    ///
    /// # Errors
    /// `invalid_field` for a value of `Progress` that is neither `true` nor `false`.
    pub(super) fn asks_for_progress(&self, target: &str) -> Result<bool> {
        Ok(self.endpoint.form == ResponseForm::Events && asks_for("Progress", target)?)
    }
}

impl Route {
    /// What the endpoint of a method and a target (path and query) is asked for.
    ///
    /// # Errors
    /// Those of an endpoint that is not found, or whose path or query is malformed.
    pub fn find(method: &str, target: &str) -> Result<Self> {
        Found::of(method, target).map(|found| found.route)
    }
}

impl Target<'_> {
    fn id(&self, at: usize) -> &str {
        self.segments.get(at).copied().unwrap_or_default()
    }

    fn session_id(&self) -> Result<SessionId> {
        SessionId::parse(self.id(1))
    }

    fn session(&self, route: SessionRoute) -> Result<Route> {
        Ok(Route::Session(self.session_id()?, route))
    }

    fn turn(&self, route: TurnRoute) -> Result<Route> {
        Ok(Route::Turn(self.session_id()?, TurnId::parse(self.id(3))?, route))
    }

    fn user(&self, route: UserRoute) -> Result<Route> {
        let refused = || Fault::invalid_member("User", UserId::RULE);
        let user = UserId::parse(self.id(1)).ok_or_else(refused)?;
        Ok(Route::User(user, route))
    }

    fn workspace_id(&self) -> Result<String> {
        let id = self.id(1);
        let length = id.chars().count();
        if !(1..=limits::WORKSPACE_ID).contains(&length) || id.chars().any(char::is_control) {
            let message = format!(
                "WorkspaceId must be 1 to {} characters, none of them a control character.",
                limits::WORKSPACE_ID
            );
            return Err(Fault::new(ErrorCode::InvalidField, message));
        }
        Ok(id.to_owned())
    }

    fn workspace(&self, route: WorkspaceRoute) -> Result<Route> {
        Ok(Route::Workspace(self.workspace_id()?, route))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::page_query::TurnPage;

    fn code(method: &str, path: &str) -> ErrorCode {
        Route::find(method, path).unwrap_err().code
    }

    #[test]
    fn every_endpoint_is_found_by_its_method_and_path() {
        let turn_id = || TurnId::parse("t.1").unwrap();
        let session = |route| Route::Session(SessionId::parse("s:1").unwrap(), route);
        let turn = |route| Route::Turn(SessionId::parse("s:1").unwrap(), turn_id(), route);
        let turns = |after, limit| session(SessionRoute::Turns(TurnPage { after, limit }));
        let removed = "Path=a+b%20c%2Bd/";
        let removal = WorkspaceRoute::Remove(RemovedPath::all_of(removed).unwrap());
        let removal_path = format!("/workspaces/w/documents?{removed}");
        let counts = Route::Workspace("\u{fffd}".to_owned(), WorkspaceRoute::Counts);
        for (method, path, route) in [
            ("GET", "/health", Route::Health),
            ("DELETE", removal_path.as_str(), Route::Workspace("w".to_owned(), removal)),
            ("GET", "/workspaces/%EF%BF%BD", counts),
            ("HEAD", "/health", Route::Health),
            ("GET", "/", Route::Playground),
            ("HEAD", "/playground/page-1A2B.js", Route::Playground),
            ("GET", "/errors", Route::Errors),
            ("GET", "/openapi.json", Route::OpenApi),
            ("POST", "/execute", Route::Execute),
            ("POST", "/tickets", Route::Tickets),
            ("DELETE", "/sessions/s:1", session(SessionRoute::Erase)),
            ("GET", "/sessions/s:1/export", session(SessionRoute::Export)),
            ("GET", "/sessions/s:1", session(SessionRoute::View)),
            ("GET", "/sessions/s:1/turns", turns(None, 100)),
            ("GET", "/sessions/s:1/turns?Limit=7&After=t%2E1", turns(Some(turn_id()), 7)),
            ("GET", "/sessions/s:1/turns/t.1/trace", turn(TurnRoute::Trace)),
            ("GET", "/sessions/s%3A1", session(SessionRoute::View)),
            ("POST", "/sessions/s:1/fork", session(SessionRoute::Fork)),
            ("GET", "/sessions/s:1/modes", session(SessionRoute::Modes)),
            ("GET", "/sessions/s:1/turns/t.1", turn(TurnRoute::View)),
            ("GET", "/sessions/s:1/turns/t.1/stream", turn(TurnRoute::Stream)),
            ("POST", "/sessions/s:1/turns/t.1/cancel", turn(TurnRoute::Cancel)),
            ("POST", "/sessions/s:1/turns/t.1/steer", turn(TurnRoute::Steer)),
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
