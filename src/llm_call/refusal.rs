//! A response with a status that is not a success: what is read of it, and what it means.

use std::pin::pin;

use futures_util::future::{Either, select};

use crate::contract::{ErrorCode, Fault};
use crate::encoding::http_date_ms;
use crate::ports::{HttpResponse, Platform, ResponseBody};
use crate::responses_api::ErrorBody;

/// The longest error body that is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The longest wait for an error body, in milliseconds: the status already says the most.
const MAX_ERROR_BODY_MS: u64 = 5_000;

/// A response with a status that is not a success.
#[derive(Debug, Default)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// What the body said.
    pub body: ErrorBody,
    /// How long the service asks to wait.
    pub retry_after_ms: Option<u64>,
    /// The service says that the same request will be refused again.
    pub is_final: bool,
}

impl Refusal {
    pub(super) fn retryable(&self) -> bool {
        self.can_pass() && !self.is_final
    }

    /// The status speaks of the moment, not of the request.
    fn can_pass(&self) -> bool {
        let again = matches!(self.status, 408 | 409 | 429 | 500..=599);
        again && !self.needs_the_operator()
    }

    /// No waiting helps: somebody has to pay or to raise a limit.
    fn needs_the_operator(&self) -> bool {
        const FINAL: [&str; 2] = ["insufficient_quota", "credit_balance_exhausted"];
        [&self.body.code, &self.body.kind]
            .into_iter()
            .any(|name| name.as_deref().is_some_and(|name| FINAL.contains(&name)))
    }

    pub(super) fn into_fault(self) -> Fault {
        let fault = if self.can_pass() {
            Fault::new(
                ErrorCode::UpstreamUnavailable,
                format!("The model service answered with status {}.", self.status),
            )
        } else {
            Fault::new(
                ErrorCode::UpstreamRejected,
                format!("The model service refused the request with status {}.", self.status),
            )
        };
        named(fault.with("HttpStatus", self.status), self.body.code, self.body.kind)
    }
}

/// Reads a refusal. A body that breaks off, or that comes too late, leaves the refusal as it is.
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
        body: ErrorBody::read(&body),
    }
}

fn retry_after_ms<B>(response: &HttpResponse<B>, now_ms: u64) -> Option<u64> {
    let number = |text: &str| {
        // As JSON spells a number: the standard library's reader of floats is 7 KB of the bundle.
        serde_json::from_str::<f64>(text.trim()).ok().filter(|number| *number >= 0.0)
    };
    // A float saturates when it is cast.
    if let Some(milliseconds) = response.header("retry-after-ms").and_then(number) {
        return Some(milliseconds as u64);
    }
    let asked = response.header("retry-after")?;
    match number(asked) {
        Some(seconds) => Some((seconds * 1000.0) as u64),
        // A date that has passed, perhaps by a clock that is not ours, asks for nothing.
        None => http_date_ms(asked.trim())?.checked_sub(now_ms).filter(|ms| *ms > 0),
    }
}

/// Adds the service's own code and type, where they are plain names.
pub(super) fn named(fault: Fault, code: Option<String>, kind: Option<String>) -> Fault {
    let fault = match code.and_then(plain) {
        Some(code) => fault.with("Code", code),
        None => fault,
    };
    match kind.and_then(plain) {
        Some(kind) => fault.with("Type", kind),
        None => fault,
    }
}

/// A code, a type or an id as services spell them; anything else could be a sentence that holds
/// part of a prompt, or a key.
pub(super) fn plain(text: String) -> Option<String> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':');
    let is_key = |word: &str| word == "sk";
    let is_name = text.bytes().all(is_plain) && !text.split(['_', '.', ':', '-']).any(is_key);
    ((1..=128).contains(&text.len()) && is_name).then_some(text)
}
