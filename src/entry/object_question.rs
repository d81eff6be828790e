//! How an object reads what another one asks, and replies. No client can ask it: an object looks for a question first, and
//! whatever is none is a request.

use super::request::ArrivingBody;
use super::response::{Response, object_failed};
use crate::contract::{ErrorCode, Fault, Result, json_text};
use crate::object::Question;

/// Reads a question.
pub(super) async fn read<Q: Question>(body: impl ArrivingBody) -> Result<Q> {
    let body = body.await.map_err(|_| object_failed())?;
    serde_json::from_slice(&body)
        .map_err(|_| Fault::internal("Another object's question is unreadable."))
}

/// The response that carries the reply to a question.
pub(super) fn reply<Q: Question, S>(reply: &Q::Reply) -> Result<Response<S>> {
    Ok(Response::json(200, json_text("What an object replies", reply)?))
}

/// `not_found` for what another class of object answers.
pub(super) fn answered_elsewhere() -> Fault {
    Fault::new(ErrorCode::NotFound, "This is answered elsewhere.")
}
