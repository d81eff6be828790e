//! A background response, which goes on at the model service without its reader (interface §4, Background responses):
//! its events are read on after a cut, the response is asked for as it stands, or cancelled. Each function sends one
//! request.

use super::failure::Cause;
use super::reading::CallObserver;
use super::{
    CallFailure, Endpoint, ResponseForm, UsableOutput, ended, headers_of_call, status_of,
    without_body,
};
use crate::ports::{HttpMethod, Platform};
use crate::responses_api::{ResponseStream, StreamFault};

/// The longest wait for the answer to a cancellation, in milliseconds.
const CANCELLATION_MS: u64 = 10_000;

/// What became of the reading of a background response that gave no output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The response has not ended.
    GoesOn,
    /// The connection broke, or there was none; the response may go on.
    Cut,
    /// Nothing came; the response may go on.
    Silent,
    /// The service does not show the response in this way.
    Denied,
    /// Whoever asked may not see the response.
    Refused,
    /// What came is not read on; the response may go on.
    GivenUp,
    /// The response is over.
    Ended,
}

impl CallFailure {
    /// What became of the reading of a background response. Whoever asks knows its id.
    pub fn of_reading(&self) -> Reading {
        match &self.cause {
            Cause::Unreadable(StreamFault::Unfinished) => Reading::GoesOn,
            Cause::Silent { .. } => Reading::Silent,
            Cause::Unreachable
            | Cause::BrokenOff
            | Cause::Unreadable(StreamFault::EndedEarly | StreamFault::Gap) => Reading::Cut,
            Cause::Refused(_) if self.denies_response() => Reading::Denied,
            Cause::Refused(refusal) if refusal.retryable() => Reading::Cut,
            Cause::Refused(_) => Reading::Refused,
            Cause::Interrupt | Cause::Unreadable(_) => Reading::GivenUp,
            _ => Reading::Ended,
        }
    }

    /// Whether the service refuses to show a response: it has lost the response, or shows none in this way.
    pub(super) fn denies_response(&self) -> bool {
        matches!(self.http_status(), Some(400 | 404 | 405 | 410 | 422 | 501))
    }
}

/// Reads a response on behind the newest event that `stream` has taken, or from its first event. Where `polls` says so, it
/// asks for the response as it stands: one that has not ended is a failure then, too, [`Reading::GoesOn`]; so is one that
/// the service does not show, which is [`Cause::Lost`].
pub async fn read_response<P: Platform>(
    platform: &P,
    endpoint: &Endpoint,
    id: &str,
    polls: bool,
    stream: &mut ResponseStream,
    observer: &mut dyn CallObserver,
) -> Result<UsableOutput, CallFailure> {
    let (url, form) = match polls {
        false => (endpoint.url_of_events(id, stream.newest_event()), ResponseForm::Events),
        true => (endpoint.url_of_response(id), ResponseForm::Object),
    };
    let Some(url) = url else { return Err(Cause::Lost.into()) };
    stream.read_on(id);
    let request = without_body(HttpMethod::Get, url, headers_of_call(endpoint, form));
    let ending = ended(platform, endpoint, request, form, stream, observer).await;
    ending.map_err(|failure| match polls && failure.denies_response() {
        true => CallFailure { cause: Cause::Lost, ..failure },
        false => failure,
    })
}

/// Has the model service cancel a response: true where it has, or has nothing to cancel; false where it could not, may
/// not, or gave no answer.
pub async fn cancel_response<P: Platform>(platform: &P, endpoint: &Endpoint, id: &str) -> bool {
    let Some(url) = endpoint.url_of_cancellation(id) else { return true };
    let status = status_of(platform, endpoint, HttpMethod::Post, url, CANCELLATION_MS).await;
    // A response that has ended is refused with 400 or 409.
    matches!(status, Some(200..=299 | 400 | 404 | 405 | 409 | 410 | 422 | 501))
}
