//! The reasons why a model call gave no usable output, and the fault of the dictionary for each
//! (interface §3).
//!
//! The service's own words stay here: they can hold parts of a key or of a prompt.

use super::context_length::{concerns_length, names_length};
use super::refusal::{Refusal, blames_output, needs_operator, status_can_pass, with_plain};
use crate::contract::{ErrorCode, Fault};
use crate::outbound::as_repeated;
use crate::responses_api::{
    ErrorBody, RefusedTool, StreamFault, code_concerns_input, concerns_background,
    concerns_encrypted_reasoning, concerns_input, concerns_previous_response, concerns_schema,
    concerns_sent_reasoning, concerns_storage, refused_tool,
};

/// A model call without a usable output.
#[derive(Debug)]
pub struct CallFailure {
    pub cause: Cause,
    /// The service's id for the request, when a response had begun.
    pub request_id: Option<String>,
}

/// Why a model call gave no usable output.
#[derive(Debug)]
pub enum Cause {
    /// The caller has dropped the call.
    Interrupt,
    /// The request would have had more bytes than one may have, so it was not sent.
    TooLarge,
    /// No response: refused, reset, no such host.
    Unreachable,
    /// A response with a status that is not a success.
    Refused(Box<Refusal>),
    /// The service sent nothing for too long.
    Silent {
        /// The limit, in milliseconds.
        after_ms: u64,
    },
    /// The connection broke in the middle of the body.
    BrokenOff,
    /// The body ended early or is not what the Responses API sends.
    Unreadable(StreamFault),
    /// The service no longer has the background response that was asked for.
    Lost,
    /// The output has calls whose results no continuation could bring.
    UnnameableCalls,
    /// The service reported an error inside a successful response.
    Failed(Box<ErrorBody>),
    /// The output was cut off where it cannot be used.
    Incomplete {
        /// The service's reason.
        reason: Option<String>,
    },
}

/// What a cause says by itself.
#[derive(Clone, Copy)]
pub(super) struct Signs {
    /// The same request can succeed when it is sent again.
    passes: bool,
    /// The service is down, or too busy.
    pub(super) is_down: bool,
    /// The service may have stored a response that it did not come to name.
    hides_response: bool,
}

impl Cause {
    pub(super) fn signs(&self) -> Signs {
        let signs = |passes, is_down, hides_response| Signs { passes, is_down, hides_response };
        match self {
            Self::Unreachable | Self::BrokenOff => signs(true, true, true),
            Self::Unreadable(StreamFault::EndedEarly) => signs(true, true, true),
            Self::Silent { .. } => signs(false, true, true),
            Self::Interrupt | Self::Unreadable(_) => signs(false, false, true),
            Self::Lost => signs(true, false, false),
            Self::TooLarge | Self::UnnameableCalls => signs(false, false, false),
            Self::Incomplete { .. } => signs(false, false, false),
            Self::Failed(error) => {
                signs(can_pass(error) || blames_output(error), can_pass(error), false)
            }
            Self::Refused(of) => {
                signs(of.retryable(), of.is_down(), matches!(of.status, 502 | 504))
            }
        }
    }
}

/// A failure of which the service has said nothing.
impl From<Cause> for CallFailure {
    fn from(cause: Cause) -> Self {
        Self { cause, request_id: None }
    }
}

impl CallFailure {
    /// A failure in which no name holds a secret of the call: a gateway may quote a key where a code is
    /// expected.
    pub(super) fn new(cause: Cause, request_id: Option<String>, secrets: &[String]) -> Self {
        let mut failure = Self { cause, request_id };
        let secrets: Vec<&str> = secrets.iter().filter_map(|secret| as_repeated(secret)).collect();
        let (error, reason) = match &mut failure.cause {
            Cause::Refused(refusal) => (Some(&mut refusal.body), None),
            Cause::Failed(error) => (Some(error.as_mut()), None),
            Cause::Incomplete { reason } => (None, Some(reason)),
            _ => (None, None),
        };
        let names = error.into_iter().flat_map(|error| [&mut error.code, &mut error.kind]);
        for name in names.chain(reason).chain([&mut failure.request_id]) {
            name.take_if(|name| secrets.iter().any(|secret| name.contains(secret)));
        }
        failure
    }

