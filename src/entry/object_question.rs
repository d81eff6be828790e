//! What one object asks another, and its reply, as JSON. No client can ask it: an object looks for a question first, and
//! whatever is none is a request.

use std::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::response::{Response, object_failed};
use crate::contract::{ErrorCode, Fault};
use crate::ports::HttpFault;

/// Reads a question.
pub(super) async fn read<Q: DeserializeOwned>(
    body: impl Future<Output = Result<Vec<u8>, HttpFault>>,
) -> Result<Q, Fault> {
    let body = body.await.map_err(|_| object_failed())?;
    serde_json::from_slice(&body)
        .map_err(|_| Fault::internal("Another object's question is unreadable."))
}

/// The response that carries a reply.
pub(super) fn reply<S>(reply: &impl Serialize) -> Result<Response<S>, Fault> {
    Ok(Response::json(200, text_of(reply)?))
}

/// A question or a reply as JSON.
pub(super) fn text_of(value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|_| Fault::unwritable("What an object asks or replies"))
}

/// `not_found` for what another class of object answers.
pub(super) fn answered_elsewhere() -> Fault {
    Fault::new(ErrorCode::NotFound, "This is answered elsewhere.")
}
