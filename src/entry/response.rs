//! A plain response: status, headers and body. `crate::platform` turns it into the runtime's.

use std::convert::Infallible;
use std::rc::Rc;

use serde::Serialize;
use serde_json::{Value, json};

use super::request_id::RequestId;
use crate::contract::{ErrorCode, Fault, InvokeResult, ReadOutcome};

/// The longest period of the platform's rate limiter, in seconds: a client that waits as long is let in.
const RATE_PERIOD_S: u64 = 60;

/// A long body is received, and taken by its object, within seconds.
const OVERLOAD_S: u64 = 2;

/// A header's name and value.
pub type Header = (&'static str, String);

/// A response. `S` is the type of a body that is sent piece by piece.
#[derive(Debug)]
pub struct Response<S> {
    pub status: u16,
    /// No name occurs twice.
    pub headers: Vec<Header>,
    pub body: Body<S>,
}

/// The body of a response.
#[derive(Debug)]
pub enum Body<S> {
    Empty,
    /// JSON text.
    Json(Rc<str>),
    /// A body that is sent piece by piece.
    Stream(S),
}

/// A response that never has a stream.
pub type PlainResponse = Response<Infallible>;

impl<S> Response<S> {
    pub(super) fn json(status: u16, body: impl Into<Rc<str>>) -> Self {
        Self { status, headers: headers_of(JSON), body: Body::Json(body.into()) }
    }

    /// What a request has begun or made, under a status that says so; `is_replayed` marks a repeat.
    pub(super) fn accepted(status: u16, made: &impl Serialize, is_replayed: bool) -> Self {
        Self::json(status, InvokeResult::success(made).to_json()).marked_replayed(is_replayed)
    }

    /// An `InvokeResult` under its own status.
    pub(super) fn result(result: &InvokeResult) -> Self {
        Self::json(result.http_status(), result.to_json())
    }

    /// The outcome of a submission, with `Retry-After` where its failure says when to repeat the request.
    pub(super) fn outcome(status: u16, body: Rc<str>) -> Self {
        let retry_after = if status < 400 { None } else { retry_after_of(&body) };
        let mut response = Self::json(status, body);
        let header = retry_after.map(|seconds| ("Retry-After", seconds.to_string()));
        response.headers.extend(header);
        response
    }

    /// A refusal with all its faults, and the headers that the first fault's status asks for.
    pub(super) fn refusal(faults: Vec<Fault>) -> Self {
        let allowed = faults.first().and_then(|fault| fault.details.as_ref()?.get("Allowed"));
        let allowed = allowed.and_then(Value::as_str).unwrap_or("GET").to_owned();
        let challenge = match faults.first().map(|fault| fault.code) {
            Some(ErrorCode::CredentialExpired) => "Bearer error=\"invalid_token\"",
            _ => "Bearer",
        };
        let retry_after_s = faults.first().and_then(retry_after_s);
        let mut response = Self::result(&InvokeResult::failure(faults));
        match response.status {
            401 => response.headers.push(("WWW-Authenticate", challenge.to_owned())),
            405 => response.headers.push(("Allow", allowed)),
            429 | 503 => {
                let usual = if response.status == 429 { RATE_PERIOD_S } else { OVERLOAD_S };
                let seconds = retry_after_s.unwrap_or(usual);
                response.headers.push(("Retry-After", seconds.to_string()));
            }
            _ => {}
        }
        response
    }

    /// A response without a body.
    pub(super) fn empty(status: u16) -> Self {
        Self { status, headers: own_headers().into(), body: Body::Empty }
    }

    pub(super) fn stream(content_type: &str, stream: S) -> Self {
        Self { status: 200, headers: headers_of(content_type), body: Body::Stream(stream) }
    }

    /// The same response, which says whether it was given before.
    pub(super) fn marked_replayed(mut self, is_replayed: bool) -> Self {
        let mark = ("Idempotent-Replayed", "true".to_owned());
        self.headers.extend(is_replayed.then_some(mark));
        self
    }

    /// The same response with the id of its request.
    pub(super) fn with_id(mut self, id: Option<&RequestId>) -> Self {
        self.headers.extend(id.map(RequestId::header));
        self
    }

    /// The same response with a stream of another type.
    pub fn map_stream<T, E>(self, turn: impl FnOnce(S) -> Result<T, E>) -> Result<Response<T>, E> {
        let body = match self.body {
            Body::Empty => Body::Empty,
            Body::Json(text) => Body::Json(text),
            Body::Stream(stream) => Body::Stream(turn(stream)?),
        };
        Ok(Response { status: self.status, headers: self.headers, body })
    }
}

/// The seconds that the first fault of a failure asks to wait, rounded up.
fn retry_after_of(body: &str) -> Option<u64> {
    retry_after_s(ReadOutcome::of(body).ok()?.errors.first()?)
}

fn retry_after_s(fault: &Fault) -> Option<u64> {
    let milliseconds = fault.details.as_ref()?.get("RetryAfterMs")?.as_u64()?;
    Some(milliseconds.div_ceil(1000))
}

pub(super) const JSON: &str = "application/json; charset=utf-8";

fn headers_of(content_type: &str) -> Vec<Header> {
    let [caching, sniffing] = own_headers();
    vec![("Content-Type", content_type.to_owned()), caching, sniffing]
}

/// The headers of every response but a file's, which has its own: no cache keeps the response, and no
/// browser takes words of a client or of the model for a page.
fn own_headers() -> [Header; 2] {
    [("Cache-Control", "no-store".to_owned()), ("X-Content-Type-Options", "nosniff".to_owned())]
}

/// The log line of a refusal: its status and codes, and nothing that the client sent but the request's id.
pub(super) fn refusal_line(faults: &[Fault], id: Option<&RequestId>) -> Value {
    let codes: Vec<&str> = faults.iter().map(|fault| fault.code.as_str()).collect();
    let status = faults.first().map_or(500, Fault::http_status);
    let mut line = json!({
        "event": "refused",
        "level": if status < 500 { "warn" } else { "error" },
        "http_status": status,
        "codes": codes,
    });
    RequestId::sign(id, &mut line);
    line
}

/// `credential_expired`.
pub(super) fn credential_expired() -> Fault {
    let message =
        "The credential has expired or was revoked. Get a new one, and send the request again.";
    Fault::new(ErrorCode::CredentialExpired, message)
}

/// The fault of a request whose object failed.
pub(super) fn object_failed() -> Fault {
    let message = "The object behind this address did not answer. Send the same request again: nothing is done twice.";
    Fault::new(ErrorCode::Internal, message)
}
