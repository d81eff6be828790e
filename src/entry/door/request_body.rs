//! Request bodies (interface §3): JSON without a content encoding, of at most `MAX_BODY_BYTES`, complete
//! within `BODY_TIMEOUT_MS`. A body that is too long is refused before it is held in memory, one that finds no room or
//! loses it as soon as that shows.

use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, select};

use super::body_room::{BodyRoom, HeldBody, PACE_BYTES, SHORT_BYTES};
use super::body_shares::Owner;
use crate::contract::{ErrorCode, Fault, Result};
use crate::entry::request::RequestHead;
use crate::ports::{Deployment, Gateway, RequestBody, Upload, announced_length};

/// How often the reading of a long body looks whether its room was given to another one, in milliseconds. Nobody else may
/// end it: what belongs to one request cannot be touched from another.
const CHECK_MS: u64 = 1_000;

/// Reads a JSON body of a caller's into the room for bodies.
pub(super) async fn read_body<G: Gateway>(
    head: &RequestHead<'_>,
    gateway: &G,
    deployment: &Deployment,
    room: &Rc<BodyRoom>,
    owner: Owner,
) -> Result<HeldBody> {
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
    let announced = announced_length(|name| head.header(name));
    if announced.is_some_and(|length| length > most_bytes) {
        return Err(too_large(most_bytes));
    }
    let now_ms = gateway.now_ms();
    let body = room.slot(owner, announced, now_ms, now_ms.saturating_add(timeout_ms));
    receive_in_time(gateway, &body, announced, deployment).await?;
    // From here on the body waits for its object.
    let now_ms = gateway.now_ms();
    body.keep_until(now_ms, now_ms.saturating_add(timeout_ms));
    Ok(body)
}

/// Receives a body within its time.
async fn receive_in_time<G: Gateway>(
    gateway: &G,
    body: &HeldBody,
    announced: Option<usize>,
    deployment: &Deployment,
) -> Result<()> {
    let timeout_ms = deployment.body_timeout_ms;
    // A short one holds so little that it may learn at its end that another one has its room.
    let is_short = announced.is_some_and(|length| length <= SHORT_BYTES);
    let check_ms = if is_short { timeout_ms } else { CHECK_MS };
    let mut receiving = pin!(receive(gateway, body, announced, deployment.max_body_bytes));
    let mut left_ms = timeout_ms;
    while left_ms > 0 {
        let wait_ms = check_ms.min(left_ms);
        match select(receiving.as_mut(), pin!(gateway.sleep(wait_ms))).await {
            Either::Left((received, _)) => return received,
            Either::Right(_) => body.check()?,
        }
        left_ms -= wait_ms;
    }
    Err(too_late(timeout_ms))
}

async fn receive<G: Gateway>(
    gateway: &G,
    body: &HeldBody,
    announced: Option<usize>,
    most_bytes: usize,
) -> Result<()> {
    let Some(mut upload) = gateway.upload().map_err(|_| broken_off())? else { return Ok(()) };
    let longest = announced.unwrap_or(most_bytes);
    loop {
        // With one byte more than is left, the same read shows whether the body ends there. A read that waits for more
        // would hide the pace of a body from the room.
        let rest = longest.saturating_sub(body.length()).saturating_add(1);
        let piece = upload.piece(rest.min(PACE_BYTES)).await.map_err(|_| broken_off())?;
        let Some(piece) = piece else { return Ok(()) };
        if body.length() + piece.len() > most_bytes {
            return Err(too_large(most_bytes));
        }
        body.add(piece, gateway.now_ms())?;
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
