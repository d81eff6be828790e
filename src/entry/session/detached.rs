//! Detached turns (interface §2, Detached turns): a client that sends `Prefer: respond-async` (RFC 7240) gets 202 as
//! soon as its submission is durable, and reads the outcome later.
//!
//! Delivery alone depends on the header: it is no part of what makes two submissions the same.

use crate::contract::{ExecuteRequest, SessionId, TurnId, TurnStatus, shown};
use crate::entry::request::RequestHead;
use crate::entry::response::Response;

const RESPOND_ASYNC: &str = "respond-async";

shown! {
    /// The `Result` of the 202.
    pub(super) struct AcceptedTurn {
        session_id: SessionId,
        turn_id: TurnId,
        /// Always `running`.
        status: TurnStatus,
    }
}

impl AcceptedTurn {
    /// The turn of a submission whose client does not wait; `None` for a client that does.
    pub(super) fn of(head: &RequestHead<'_>, request: &ExecuteRequest) -> Option<Self> {
        let prefers = head.header("Prefer").is_some_and(|prefer| names_respond_async(&prefer));
        prefers.then(|| Self {
            session_id: request.session_id().clone(),
            turn_id: request.turn_id().clone(),
            status: TurnStatus::Running,
        })
    }

    /// 202, with the place where the turn is read.
    pub(super) fn response<S>(&self) -> Response<S> {
        let mut response = Response::accepted(202, self, false);
        // Both ids consist of characters that a path holds unencoded.
        let location = format!("/sessions/{}/turns/{}", self.session_id, self.turn_id);
        response.headers.push(("Location", location));
        response.headers.push(("Preference-Applied", RESPOND_ASYNC.to_owned()));
        response
    }
}

/// Whether a `Prefer` header holds the preference `respond-async`, in any case, with or without parameters. A comma
/// within a quoted value separates nothing.
fn names_respond_async(prefer: &str) -> bool {
    let mut is_quoted = false;
    let mut preferences = prefer.split(|character| {
        is_quoted ^= character == '"';
        character == ',' && !is_quoted
    });
    preferences.any(|preference| {
        let name = preference.split([';', '=']).next().unwrap_or_default();
        name.trim().eq_ignore_ascii_case(RESPOND_ASYNC)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preference_is_found_among_others_and_not_within_a_value() {
        for (prefer, detached) in [
            ("respond-async", true),
            ("Respond-Async", true),
            ("respond-async, wait=10", true),
            ("return=minimal,respond-async;a=b", true),
            ("respond-async=\"\"", true),
            ("note=\"a,b\", respond-async", true),
            ("", false),
            ("wait=10", false),
            ("respond-asynchronously", false),
            ("note=\"x, respond-async, y\"", false),
            ("x; respond-async", false),
        ] {
            assert_eq!(names_respond_async(prefer), detached, "{prefer}");
        }
    }
}
