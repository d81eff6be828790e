//! Layer 2, LLM Call: makes exactly one call to the model service, and checks that its output can be
//! used (AGN-027 §4, layer 2).
//!
//! Architecture Invariant: it changes no prompt and no tool, executes nothing, repeats nothing and
//! stores nothing. No other layer calls the model service.

mod background;
mod context_length;
mod endpoint;
mod error_type;
mod failure;
mod moving_on;
mod reading;
mod refusal;
mod unexplained;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::pin::pin;

use futures_util::future::{Either, select};

use crate::contract::limits;
use crate::ports::{HttpMethod, HttpRequest, Platform, RequestBody, with_timeout};
use crate::responses_api::{FunctionCall, ModelOutput, ResponseEnd, ResponseStream};

pub use background::{Reading, cancel_response, read_response};
pub use endpoint::Endpoint;
pub use failure::{CallFailure, Cause};
pub use reading::CallObserver;
use reading::{LastHeard, Reader};
pub use refusal::Refusal;
use refusal::read_refusal;

/// A model output that can be used.
#[derive(Debug)]
pub struct UsableOutput {
    pub output: ModelOutput,
    /// Why the output is cut off, as the service names it; `None` when it is whole.
    pub cut_off: Option<String>,
}

/// Makes one call. `stream` is a reader at its start; `observer` gets the text as it grows.
pub async fn call<P: Platform>(
    platform: &P,
    endpoint: &Endpoint,
    body: impl RequestBody,
    stream: &mut ResponseStream,
    observer: &mut dyn CallObserver,
) -> Result<UsableOutput, CallFailure> {
    let request = HttpRequest {
        method: HttpMethod::Post,
        url: endpoint.url(),
        headers: headers_of_call(endpoint, ResponseForm::Events),
        body,
        reads: &[],
    };
    ended(platform, endpoint, request, ResponseForm::Events, stream, observer).await
}

/// The form in which a response is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResponseForm {
    /// Its events, or one JSON object in their place.
    Events,
    /// The response object.
    Object,
}

/// Sends a request for a response and reads it.
async fn ended<P: Platform>(
    platform: &P,
    endpoint: &Endpoint,
    request: HttpRequest<impl RequestBody>,
    form: ResponseForm,
    stream: &mut ResponseStream,
    observer: &mut dyn CallObserver,
) -> Result<UsableOutput, CallFailure> {
    let began_at = platform.now_ms();
    let heard = LastHeard {
        platform,
        endpoint,
        began_at,
        last_heard: Cell::new(began_at),
        has_events: Cell::new(stream.events > 0),
    };
    let reported = stream.reported().clone();
    let mut reader = Reader { heard: &heard, stream, observer, reported };
    let request_id = Cell::new(None);
    let mut end = {
        let exchange = pin!(exchange(&mut reader, request, form, &request_id));
        match select(exchange, pin!(heard.silence())).await {
            Either::Left((end, _)) => end,
            Either::Right((after_ms, _)) => Err(Cause::Silent { after_ms }),
        }
    };
    if matches!(end, Err(Cause::Silent { .. })) {
        // A service that lets its connection stand may have ended the response: only the blank line is missing.
        end = reader.end().await.or(end);
    }
    let ending = end.and_then(usable);
    ending.map_err(|cause| CallFailure::new(cause, request_id.take(), &endpoint.secrets))
}

/// The longest wait for the answer to a deletion, in milliseconds. An alarm waits for it, which the runtime ends after a quarter
/// of an hour.
const DELETION_MS: u64 = 60_000;

/// What became of a request to delete a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// The service no longer holds it.
    Gone,
    /// The service refused, or could not.
    Refused,
    /// There was no answer.
    Unanswered,
}

