//! Layer 2, LLM Call: exactly one call to the model service, and its answer made normal (AGN-027
//! §4, layer 2).
//!
//! Architecture Invariant: it changes no prompt and no tool, executes nothing, repeats nothing and
//! stores nothing. No other layer calls the model service.

mod failure;
mod reading;

use std::cell::Cell;
use std::pin::pin;

use futures_util::future::{Either, select};

use crate::contract::limits;
use crate::encoding::http_date_ms;
use crate::ports::{HttpMethod, HttpRequest, HttpResponse, Platform, ResponseBody};
use crate::responses_api::{ErrorBody, ModelAnswer, Outcome, StreamFault};

pub use failure::{CallFailure, Cause, Refusal};
pub use reading::Audience;
use reading::{ReadFault, read_answer, silence};

/// The longest error body that is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The longest that an error body is waited for, in milliseconds: the status says the most.
const MAX_ERROR_BODY_MS: u64 = 5_000;

/// Where and how to call.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Base URL, without `/responses`.
    pub base_url: String,
    /// Bearer key, for services that want one.
    pub api_key: Option<String>,
    /// The longest silence before the call is given up, in milliseconds.
    pub idle_timeout_ms: u64,
}

impl Endpoint {
    fn url(&self) -> String {
        format!("{}/responses", self.base_url.trim_end_matches('/'))
    }

    fn authorization(&self) -> Vec<(String, String)> {
        let key = self.api_key.iter();
        key.map(|key| ("Authorization".to_owned(), format!("Bearer {key}"))).collect()
    }
}

/// An answer that can be used.
#[derive(Debug)]
pub struct Answered {
    /// The answer.
    pub answer: ModelAnswer,
    /// The answer is text that was cut off, and why, as the service names it.
    pub cut_off: Option<String>,
}

/// Makes one call. `audience` is given the text as it grows.
///
/// # Errors
/// Whatever kept the model service from a usable answer.
pub async fn call<P: Platform>(
    platform: &P,
    endpoint: &Endpoint,
    body: String,
    audience: &mut dyn Audience,
) -> Result<Answered, CallFailure> {
    let last_heard = Cell::new(platform.now_ms());
    let request_id = Cell::new(None);
    let exchange = pin!(exchange(platform, endpoint, body, &last_heard, &request_id, audience));
    let silence = pin!(silence(platform, endpoint.idle_timeout_ms, &last_heard));
    let ending = match select(exchange, silence).await {
        Either::Left((outcome, _)) => outcome.and_then(usable),
        Either::Right(_) => Err(Cause::Silent { after_ms: endpoint.idle_timeout_ms }),
    };
    ending.map_err(|cause| CallFailure { cause, request_id: request_id.take() })
}

/// Has the model service delete a response that it stored; true when it has it no more.
pub async fn delete_response<P: Platform>(platform: &P, endpoint: &Endpoint, id: &str) -> bool {
    let deletion = platform.send(HttpRequest {
        method: HttpMethod::Delete,
        url: format!("{}/{id}", endpoint.url()),
        headers: endpoint.authorization(),
        body: String::new(),
    });
    match select(pin!(deletion), pin!(platform.sleep(endpoint.idle_timeout_ms))).await {
        Either::Left((Ok(response), _)) => matches!(response.status, 200..=299 | 404),
        Either::Left((Err(_), _)) | Either::Right(_) => false,
    }
}

async fn exchange<P: Platform>(
    platform: &P,
    endpoint: &Endpoint,
    body: String,
    last_heard: &Cell<u64>,
    request_id: &Cell<Option<String>>,
    audience: &mut dyn Audience,
) -> Result<Outcome, Cause> {
    let mut headers = endpoint.authorization();
    headers.insert(0, ("Accept".to_owned(), "text/event-stream".to_owned()));
    let url = endpoint.url();
    let response = platform
        .send(HttpRequest { method: HttpMethod::Post, url, headers, body })
        .await
        .map_err(|_| Cause::Unreachable)?;
    last_heard.set(platform.now_ms());
    request_id.set(response.header("x-request-id").map(str::to_owned));
    if !(200..300).contains(&response.status) {
        return Err(Cause::Refused(Box::new(refusal(platform, response).await)));
    }
    read_answer(platform, endpoint, response.body, last_heard, audience).await.map_err(|fault| {
        match fault {
            ReadFault::Broken => Cause::BrokenOff,
            ReadFault::Unreadable(fault) => Cause::Unreadable(fault),
        }
    })
}

/// What may be used of an outcome: an answer, or text that was cut off. A call of a response that
/// is not complete is never executed.
fn usable(outcome: Outcome) -> Result<Answered, Cause> {
    match outcome {
        Outcome::Completed(answer) if !can_be_answered(&answer) => {
            Err(Cause::Unreadable(StreamFault::Malformed("calls that no result could name")))
        }
        Outcome::Completed(answer) => Ok(Answered { answer, cut_off: None }),
        Outcome::Incomplete { answer, reason, cut_call } => {
            if cut_call || !answer.calls.is_empty() || answer.text.is_empty() {
                return Err(Cause::Incomplete { reason });
            }
            Ok(Answered { answer, cut_off: Some(reason.unwrap_or_else(|| "unknown".to_owned())) })
        }
        Outcome::Failed { code, kind, .. } => Err(Cause::Failed { code, kind }),
    }
}

/// Results name their call by its id, and there are only so many of them: other calls cannot be
/// answered.
fn can_be_answered(answer: &ModelAnswer) -> bool {
    let mut ids: Vec<&str> = answer.calls.iter().map(|call| call.call_id.as_str()).collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    ids.len() == count
        && ids.first() != Some(&"")
        && count <= limits::TOOL_RESULTS
        // Ours can be longer than the model's.
        && ids.iter().all(|id| id.len() <= limits::TOOL_CALL_ID / 2)
}

/// What cannot be read of an error body, or not in time, does not make the error another one.
async fn refusal<P: Platform>(platform: &P, mut response: HttpResponse<P::Body>) -> Refusal {
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