    /// Whether nothing was sent.
    pub fn is_unsent(&self) -> bool {
        matches!(self.cause, Cause::TooLarge)
    }

    /// Whether the caller has dropped the call.
    pub fn is_interrupt(&self) -> bool {
        matches!(self.cause, Cause::Interrupt)
    }

    /// Whether the same request can succeed when it is sent again. Whether text of the failed output
    /// was shown to a client is for the caller to judge.
    pub fn retryable(&self) -> bool {
        self.cause.signs().passes
            && !self.too_long()
            && !self.refused_storage()
            && !self.refused_background()
    }

    /// Whether the service may have stored a response and not come to name it: it was cut, or stands behind a
    /// gateway that gave it up.
    pub fn may_hide_response(&self) -> bool {
        self.cause.signs().hides_response
    }

    /// Whether the input does not fit into the model's context window: the same input never will.
    pub fn too_long(&self) -> bool {
        match &self.cause {
            Cause::Refused(refusal) => refusal.concerns_length(),
            Cause::Failed(error) => concerns_length(error),
            Cause::TooLarge => true,
            Cause::Incomplete { reason } => reason.as_deref().is_some_and(names_length),
            _ => false,
        }
    }

    /// How long the service asks to wait before the same request.
    pub fn retry_after_ms(&self) -> Option<u64> {
        match &self.cause {
            Cause::Refused(refusal) => refusal.retry_after_ms,
            Cause::Failed(error) => asked_in_words(error),
            _ => None,
        }
    }

    /// The HTTP status of a refusal.
    pub fn http_status(&self) -> Option<u16> {
        self.error()?.0
    }

    /// Whether the service does not know, or does not support, the response that the request continues.
    /// `continued` is its id.
    pub fn lost_chain(&self, continued: &str) -> bool {
        let concerns = |(status, error): (Option<u16>, &ErrorBody)| {
            concerns_previous_response(status, error, Some(continued))
        };
        self.error().is_some_and(concerns) && !self.too_long()
    }

    /// Whether the service does not store responses at all.
    pub fn refused_storage(&self) -> bool {
        self.concerns_itself(concerns_storage)
    }

    /// Whether the service makes no responses in the background.
    pub fn refused_background(&self) -> bool {
        self.concerns_itself(concerns_background)
    }

    /// Whether the error says so of the service, and does not quote the name of a tool.
    fn concerns_itself(&self, concerns: fn(Option<u16>, &ErrorBody) -> bool) -> bool {
        self.error().is_some_and(|(status, error)| concerns(status, error))
            && self.refused_tool().is_none()
    }

    /// Whether the service gives out no reasoning that can be sent back.
    pub fn refused_reasoning(&self) -> bool {
        self.error().is_some_and(|(status, error)| concerns_encrypted_reasoning(status, error))
    }

    /// Whether the service does not take its own reasoning back, or what belongs to it.
    pub fn refused_sent_reasoning(&self) -> bool {
        self.error().is_some_and(|(status, error)| concerns_sent_reasoning(status, error))
    }

