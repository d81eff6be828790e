//! Which endpoint a request means (the interface, section 1).

use std::borrow::Cow;

use crate::contract::validation::artifact_path::relative_path_problem;
use crate::contract::{ErrorCode, Fault, SessionId, TurnId, limits};
use crate::files::{PresentedLink, no_such_file};

/// An endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// `GET /health`
    Health,
    /// `GET /errors`
    Errors,
    /// `GET /openapi.json`
    OpenApi,
    /// `POST /execute`; the session's id stands in the body.
    Execute,
    /// `GET /files/{FileId}`, by the link that was presented.
    File(PresentedLink),
    /// An endpoint below `/sessions/{SessionId}`.
    Session(SessionId, SessionRoute),
    /// An endpoint below `/workspaces/{WorkspaceId}`; the id is any text.
    Workspace(String, WorkspaceRoute),
}

/// An endpoint of one workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceRoute {
    /// `PUT /workspaces/{WorkspaceId}/documents`
    Upsert,
    /// `DELETE /workspaces/{WorkspaceId}/documents?Path=…`: the path and, where it holds plus signs,
    /// the one in which they are blanks, as forms write them.
    Remove(String, Option<String>),
    /// `POST /workspaces/{WorkspaceId}/search`
    Search,
    /// `GET /workspaces/{WorkspaceId}`
    Counts,
    /// `DELETE /workspaces/{WorkspaceId}`
    Erase,
}

impl WorkspaceRoute {
    /// The request has a JSON body.
    pub fn has_body(&self) -> bool {
        match self {
            Self::Upsert | Self::Search => true,
            Self::Remove(..) | Self::Counts | Self::Erase => false,
        }
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
}

/// A part of a session's turns, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnPage {
    /// Only turns after this one; from the first without it.
    pub after: Option<TurnId>,
    /// How many at most, 1 to 100.
    pub limit: u32,
}

/// The largest, and the usual, page of turns.
const MAX_TURNS: u32 = 100;

impl Route {
    /// Finds the endpoint for a method and a target: a path, and a query where the endpoint takes one.
    ///
    /// # Errors
    /// `not_found` for a path that is no endpoint, `method_not_allowed` (with `Details.Allowed`)
    /// for another method than the endpoint's, `not_found` also for what can be no link to a file,
    /// `invalid_field` for a malformed id in the path or a
    /// malformed value in the query, `unknown_field` for a query member that the endpoint lacks.
    pub fn find(method: &str, target: &str) -> Result<Self, Fault> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let decoded: Vec<Cow<'_, str>> = path.split('/').skip(1).map(decoded).collect();
        let segments: Vec<&str> = decoded.iter().map(AsRef::as_ref).collect();
        let (allowed, route) = match segments.as_slice() {
            ["health"] => ("GET", Ok(Self::Health)),
            ["errors"] => ("GET", Ok(Self::Errors)),
            ["openapi.json"] => ("GET", Ok(Self::OpenApi)),
            ["execute"] => ("POST", Ok(Self::Execute)),
            ["files", file] => {
                let presented = PresentedLink::parse(file, query).map(Self::File);
                ("GET", presented.ok_or_else(|| no_such_file().fault))
            }
            ["sessions", session] => (
                "GET, DELETE",
                below(session, |_| match method {
                    "DELETE" => Ok(SessionRoute::Erase),
                    _ => Ok(SessionRoute::Session),
                }),
            ),
            ["sessions", session, "export"] => {
                ("GET", below(session, |_| Ok(SessionRoute::Export)))
            }
            ["sessions", session, "modes"] => ("GET", below(session, |_| Ok(SessionRoute::Modes))),
            ["sessions", session, "turns"] => {
                ("GET", below(session, |_| Ok(SessionRoute::Turns(turn_page(query)?))))
            }
            ["sessions", session, "turns", turn, "trace"] => {
                ("GET", below(session, |_| Ok(SessionRoute::Trace(TurnId::parse(turn)?))))
            }
            ["sessions", session, "turns", turn] => {
                ("GET", below(session, |_| Ok(SessionRoute::Turn(TurnId::parse(turn)?))))
            }
            ["sessions", session, "turns", turn, "stream"] => {
                ("GET", below(session, |_| Ok(SessionRoute::Stream(TurnId::parse(turn)?))))
            }
            ["sessions", session, "turns", turn, "cancel"] => {
                ("POST", below(session, |_| Ok(SessionRoute::Cancel(TurnId::parse(turn)?))))
            }
            ["workspaces", workspace] => (
                "GET, DELETE",
                in_workspace(workspace, || match method {
                    "DELETE" => Ok(WorkspaceRoute::Erase),
                    _ => Ok(WorkspaceRoute::Counts),
                }),
            ),
            ["workspaces", workspace, "documents"] => (
                "PUT, DELETE",
                in_workspace(workspace, || match method {
                    "DELETE" => removed_path(query)
                        .map(|(path, as_form)| WorkspaceRoute::Remove(path, as_form)),
                    _ => Ok(WorkspaceRoute::Upsert),
                }),
            ),
            ["workspaces", workspace, "search"] => {
                ("POST", in_workspace(workspace, || Ok(WorkspaceRoute::Search)))
            }
            _ => {
                return Err(Fault::new(
                    ErrorCode::NotFound,
                    "There is no such endpoint. GET /openapi.json lists them.",
                ));
            }
        };
        let permits = |method| allowed.split(", ").any(|permitted| permitted == method);
        // HEAD asks for GET's head, and the runtime drops the body; a stream's would come at its end.
        let streams =
            matches!(route, Ok(Self::Session(_, SessionRoute::Stream(_) | SessionRoute::Export)));
        let answers_head = permits("GET") && !streams;
        if !permits(method) && (method != "HEAD" || !answers_head) {
            return Err(Fault::new(
                ErrorCode::MethodNotAllowed,
                format!("This endpoint takes {allowed} only."),
            )
            .with("Allowed", allowed));
        }
        route
    }

    /// The request has a JSON body.
    pub(super) fn has_body(&self) -> bool {
        match self {
            Self::Execute => true,
            Self::Workspace(_, route) => route.has_body(),
            Self::Health | Self::Errors | Self::OpenApi | Self::File(_) | Self::Session(..) => {
                false
            }
        }
    }
}

