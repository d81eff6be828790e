//! Responses with a status that is not a success: reading one, and its fault in the dictionary.

use std::pin::pin;

use futures_util::future::{Either, select};

use super::context_length::concerns_length;
use crate::contract::{ErrorCode, Fault};
use crate::outbound::retry_after_ms;
use crate::ports::{HttpResponse, Platform, ResponseBody};
use crate::responses_api::ErrorBody;

/// The longest error body that is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The longest wait for an error body, in milliseconds. It is short because the status says the most.
const MAX_ERROR_BODY_MS: u64 = 5_000;

/// A response with a status that is not a success.
#[derive(Debug, Default)]
pub struct Refusal {
    pub status: u16,
    /// The error in the body.
    pub body: ErrorBody,
    /// The body is one of the shapes in which services report errors, and no page of a proxy.
    pub is_error_object: bool,
    /// How long the service asks to wait.
    pub retry_after_ms: Option<u64>,
    /// The service says that the same request will be refused again.
    pub is_final: bool,
}

impl Refusal {
    pub(super) fn retryable(&self) -> bool {
        (self.can_pass() || blames_output(&self.body)) && !self.is_final
    }

    /// Whether its status says that the service is down, or too busy.
    pub(super) fn is_down(&self) -> bool {
        status_can_pass(self.status) && !OF_TLS.contains(&self.status)
    }

    /// Whether the input is too long. A request that is too long for a proxy in bytes (413) counts as well,
    /// whatever its error says: fewer turns help it, too.
    pub(super) fn concerns_length(&self) -> bool {
        match self.status {
            413 => true,
            401..=403 | 429 => false,
            status => status >= 400 && concerns_length(&self.body),
        }
    }

    fn can_pass(&self) -> bool {
        status_can_pass(self.status) && !needs_operator(Some(self.status), &self.body)
    }

    pub(super) fn into_fault(self) -> Fault {
        let (code, verb) = match self.can_pass() {
            true => (ErrorCode::UpstreamUnavailable, "answered"),
            false => (ErrorCode::UpstreamRejected, "refused the request"),
        };
        let status = self.status;
        let mut fault = Fault::new(code, format!("The model service {verb} with status {status}."));
        if let Some(asked) = self.retry_after_ms.filter(|ms| *ms > 0 && self.can_pass()) {
            fault = fault.with("RetryAfterMs", asked);
        }
        let fault = with_plain(fault.with("HttpStatus", status), "Code", self.body.code);
        with_plain(fault, "Type", self.body.kind)
    }
}

/// The statuses of a proxy that found no valid certificate: the operator's to mend.
const OF_TLS: [u16; 2] = [525, 526];

/// Whether a status concerns the moment and not the request.
pub(super) fn status_can_pass(status: u16) -> bool {
    matches!(status, 408 | 409 | 429 | 500..=599)
}

/// The statuses of a request that is refused for what it holds.
pub(super) const OF_CONTENTS: [u16; 5] = [400, 404, 409, 413, 422];

/// The codes and types of errors for which somebody has to pay or to raise a limit first. OpenAI's type of all of them may
/// be the first one, or another: help.openai.com/en/articles/6614457. A response that failed has no type.
const OF_OPERATOR: [&str; 5] = [
    "insufficient_quota",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
    "project_spend_limit_exceeded",
];

/// Whether somebody has to pay or to raise a limit first. LiteLLM writes the error of the service behind it into its own
/// message, with a code and a type that say less. The message of a request that is refused for what it holds may quote
/// that: a client may give a tool such a name. Inside a response the type says so where no status does.
pub(super) fn needs_operator(status: Option<u16>, error: &ErrorBody) -> bool {
    let mut names = [&error.code, &error.kind].into_iter().flatten();
    let status = status.or_else(|| error.code.as_deref()?.parse().ok());
    let is_of_contents = status.map_or_else(
        || error.kind.as_deref().is_some_and(|kind| kind.starts_with("invalid_request")),
        |status| OF_CONTENTS.contains(&status),
    );
    let message = error.message.as_deref().filter(|_| !is_of_contents);
    names.any(|name| OF_OPERATOR.contains(&name.as_str()))
        || message.is_some_and(|message| OF_OPERATOR.iter().any(|name| message.contains(name)))
}

/// Whether the service could not read what the model itself has written as a call. The same request may get another
/// output, and nothing that was sent is to blame.
pub(super) fn blames_output(error: &ErrorBody) -> bool {
    error.code.as_deref() == Some("tool_use_failed")
}

/// Reads a refusal. Where the body breaks off or comes too late, the bytes read so far count.
pub(super) async fn read_refusal<P: Platform>(
    platform: &P,
    mut response: HttpResponse<P::Body>,
) -> Refusal {
    let mut body = Vec::new();
    let mut patience = pin!(platform.sleep(MAX_ERROR_BODY_MS));
    while body.len() < MAX_ERROR_BYTES {
        match select(pin!(response.body.chunk(1)), patience.as_mut()).await {
            Either::Left((Ok(Some(chunk)), _)) => body.extend_from_slice(&chunk),
            Either::Left((Ok(None) | Err(_), _)) | Either::Right(_) => break,
        }
    }
    Refusal {
        status: response.status,
        retry_after_ms: retry_after_ms(&response, platform.now_ms()),
        is_final: response.header("x-should-retry") == Some("false"),
        is_error_object: ErrorBody::is_object(&body),
        body: ErrorBody::read(&body),
    }
}

/// Adds a code, a type or an id of the service's, if it is a plain name.
pub(super) fn with_plain(fault: Fault, key: &str, name: Option<String>) -> Fault {
    match name.filter(|name| is_plain(name)) {
        Some(name) => fault.with(key, name),
        None => fault,
    }
}

/// Whether a text is a name as services write names. Other text could be a sentence that holds part of
/// a prompt, or a key.
pub(super) fn is_plain(text: &str) -> bool {
    let is_of_names = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':');
    let is_key = |word: &str| word == "sk";
    (1..=128).contains(&text.len())
        && text.bytes().all(is_of_names)
        && !text.split(['_', '.', ':', '-']).any(is_key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_only_sounds_like_a_key_is_told() {
        for (name, told) in [
            ("risk-control", true),
            ("disk-7.task-too-long", true),
            ("sk-live-1", false),
            ("key_sk-live-1", false),
            ("a.sk-1:b", false),
            ("key-sk-live-1", false),
        ] {
            assert_eq!(is_plain(name), told, "{name}");
        }
    }
}