    /// The tool that the service refused.
    pub fn refused_tool(&self) -> Option<RefusedTool<'_>> {
        self.error().and_then(|(status, error)| refused_tool(status, error))
    }

    /// Whether the service refused the schema of the answer, which has that name.
    pub fn refused_schema(&self, name: &str) -> bool {
        self.error().is_some_and(|(status, error)| concerns_schema(status, error, name))
    }

    /// Whether the service refused the input itself, and neither its length, nor reasoning of its own, nor a tool:
    /// it would refuse the same input again.
    pub fn refused_input(&self) -> bool {
        let refused = match self.error() {
            Some((Some(status), error)) => concerns_input(status, error),
            Some((None, error)) => error.code.as_deref().is_some_and(code_concerns_input),
            None => false,
        };
        let blames_another = self.refused_sent_reasoning() || self.refused_tool().is_some();
        refused && !self.too_long() && !blames_another
    }

    /// The error that the service reported, with the HTTP status of a refusal.
    pub(super) fn error(&self) -> Option<(Option<u16>, &ErrorBody)> {
        match &self.cause {
            Cause::Refused(refusal) => Some((Some(refusal.status), &refusal.body)),
            Cause::Failed(error) => Some((None, error)),
            _ => None,
        }
    }

    /// The dictionary's fault, with the details that an operator needs and without the service's words.
    pub fn into_fault(self, attempts: u32) -> Fault {
        let too_long = self.too_long();
        let unavailable = |message: &str| Fault::new(ErrorCode::UpstreamUnavailable, message);
        let not_understood = |message: &str| Fault::new(ErrorCode::UpstreamProtocol, message);
        let mut fault = match self.cause {
            Cause::Interrupt => Fault::internal("A model call was dropped and not made again."),
            Cause::TooLarge => Fault::new(ErrorCode::ContextWindowExceeded, TOO_LONG),
            Cause::Unreachable => unavailable("The model service could not be reached."),
            Cause::Refused(refusal) => refusal.into_fault(),
            Cause::Lost => unavailable("The model service has lost the answer that it was making."),
            Cause::Silent { after_ms } => Fault::new(
                ErrorCode::UpstreamTimeout,
                format!("The model service sent nothing for {after_ms} ms."),
            ),
            Cause::BrokenOff => not_understood(
                "The connection to the model service broke in the middle of its answer.",
            ),
            Cause::Unreadable(fault) => not_understood(&sentence(fault)),
            Cause::UnnameableCalls => not_understood(
                "The model service sent too many calls, a name that is too long, or an id that is empty, too long or used twice.",
            ),
            Cause::Failed(error) => {
                let message = "The model service reported a failure.";
                let fault = Fault::new(ErrorCode::UpstreamFailed, message);
                with_plain(with_plain(fault, "Code", error.code), "Type", error.kind)
            }
            Cause::Incomplete { reason } => {
                let message = "The model's answer was cut off where it cannot be used.";
                with_plain(Fault::new(ErrorCode::UpstreamIncomplete, message), "Reason", reason)
            }
        };
        if too_long {
            fault.code = ErrorCode::ContextWindowExceeded;
            fault.message = TOO_LONG.to_owned();
        }
        with_plain(fault.with("Attempts", attempts), "RequestId", self.request_id)
    }
}

/// Where nothing compacts, the conversation alone may be what does not fit.
const TOO_LONG: &str = "The conversation with this turn does not fit into the model's context window. Send less at once, or begin a new session.";

/// The wait for which a rate limit inside the stream asks, where no header can: `Please try again in 11.054s.` A longer
/// one than a minute has another form.
fn asked_in_words(error: &ErrorBody) -> Option<u64> {
    let said = error.message.as_deref()?.to_ascii_lowercase();
    let (_, wait) = said.split_once("try again in ")?;
    let end = wait.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, behind) = wait.split_at_checked(end)?;
    let number: f64 = serde_json::from_str(number).ok()?;
    let unit = behind.trim_start().split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    let ms = match unit {
        "ms" => number,
        "s" | "second" | "seconds" => number * 1000.0,
        _ => return None,
    };
    (ms <= 60_000.0).then_some(ms as u64)
}

/// Whether a failure inside a successful response concerns the moment and not the request.
pub(super) fn can_pass(error: &ErrorBody) -> bool {
    let by_name = |name: &str| match name.parse() {
        // Gateways give the status of the service behind them.
        Ok(status) => status_can_pass(status),
        Err(_) => PASSING.contains(&name),
    };
    let passes = match error.code.as_deref().or(error.kind.as_deref()) {
        Some(name) => by_name(name),
        None => error.message.as_deref().is_some_and(|message| message.contains("verloaded")),
    };
    passes && !needs_operator(None, error)
}