fn turn_page(query: &str) -> Result<TurnPage, Fault> {
    let mut page = TurnPage { after: None, limit: MAX_TURNS };
    for member in query.split('&').filter(|member| !member.is_empty()) {
        let (name, value) = member.split_once('=').unwrap_or((member, ""));
        let value = decoded(value);
        match name {
            "After" => {
                page.after = Some(TurnId::parse(&value).map_err(|fault| fault.at("/After"))?)
            }
            "Limit" => {
                let limit = value.parse().ok().filter(|limit| (1..=MAX_TURNS).contains(limit));
                page.limit = limit.ok_or_else(|| {
                    Fault::new(
                        ErrorCode::InvalidField,
                        format!("Limit must be a whole number from 1 to {MAX_TURNS}."),
                    )
                    .at("/Limit")
                })?;
            }
            _ => {
                return Err(Fault::new(
                    ErrorCode::UnknownField,
                    "This endpoint takes After and Limit in its query, nothing else.",
                ));
            }
        }
    }
    Ok(page)
}

/// An id may come percent-encoded; what then holds a `/` or is no UTF-8 is no id, and is refused as one.
fn decoded(segment: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(segment).decode_utf8_lossy()
}

/// `?Path=…` of a removal: a document, or a folder with a `/` at its end.
fn removed_path(query: &str) -> Result<(String, Option<String>), Fault> {
    let (mut path, mut as_form) = (None, None);
    for member in query.split('&').filter(|member| !member.is_empty()) {
        let (name, value) = member.split_once('=').unwrap_or((member, ""));
        if name != "Path" || path.is_some() {
            return Err(Fault::new(
                ErrorCode::UnknownField,
                "This endpoint takes one Path in its query, nothing else.",
            ));
        }
        path = Some(decoded(value).into_owned());
        as_form = value.contains('+').then(|| decoded(&value.replace('+', " ")).into_owned());
    }
    let path = path.ok_or_else(|| {
        Fault::new(ErrorCode::MissingField, "Path is required; add ?Path=….").at("/Path")
    })?;
    let problem = match path.trim_end_matches('/') {
        "" => Some("must name a document, or a folder with a / at its end"),
        _ => relative_path_problem(&path),
    };
    match problem {
        Some(problem) => {
            Err(Fault::new(ErrorCode::InvalidField, format!("Path {problem}.")).at("/Path"))
        }
        None => Ok((path, as_form)),
    }
}

fn in_workspace(
    workspace: &str,
    route: impl FnOnce() -> Result<WorkspaceRoute, Fault>,
) -> Result<Route, Fault> {
    if workspace.is_empty()
        || workspace.chars().count() > limits::WORKSPACE_ID
        || workspace.chars().any(char::is_control)
    {
        return Err(Fault::new(
            ErrorCode::InvalidField,
            format!(
                "WorkspaceId must be 1 to {} characters, none of them a control character.",
                limits::WORKSPACE_ID
            ),
        ));
    }
    Ok(Route::Workspace(workspace.to_owned(), route()?))
}

fn below(
    session: &str,
    route: impl FnOnce(&SessionId) -> Result<SessionRoute, Fault>,
) -> Result<Route, Fault> {
    let session = SessionId::parse(session)?;
    let route = route(&session)?;
    Ok(Route::Session(session, route))
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
                    WorkspaceRoute::Remove("a+b c+d/".to_owned(), Some("a b c+d/".to_owned())),
                ),
            ),
            ("HEAD", "/health", Route::Health),
            ("GET", "/errors", Route::Errors),
            ("GET", "/openapi.json", Route::OpenApi),
            ("POST", "/execute", Route::Execute),
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
        ] {
            assert_eq!(Route::find(method, path).unwrap(), route);
        }
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        for path in [
            "/",
            "",
            "/execute/",
            "//execute",
            "/sessions",
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
        assert_eq!(code("GET", "/sessions/a/turns/%ff"), ErrorCode::InvalidField);
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