/// Has the model service delete a stored response. An id that no path can name counts as refused and is
/// not sent: it would name something else.
pub async fn delete_response<P: Platform>(platform: &P, endpoint: &Endpoint, id: &str) -> Deletion {
    let Some(url) = endpoint.url_of_response(id) else { return Deletion::Refused };
    match status_of(platform, endpoint, HttpMethod::Delete, url, DELETION_MS).await {
        Some(200..=299 | 404) => Deletion::Gone,
        Some(_) => Deletion::Refused,
        None => Deletion::Unanswered,
    }
}

/// How the service answers a request without a body; `None` where it does not within its idle time, or within `most_ms`.
async fn status_of<P: Platform>(
    platform: &P,
    endpoint: &Endpoint,
    method: HttpMethod,
    url: String,
    most_ms: u64,
) -> Option<u16> {
    let answer = platform.send(without_body(method, url, endpoint.headers.clone()));
    let answer = with_timeout(platform, endpoint.idle_timeout_ms.min(most_ms), answer).await?;
    Some(answer.ok()?.status)
}

/// Sends the request and reads the response.
async fn exchange<P: Platform>(
    reader: &mut Reader<'_, P>,
    request: HttpRequest<impl RequestBody>,
    form: ResponseForm,
    request_id: &Cell<Option<String>>,
) -> Result<ResponseEnd, Cause> {
    let LastHeard { platform, last_heard, .. } = reader.heard;
    let response = platform.send(request).await.map_err(|_| Cause::Unreachable)?;
    last_heard.set(platform.now_ms());
    reader.observer.on_request_id(response.request_id());
    request_id.set(response.request_id().map(str::to_owned));
    if !response.is_success() {
        return Err(Cause::Refused(Box::new(read_refusal(*platform, response).await)));
    }
    match form {
        ResponseForm::Events => reader.read_output(response.body).await,
        ResponseForm::Object => reader.read_object(response.body).await,
    }
}

fn without_body(
    method: HttpMethod,
    url: String,
    headers: Vec<(String, String)>,
) -> HttpRequest<String> {
    HttpRequest { method, url, headers, body: String::new(), reads: &[] }
}

fn headers_of_call(endpoint: &Endpoint, form: ResponseForm) -> Vec<(String, String)> {
    let accepted = match form {
        ResponseForm::Events => "text/event-stream",
        ResponseForm::Object => "application/json",
    };
    // A compressed body would be as small as a request and as large as its bound.
    let own = [("Accept", accepted), ("Accept-Encoding", "identity")];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    own.into_iter().chain(endpoint.headers.iter().cloned()).collect()
}

/// Accepts a complete output, and text that was cut off. A call in an incomplete output is never
/// executed.
fn usable(end: ResponseEnd) -> Result<UsableOutput, Cause> {
    match end {
        ResponseEnd::Completed(output) if !calls_can_get_results(&output) => {
            Err(Cause::UnnameableCalls)
        }
        ResponseEnd::Completed(output) => Ok(UsableOutput { output, cut_off: None }),
        ResponseEnd::Incomplete { output, reason } => {
            if !output.calls.is_empty() || output.text.is_empty() {
                return Err(Cause::Incomplete { reason });
            }
            let cut_off = reason.or_else(|| Some("unknown".to_owned()));
            Ok(UsableOutput { output, cut_off })
        }
        ResponseEnd::Failed(error) => Err(Cause::Failed(Box::new(error))),
    }
}

/// The longest name of a call, in bytes.
const CALL_NAME_BYTES: usize = 256;

/// A tool result names its call by the id, and a continuation carries a bounded number of results.
/// Calls that break either rule could never get their results, and a name without measure does not fit its row.
fn calls_can_get_results(output: &ModelOutput) -> bool {
    let mut ids = BTreeSet::new();
    output.calls.len() <= limits::TOOL_RESULTS
        && output.calls.iter().all(|FunctionCall { call_id, name, .. }| {
            // The product's own id may be longer than the model's: it gets a suffix.
            (1..=limits::TOOL_CALL_ID / 2).contains(&call_id.len())
                && name.len() <= CALL_NAME_BYTES
                && ids.insert(Cow::from(call_id))
        })
}
