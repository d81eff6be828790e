//! When a failed call is made again (interface §4): two retries for 408, 409, 429, 5xx, unless the code says that no
//! repetition helps, for connections that failed or broke, for failures inside the stream that pass, and for an output
//! that the service itself could not read; the service's
//! `Retry-After` up to a minute, else a backoff, as the service's own clients do, either with jitter. After a longer
//! `Retry-After` the call has failed: the fault of the turn says when to send the request again. Where another service
//! can take the call over, one retry has to do, and no wait is long.

use crate::llm_call::CallFailure;

/// The most calls for one request, the first included.
const MAX_CALLS: u32 = 3;

/// The same where another service is left.
const MAX_CALLS_BEFORE_ANOTHER: u32 = 2;

/// The longest wait that a service can ask for, in milliseconds.
pub(super) const MAX_RETRY_AFTER_MS: u64 = 60_000;

/// The longest wait where another service is left, in milliseconds.
const LONGEST_WAIT_BEFORE_ANOTHER_MS: u64 = 5_000;

/// The wait before the next attempt; `None` when there is none. `random` is in `[0, 1)`, so that sessions that failed at
/// the same moment retry at different ones. Where another service is left, it is asked after fewer attempts and shorter
/// waits.
pub(super) fn wait_ms(
    failure: &CallFailure,
    attempts_made: u32,
    random: f64,
    is_another_left: bool,
) -> Option<u64> {
    let (most_calls, longest_ms) = match is_another_left {
        true => (MAX_CALLS_BEFORE_ANOTHER, LONGEST_WAIT_BEFORE_ANOTHER_MS),
        false => (MAX_CALLS, MAX_RETRY_AFTER_MS),
    };
    if attempts_made >= most_calls || !failure.retryable() {
        return None;
    }
    if is_another_left && failure.is_out_of_quota() {
        return None;
    }
    if let Some(asked) = failure.retry_after_ms() {
        let wait = match is_another_left {
            true => spread_ms(asked, random).min(longest_ms),
            false => spread_ms(asked, random),
        };
        return (asked <= longest_ms).then_some(wait);
    }
    let full = 500_u64 << attempts_made.saturating_sub(1).min(4);
    // 75 to 100 per cent of it.
    Some((full as f64 * (1.0 - 0.25 * random)) as u64)
}

/// A wait that the service has asked for, and up to a quarter more, as `random` in `[0, 1)` says. Never less.
pub(super) fn spread_ms(asked: u64, random: f64) -> u64 {
    asked.saturating_add((asked as f64 * 0.25 * random) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm_call::{Cause, Refusal};
    use crate::responses_api::{ErrorBody, StreamFault};

    fn failed(code: Option<&str>, kind: Option<&str>) -> CallFailure {
        let (code, kind) = (code.map(str::to_owned), kind.map(str::to_owned));
        Cause::Failed(Box::new(ErrorBody { code, kind, ..ErrorBody::default() })).into()
    }

    fn refused(status: u16, retry_after_ms: Option<u64>, code: Option<&str>) -> CallFailure {
        let body = ErrorBody { code: code.map(str::to_owned), ..ErrorBody::default() };
        Cause::Refused(Box::new(Refusal { status, body, retry_after_ms, ..Refusal::default() }))
            .into()
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
            Cause::BrokenOff.into(),
            Cause::Unreadable(StreamFault::EndedEarly).into(),
            failed(Some("server_error"), None),
            failed(Some("rate_limit_exceeded"), Some("tokens")),
            failed(Some("server_is_overloaded"), None),
            failed(Some("flex_unavailable"), None),
            failed(Some("vector_store_timeout"), None),
            failed(Some("529"), Some("overloaded_error")),
            failed(None, Some("overloaded_error")),
            refused(400, None, Some("tool_use_failed")),
            failed(Some("tool_use_failed"), Some("invalid_request_error")),
        ] {
            assert_eq!(wait_ms(&failure, 1, 0.0, false), Some(500));
            assert_eq!(wait_ms(&failure, 2, 0.0, false), Some(1000));
            assert_eq!(wait_ms(&failure, 2, 0.999, false), Some(750));
            assert_eq!(wait_ms(&failure, 3, 0.0, false), None);
        }
    }

    #[test]
    fn the_service_s_own_wait_is_honoured_up_to_a_minute_and_with_up_to_a_quarter_more() {
        assert_eq!(wait_ms(&refused(429, Some(60_000), None), 1, 0.0, false), Some(60_000));
        assert_eq!(wait_ms(&refused(429, Some(60_000), None), 1, 0.999, false), Some(74_985));
        assert_eq!(wait_ms(&refused(429, Some(3_000), None), 2, 0.5, false), Some(3_375));
        assert_eq!(wait_ms(&refused(429, Some(0), None), 1, 0.999, false), Some(0));
        assert_eq!(wait_ms(&refused(429, Some(60_001), None), 1, 0.0, false), None);
    }

    #[test]
    fn a_rate_limit_inside_the_stream_says_its_wait_in_words() {
        for (words, ms) in [
            (
                "Limit 30000, Used 22999. Please try again in 11.5s. Visit https://a.example.",
                11_500,
            ),
            ("Please try again in 28ms.", 28),
            ("Try again in 35 seconds.", 35_000),
            ("Please try again in 1m12.5s.", 500),
            ("Please try again in 99s.", 500),
            ("Please try again in a while.", 500),
        ] {
            let (code, message) = (Some("rate_limit_exceeded".into()), Some(words.into()));
            let error = ErrorBody { code, message, ..ErrorBody::default() };
            let failure: CallFailure = Cause::Failed(Box::new(error)).into();
            assert_eq!(wait_ms(&failure, 1, 0.0, false), Some(ms), "{words}");
        }
    }

    #[test]
    fn what_cannot_pass_is_not_tried_again() {
        for failure in [
            refused(400, None, None),
            refused(401, Some(1), None),
            refused(404, None, None),
            refused(429, Some(1), Some("insufficient_quota")),
            refused(500, None, Some("context_length_exceeded")),
            Cause::Silent { after_ms: 1 }.into(),
            Cause::Unreadable(StreamFault::Malformed("an event")).into(),
            failed(Some("invalid_prompt"), Some("server_error")),
            failed(Some("insufficient_quota"), None),
            failed(Some("429"), Some("insufficient_quota")),
            failed(Some("400"), Some("server_error")),
            failed(None, None),
            Cause::Incomplete { reason: None }.into(),
        ] {
            assert_eq!(wait_ms(&failure, 1, 0.0, false), None, "{failure:?}");
        }
    }

    #[test]
    fn where_another_service_is_left_a_call_is_made_twice_and_waits_five_seconds_at_most() {
        let failure = refused(503, None, None);
        assert_eq!(wait_ms(&failure, 1, 0.0, true), Some(500));
        assert_eq!(wait_ms(&failure, 2, 0.0, true), None);
        assert_eq!(wait_ms(&refused(429, Some(5_000), None), 1, 0.999, true), Some(5_000));
        assert_eq!(wait_ms(&refused(429, Some(5_001), None), 1, 0.0, true), None);
        let spent = refused(429, None, Some("usage_limit_reached"));
        assert_eq!(wait_ms(&spent, 1, 0.0, true), None);
        assert_eq!(wait_ms(&spent, 1, 0.0, false), Some(500));
    }
}
