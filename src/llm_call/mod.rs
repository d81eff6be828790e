//! Layer 2, LLM Call: exactly one call to the model service, and its answer made normal (AGN-027
//! §4, layer 2).
//!
//! Architecture Invariant: it changes no prompt and no tool, executes nothing, repeats nothing and
//! stores nothing. No other layer calls the model service.

mod failure;

use std::cell::Cell;
use std::pin::pin;

use futures_util::future::{Either, select};

use crate::pipeline::{HttpRequest, HttpResponse, Platform, ResponseBody};
use crate::responses_api::{ErrorBody, ModelAnswer, Outcome, Progress, ResponseStream, StreamLimits};

pub use failure::{CallFailure, Refusal};

/// Sizes that an answer may have. A terminal event repeats the answer, instructions and tools.
const LIMITS: StreamLimits = StreamLimits { event_bytes: 32 * 1024 * 1024, answer_bytes: 16 * 1024 * 1024 };

/// The longest error body that is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;

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

/// An answer that can be used.
#[derive(Debug)]
pub struct Answered {
    /// The answer.
    pub answer: ModelAnswer,
    /// The answer is text that was cut off, and why, as the service names it.
    pub cut_off: Option<String>,
}

/// Makes one call. `on_progress` is given the text as it grows.
///
/// # Errors
/// Whatever kept the model service from a usable answer.
pub async fn call<P: Platform>(
    platform: &P,
    endpoint: &Endpoint,
    body: String,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Answered, CallFailure> {
    let last_heard = Cell::new(platform.now_ms());
    let exchange = pin!(exchange(platform, endpoint, body, &last_heard, on_progress));
    let silence = pin!(silence(platform, endpoint.idle_timeout_ms, &last_heard));
    match select(exchange, silence).await {
        Either::Left((outcome, _)) => usable(outcome?),
        Either::Right(_) => Err(CallFailure::Silent { after_ms: endpoint.idle_timeout_ms }),
    }
}

async fn exchange<P: Platform>(
    platform: &P,
    endpoint: &Endpoint,
    body: String,
    last_heard: &Cell<u64>,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, CallFailure> {
    let mut headers = vec![("Accept".to_owned(), "text/event-stream".to_owned())];
    if let Some(key) = &endpoint.api_key {
        headers.push(("Authorization".to_owned(), format!("Bearer {key}")));
    }
    let url = format!("{}/responses", endpoint.base_url.trim_end_matches('/'));
    let mut response = platform
        .send(HttpRequest { url, headers, body })
        .await
        .map_err(|_| CallFailure::Unreachable)?;
    last_heard.set(platform.now_ms());
    if !(200..300).contains(&response.status) {
        return Err(CallFailure::Refused(refusal(response).await));
    }
    let request_id = request_id(&response);
    let mut stream = ResponseStream::new(LIMITS);
    while !stream.is_finished() {
        let chunk = match response.body.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(_) => return Err(CallFailure::BrokenOff { request_id }),
        };
        last_heard.set(platform.now_ms());
        let progress = stream.push(&chunk).map_err(|fault| CallFailure::Unreadable {
            fault,
            request_id: request_id.clone(),
        })?;
        report(on_progress, progress);
    }
    let (progress, outcome) = stream
        .finish()
        .map_err(|fault| CallFailure::Unreadable { fault, request_id: request_id.clone() })?;
    if let Outcome::Failed { code, kind, .. } = outcome {
        return Err(CallFailure::Failed { code, kind, request_id });
    }
    report(on_progress, progress);
    Ok(outcome)
}

fn report(on_progress: &mut dyn FnMut(Progress), progress: Progress) {
    if progress != Progress::Nothing {
        on_progress(progress);
    }
}

/// Completes when nothing was heard for `limit_ms`. One timer for each such span, not for each chunk.
async fn silence<P: Platform>(platform: &P, limit_ms: u64, last_heard: &Cell<u64>) {
    loop {
        let silent_for = platform.now_ms().saturating_sub(last_heard.get());
        if silent_for >= limit_ms {
            return;
        }
        platform.sleep(limit_ms - silent_for).await;
    }
}

/// What may be used of an outcome: an answer, or text that was cut off. A call of a response that
/// is not complete is never executed.
fn usable(outcome: Outcome) -> Result<Answered, CallFailure> {
    match outcome {
        Outcome::Completed(answer) => Ok(Answered { answer, cut_off: None }),
        Outcome::Incomplete { answer, reason, cut_call } => {
            if cut_call || !answer.calls.is_empty() || answer.text.is_empty() {
                return Err(CallFailure::Incomplete { reason });
            }
            Ok(Answered { answer, cut_off: Some(reason.unwrap_or_else(|| "unknown".to_owned())) })
        }
        Outcome::Failed { code, kind, .. } => {
            Err(CallFailure::Failed { code, kind, request_id: None })
        }
    }
}

async fn refusal<B: ResponseBody>(mut response: HttpResponse<B>) -> Refusal {
    let mut body = Vec::new();
    // What cannot be read of an error body does not make the error another one.
    while let Ok(Some(chunk)) = response.body.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ERROR_BYTES {
            break;
        }
    }
    Refusal {
        status: response.status,
        request_id: request_id(&response),
        retry_after_ms: retry_after_ms(&response),
        body: ErrorBody::read(&body),
    }
}

fn retry_after_ms<B>(response: &HttpResponse<B>) -> Option<u64> {
    let number = |name: &str| {
        response.header(name)?.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
    };
    let milliseconds = number("retry-after-ms").or_else(|| number("retry-after").map(|s| s * 1000.0))?;
    // A float saturates when it is cast.
    Some(milliseconds as u64)
}

fn request_id<B>(response: &HttpResponse<B>) -> Option<String> {
    response.header("x-request-id").map(str::to_owned)
}
