//! The failures after which another model service takes a call over, as a session that runs again meets them.

use aptix_edge::contract::{ErrorCode, Fault};
use bed::HttpReply;
use serde_json::json;

use super::bundle::Retry;
use super::events::{event, usage};

/// Whether a call has failed at several services, at the last one, too, in a way after which another takes over.
pub(super) fn moved_on(fault: &Fault) -> bool {
    let has_moved = fault.details.as_ref().is_some_and(|details| details.contains_key("Fallbacks"));
    has_moved && matches!(fault.code, ErrorCode::UpstreamUnavailable | ErrorCode::UpstreamTimeout)
}

/// A failure after which another service takes over at once, with what an attempt has reported.
pub(super) fn out_of_quota(retry: Option<&Retry>) -> HttpReply {
    let response = json!({ "id": retry.map(|retry| &retry.response_id), "status": "failed",
        "usage": retry.map(|retry| retry.usage.map(usage)), "error": { "code": "insufficient_quota" } });
    let failed = event(&json!({ "type": "response.failed", "response": response }));
    HttpReply::in_pieces(200, [failed]).with("content-type", "text/event-stream")
}
