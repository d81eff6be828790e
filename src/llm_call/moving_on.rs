//! The failures after which another model service can take a call over (interface §4, Fall-backs): what says that this
//! service is down, too busy or out of quota. What says that the request, a key or a name is wrong has to be seen, and
//! is no such failure.

use super::failure::CallFailure;
use super::refusal::needs_operator;
use crate::responses_api::ErrorBody;

/// More codes and types of a quota that is spent.
const OF_QUOTA: [&str; 2] = ["usage_limit_reached", "billing_hard_limit_reached"];

/// The status of a service that wants to be paid first.
const PAYMENT_REQUIRED: u16 = 402;

impl CallFailure {
    /// Whether another service can take the call over.
    pub fn moves_on(&self) -> bool {
        self.is_out_of_quota() || self.cause.signs().is_down && !self.blames_request()
    }

    /// Whether what the service was to be paid with is spent: a repetition cannot help.
    pub fn is_out_of_quota(&self) -> bool {
        self.error().is_some_and(|(status, error)| {
            status == Some(PAYMENT_REQUIRED) || needs_operator(status, error) || names_quota(error)
        })
    }

    /// Whether the service refuses something of the request, which a remedy can change.
    fn blames_request(&self) -> bool {
        self.too_long()
            || self.refused_storage()
            || self.refused_background()
            || self.refused_reasoning()
            || self.refused_sent_reasoning()
            || self.refused_tool().is_some()
            || self.refused_input()
    }
}

fn names_quota(error: &ErrorBody) -> bool {
    let mut names = [&error.code, &error.kind].into_iter().flatten();
    names.any(|name| OF_QUOTA.contains(&name.as_str()) || name.parse() == Ok(PAYMENT_REQUIRED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm_call::{Cause, Refusal};
    use crate::responses_api::StreamFault;

    fn error(code: &str, message: &str) -> ErrorBody {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        ErrorBody { code: text(code), message: text(message), ..ErrorBody::default() }
    }

    fn refused(status: u16, code: &str, message: &str) -> CallFailure {
        let body = error(code, message);
        let refusal = Refusal { status, body, is_error_object: true, ..Refusal::default() };
        Cause::Refused(Box::new(refusal)).into()
    }

    fn failed(code: &str) -> CallFailure {
        Cause::Failed(Box::new(error(code, ""))).into()
    }

    /// A failure inside a response, of that type.
    fn failed_as(kind: &str, message: &str) -> CallFailure {
        let error = ErrorBody { kind: Some(kind.to_owned()), ..error("", message) };
        Cause::Failed(Box::new(error)).into()
    }

    #[test]
    fn another_service_takes_over_what_is_down_or_busy_or_unpaid_and_nothing_that_is_wrong() {
        for (failure, expected) in [
            (Cause::Unreachable.into(), true),
            (Cause::Silent { after_ms: 1 }.into(), true),
            (Cause::BrokenOff.into(), true),
            (Cause::Unreadable(StreamFault::EndedEarly).into(), true),
            (Cause::Unreadable(StreamFault::Malformed("an event")).into(), false),
            (Cause::UnnameableCalls.into(), false),
            (Cause::Incomplete { reason: None }.into(), false),
            (Cause::Incomplete { reason: Some("max_prompt_tokens".to_owned()) }.into(), false),
            (refused(408, "", ""), true),
            (refused(409, "", ""), true),
            (refused(429, "rate_limit_exceeded", ""), true),
            (refused(500, "server_error", ""), true),
            (refused(503, "", ""), true),
            (refused(529, "overloaded", ""), true),
            (refused(525, "", ""), false),
            (refused(526, "", ""), false),
            (refused(302, "", ""), false),
            (refused(400, "", "no"), false),
            (refused(400, "tool_use_failed", ""), false),
            (failed("tool_use_failed"), false),
            (refused(400, "", "Invalid schema for function 'insufficient_quota'."), false),
            (failed_as("invalid_request_error", "Bad function 'insufficient_quota'."), false),
            (refused(401, "invalid_api_key", ""), false),
            (refused(403, "", ""), false),
            (refused(404, "model_not_found", ""), false),
            (refused(413, "", ""), false),
            (refused(422, "", ""), false),
            (refused(500, "context_length_exceeded", ""), false),
            (refused(500, "", "Context size has been exceeded."), false),
            (refused(501, "", "'store' is not supported"), false),
            (failed("server_error"), true),
            (failed("rate_limit_exceeded"), true),
            (failed("server_is_overloaded"), true),
            (failed("context_length_exceeded"), false),
            (failed("invalid_prompt"), false),
            (failed("unknown"), false),
        ] {
            assert_eq!(failure.moves_on(), expected, "{failure:?}");
            assert!(!failure.is_out_of_quota(), "{failure:?}");
        }
    }

    #[test]
    fn a_quota_that_is_spent_is_known_by_its_status_and_by_its_codes() {
        for failure in [
            refused(402, "", ""),
            refused(429, "insufficient_quota", ""),
            refused(429, "usage_limit_reached", ""),
            refused(403, "billing_hard_limit_reached", ""),
            refused(400, "credit_balance_exhausted", ""),
            refused(429, "organization_spend_limit_exceeded", ""),
            refused(429, "organization_usage_limit_exceeded", ""),
            refused(429, "project_spend_limit_exceeded", ""),
            refused(500, "", "behind the gateway: insufficient_quota"),
            failed("insufficient_quota"),
            failed("project_spend_limit_exceeded"),
            failed_as("server_error", "behind the gateway: insufficient_quota"),
            failed("402"),
        ] {
            assert!(failure.is_out_of_quota() && failure.moves_on(), "{failure:?}");
        }
    }
}
