//! The headers by which a client says where its request stands in a trace (interface §16).

use super::request::RequestHead;
use super::route::{Route, TurnRoute};
use crate::contract::TraceContext;
use crate::ports::{TRACE_PARENT, TRACE_STATE};

/// Where a request about a turn that may still work stands in its client's trace; no other endpoint asks. A malformed
/// header is none.
pub(super) fn trace_context(head: &RequestHead<'_>, route: &Route) -> Option<TraceContext> {
    let (Route::Execute | Route::Turn(_, _, TurnRoute::Steer | TurnRoute::Cancel)) = route else {
        return None;
    };
    let parent = head.header(TRACE_PARENT)?;
    TraceContext::read(Some(&parent), head.header(TRACE_STATE).as_deref())
}
