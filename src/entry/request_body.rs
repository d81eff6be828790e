//! Request bodies (interface §3): JSON without a content encoding, of at most `MAX_BODY_BYTES`. A
//! larger body is refused before it is held in memory.

use super::request::RequestHead;
use crate::contract::{ErrorCode, Fault};
use crate::ports::{BodyFault, Gateway};

/// Reads a JSON body of at most `most_bytes`.
pub(super) async fn read_body<G: Gateway>(
    head: &RequestHead<'_>,
    gateway: &G,
    most_bytes: usize,
) -> Result<G::Body, Fault> {
    if let Some(kind) = head.header("Content-Type") {
        let kind = kind.split(';').next().unwrap_or(&kind).trim().to_ascii_lowercase();
        if kind != "application/json" && !kind.ends_with("+json") {
            return Err(unsupported("Send the request as Content-Type: application/json."));
        }
    }
    let encoding = head.header("Content-Encoding");
    if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
        return Err(unsupported("Send the request without Content-Encoding."));
    }
    let length = head.header("Content-Length").and_then(|length| length.parse::<usize>().ok());
    if length.is_some_and(|length| length > most_bytes) {
        return Err(too_large(most_bytes));
    }
    gateway.body(most_bytes, length.is_some()).await.map_err(|fault| match fault {
        BodyFault::TooLarge => too_large(most_bytes),
        BodyFault::Unreadable => Fault::new(
            ErrorCode::MalformedJson,
            "The body could not be read to its end. Send the request again.",
        ),
    })
}

fn unsupported(remedy: &str) -> Fault {
    Fault::new(ErrorCode::UnsupportedMediaType, remedy)
}

fn too_large(most_bytes: usize) -> Fault {
    let message = format!("The body may be {most_bytes} bytes long. Send less.");
    Fault::new(ErrorCode::BodyTooLarge, message).with("MaxBytes", most_bytes)
}
