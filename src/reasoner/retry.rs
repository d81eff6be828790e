//! Retries of a model call, and the waits before them (interface §3; AGN-027 §3.1.3).
//!
//! Two retries for 408, 409, 429, 5xx and connections that failed; the service's `Retry-After` up
//! to a minute, else a backoff with jitter, as the service's own clients do.

use crate::llm_call::CallFailure;

/// The most calls for one request, the first included.
pub(super) const MAX_ATTEMPTS: u32 = 3;

/// The longest wait that a service can ask for, in milliseconds.
const MAX_RETRY_AFTER_MS: u64 = 60_000;

/// The wait before the next attempt; `None` when there is none. `random` is in `[0, 1)`.
pub(super) fn wait_ms(failure: &CallFailure, attempts_made: u32, random: f64) -> Option<u64> {
    if attempts_made >= MAX_ATTEMPTS || !failure.retryable() {
        return None;
    }
    if let Some(asked) = failure.retry_after_ms().filter(|ms| *ms <= MAX_RETRY_AFTER_MS) {
        return Some(asked);
    }
    let full = 500_u64 << attempts_made.saturating_sub(1).min(4);
    // 75 to 100 per cent of it, so that sessions which failed together do not return together.
    Some((full as f64 * (1.0 - 0.25 * random)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm_call::{Cause, Refusal};
    use crate::responses_api::ErrorBody;

    fn refused(status: u16, retry_after_ms: Option<u64>, code: Option<&str>) -> CallFailure {
        let body = ErrorBody { code: code.map(str::to_owned), ..ErrorBody::default() };
        Cause::Refused(Box::new(Refusal { status, body, retry_after_ms, is_final: false })).into()
    }

    #[test]
    fn what_can_pass_is_tried_twice_again_with_growing_waits() {
        for failure in [
            Cause::Unreachable.into(),
            refused(408, None, None),
            refused(409, None, None),
            refused(429, None, None),
            refused(500, None, None),
            refused(503, None, None),
        ] {
            assert_eq!(wait_ms(&failure, 1, 0.0), Some(500));
            assert_eq!(wait_ms(&failure, 2, 0.0), Some(1000));
            assert_eq!(wait_ms(&failure, 2, 0.999), Some(750));
            assert_eq!(wait_ms(&failure, 3, 0.0), None);
        }
    }

    #[test]
    fn the_service_s_own_wait_is_honoured_up_to_a_minute() {
        assert_eq!(wait_ms(&refused(429, Some(60_000), None), 1, 0.0), Some(60_000));
        assert_eq!(wait_ms(&refused(429, Some(0), None), 1, 0.0), Some(0));
        assert_eq!(wait_ms(&refused(429, Some(60_001), None), 1, 0.0), Some(500));
    }

    #[test]
    fn what_cannot_pass_is_not_tried_again() {
        for failure in [
            refused(400, None, None),
            refused(401, Some(1), None),
            refused(404, None, None),
            refused(429, Some(1), Some("insufficient_quota")),
            Cause::Silent { after_ms: 1 }.into(),
            Cause::BrokenOff.into(),
            Cause::Incomplete { reason: None }.into(),
        ] {
            assert_eq!(wait_ms(&failure, 1, 0.0), None, "{failure:?}");
        }
    }
}