/// Codes and types of failures that pass: the Responses API's, those of services behind gateways, and those of
/// the Open Responses specification.
const PASSING: &[&str] = &[
    "api_error",
    "flex_unavailable",
    "internal_error",
    "internal_server_error",
    "overloaded",
    "overloaded_error",
    "rate_limit_error",
    "rate_limit_exceeded",
    "server_error",
    "server_is_overloaded",
    "service_unavailable",
    "service_unavailable_error",
    "slow_down",
    "too_many_requests",
    "vector_store_timeout",
];

fn sentence(fault: StreamFault) -> String {
    let mut text = format!("{fault}.");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of the service that may hold a prompt or a key.
    const WORDS: &str = "Incorrect key sk-live-1 in: tell me";

    fn refused(status: u16, code: Option<&str>, param: Option<&str>) -> CallFailure {
        let own = |text: Option<&str>| text.map(str::to_owned);
        let body = ErrorBody {
            code: own(code),
            kind: own(Some("t")),
            param: own(param),
            message: own(Some(WORDS)),
        };
        let refusal = Refusal { status, body, retry_after_ms: Some(7), ..Refusal::default() };
        CallFailure { request_id: own(Some("req_1")), ..Cause::Refused(Box::new(refusal)).into() }
    }

    #[test]
    fn every_refusal_has_its_code_and_says_whether_it_can_pass() {
        for (status, code, retryable) in [
            (302, None, false),
            (400, Some("invalid_value"), false),
            (401, Some("invalid_api_key"), false),
            (403, None, false),
            (404, None, false),
            (408, None, true),
            (409, None, true),
            (429, Some("rate_limit_exceeded"), true),
            (429, Some("insufficient_quota"), false),
            (429, Some("credit_balance_exhausted"), false),
            (429, Some("organization_spend_limit_exceeded"), false),
            (429, Some("organization_usage_limit_exceeded"), false),
            (429, Some("project_spend_limit_exceeded"), false),
            (500, Some("server_error"), true),
            (503, None, true),
            (529, None, true),
        ] {
            let failure = refused(status, code, None);
            assert_eq!(failure.retryable(), retryable, "{status} {code:?}");
            assert_eq!((failure.http_status(), failure.retry_after_ms()), (Some(status), Some(7)));
            let fault = if retryable {
                let message = format!("The model service answered with status {status}.");
                Fault::new(ErrorCode::UpstreamUnavailable, message).with("RetryAfterMs", 7)
            } else {
                let message =
                    format!("The model service refused the request with status {status}.");
                Fault::new(ErrorCode::UpstreamRejected, message)
            };
            let fault = code.into_iter().fold(fault, |fault, code| fault.with("Code", code));
            let fault =
                fault.with("HttpStatus", status).with("Type", "t").with("RequestId", "req_1");
            assert_eq!(failure.into_fault(3), fault.with("Attempts", 3), "{status} {code:?}");
        }
    }

    #[test]
    fn a_lost_chain_and_refused_words_are_told_from_each_other_and_from_the_rest() {
        let failed = |code: &str| {
            let code = Some(code.to_owned());
            Cause::Failed(Box::new(ErrorBody { code, ..ErrorBody::default() })).into()
        };
        for (failure, lost_chain, refused_input) in [
            (refused(400, Some("previous_response_not_found"), None), true, false),
            (refused(404, None, Some("previous_response_id")), true, false),
            (refused(400, Some("context_length_exceeded"), Some("input")), false, false),
            (refused(400, Some("invalid_image"), Some("input")), false, true),
            (refused(413, None, Some("previous_response_id")), false, false),
            (refused(400, Some("invalid_value"), Some("tools[0].name")), false, false),
            (refused(429, Some("rate_limit_exceeded"), None), false, false),
            (failed("previous_response_not_found"), true, false),
            (failed("context_length_exceeded"), false, false),
            (failed("invalid_prompt"), false, true),
            (failed("server_error"), false, false),
            (Cause::Unreachable.into(), false, false),
        ] {
            assert_eq!(
                (failure.lost_chain("resp_1"), failure.refused_input()),
                (lost_chain, refused_input),
                "{failure:?}"
            );
        }
    }

    #[test]
    fn a_refused_tool_says_nothing_of_the_service_whatever_its_name_is() {
        for name in ["store", "background"] {
            let mut failure = refused(400, None, Some("tools[0].parameters"));
            if let Cause::Refused(refusal) = &mut failure.cause {
                refusal.body.message = Some(format!("Invalid schema for function '{name}': no."));
            }
            assert!(!failure.refused_storage() && !failure.refused_background(), "{name}");
        }
    }

    #[test]
    fn a_service_that_says_that_nothing_will_change_is_not_asked_again() {
        let mut failure = refused(503, None, None);
        if let Cause::Refused(refusal) = &mut failure.cause {
            refusal.is_final = true;
        }
        assert!(!failure.retryable());
        assert_eq!(failure.into_fault(1).code, ErrorCode::UpstreamUnavailable);
    }

    #[test]
    fn no_word_of_the_service_leaves_with_a_fault() {
        for words in [WORDS, "sk-live-1"] {
            let words = || Some(words.to_owned());
            let body =
                || ErrorBody { code: words(), kind: words(), param: words(), message: words() };
            let refusal = |status| {
                Cause::Refused(Box::new(Refusal { status, body: body(), ..Refusal::default() }))
            };
            for (cause, details) in [
                (refusal(400), &["Attempts", "HttpStatus"][..]),
                (refusal(500), &["Attempts", "HttpStatus"]),
                (Cause::Failed(Box::new(body())), &["Attempts"]),
                (Cause::Incomplete { reason: words() }, &["Attempts"]),
                (Cause::BrokenOff, &["Attempts"]),
            ] {
                let fault = CallFailure { request_id: words(), ..cause.into() }.into_fault(1);
                let said = serde_json::to_string(&fault).unwrap();
                assert!(!said.contains("sk-live") && !said.contains("tell me"), "{said}");
                assert!(fault.details.unwrap().keys().eq(details), "{said}");
            }
        }
    }

    #[test]
    fn a_name_that_holds_a_secret_stays_here_whatever_the_secret_looks_like() {
        let key = "0123456789abcdef0123456789abcdef";
        let sent = ["another".to_owned(), format!("{key} ")];
        let said = || Some(format!("key-{key}"));
        let body = || ErrorBody { code: said(), kind: said(), ..ErrorBody::default() };
        let refusal = Refusal { status: 401, body: body(), ..Refusal::default() };
        for cause in [
            Cause::Refused(Box::new(refusal)),
            Cause::Failed(Box::new(body())),
            Cause::Incomplete { reason: said() },
        ] {
            let failure = CallFailure::new(cause, said(), &sent);
            let fault = serde_json::to_string(&failure.into_fault(1)).unwrap();
            assert!(!fault.contains(key), "{fault}");
        }
        let short = ["req".to_owned()];
        let other = CallFailure::new(Cause::BrokenOff, Some("req_1".to_owned()), &short);
        assert_eq!(other.into_fault(1).details.unwrap()["RequestId"], "req_1");
    }

    #[test]
    fn whatever_failed_the_service_s_id_for_the_request_is_told() {
        for cause in [
            Cause::Silent { after_ms: 1 },
            Cause::BrokenOff,
            Cause::Unreadable(StreamFault::EndedEarly),
            Cause::Failed(Box::default()),
            Cause::Incomplete { reason: None },
        ] {
            let fault =
                CallFailure { request_id: Some("req_1".to_owned()), ..cause.into() }.into_fault(2);
            assert_eq!(
                serde_json::to_value(fault.details).unwrap(),
                serde_json::json!({ "Attempts": 2, "RequestId": "req_1" })
            );
        }
    }
}
