//! Request bodies (interface §3): JSON without a content encoding, of at most `MAX_BODY_BYTES`, complete
//! within `BODY_TIMEOUT_MS`. A body that is too long, or finds no room, is refused before it is held in
//! memory.

use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, select};

use super::body_room::{BodyRoom, HeldBody};
use crate::contract::{ErrorCode, Fault};
use crate::entry::request::RequestHead;
use crate::ports::{CHUNK_BYTES, Deployment, Gateway, RequestBody, Upload};

/// Reads a JSON body into the room for bodies.
pub(super) async fn read_body<G: Gateway>(
    head: &RequestHead<'_>,
    gateway: &G,
    deployment: &Deployment,
    room: &Rc<BodyRoom>,
) -> Result<HeldBody, Fault> {
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
    let most_bytes = deployment.max_body_bytes;
    let timeout_ms = deployment.body_timeout_ms;
    let now = gateway.now_ms();
    let body = room.slot(now, now.saturating_add(timeout_ms));
    let announced = head.header("Content-Length").and_then(|length| length.parse::<usize>().ok());
    if let Some(length) = announced {
        if length > most_bytes {
            return Err(too_large(most_bytes));
        }
        body.take_room(length)?;
    }
    let late = pin!(gateway.sleep(timeout_ms));
    match select(pin!(receive(gateway, &body, announced, most_bytes)), late).await {
        Either::Left((received, _)) => received?,
        Either::Right(_) => return Err(too_late(timeout_ms)),
    }
    // From here on the body waits for its object.
    body.keep_until(gateway.now_ms().saturating_add(timeout_ms));
    Ok(body)
}

async fn receive<G: Gateway>(
    gateway: &G,
    body: &HeldBody,
    announced: Option<usize>,
    most_bytes: usize,
) -> Result<(), Fault> {
    let Some(mut upload) = gateway.upload().map_err(|_| broken_off())? else { return Ok(()) };
    let longest = announced.unwrap_or(most_bytes);
    loop {
        // With one byte more than is left, the same read shows whether the body ends there.
        let rest = longest.saturating_sub(body.length()).saturating_add(1);
        let piece = upload.piece(rest.min(CHUNK_BYTES)).await.map_err(|_| broken_off())?;
        let Some(piece) = piece else { return Ok(()) };
        if body.length() + piece.len() > most_bytes {
            return Err(too_large(most_bytes));
        }
        if body.length() == 0 {
            body.expect(announced.unwrap_or(piece.len()));
        }
        body.add(&piece)?;
    }
}

fn unsupported(remedy: &str) -> Fault {
    Fault::new(ErrorCode::UnsupportedMediaType, remedy)
}

fn too_large(most_bytes: usize) -> Fault {
    let message = format!("The body may be {most_bytes} bytes long. Send less.");
    Fault::new(ErrorCode::BodyTooLarge, message).with("MaxBytes", most_bytes)
}

fn too_late(timeout_ms: u64) -> Fault {
    let message = format!(
        "The body did not come whole within {timeout_ms} ms. Send it faster, or in smaller requests."
    );
    Fault::new(ErrorCode::RequestTimeout, message).with("TimeoutMs", timeout_ms)
}

fn broken_off() -> Fault {
    let message = "The body could not be read to its end. Send the request again.";
    Fault::new(ErrorCode::MalformedJson, message)
}
