//! The body of a request that this Worker sends: a short one as a whole, a long one piece by piece, so that the
//! runtime's memory never holds all of it.

use std::pin::pin;

use futures_util::future::{Either, select};
use wasm_bindgen::JsValue;
use worker::js_sys::Promise;

use super::bindings::streams::{BodyWriter, pipe_of_length};
use super::promise::{ignore, settled};
use crate::ports::RequestBody;

/// The longest body that is sent as a whole, and the longest piece. Each piece is a wait for the runtime.
const PIECE_BYTES: usize = 256 * 1024;

/// What a request is sent with.
pub(super) enum SentBody {
    Whole(Vec<u8>),
    /// A stream; `undefined` without a body.
    Other(JsValue),
}

/// What is still to be sent of a body.
pub(super) struct Sending<B>(Option<(BodyWriter, B)>);

impl<B: RequestBody> Sending<B> {
    /// What the request is sent with, and what is to be sent after it.
    pub(super) fn begin(body: Option<B>) -> Result<(SentBody, Self), JsValue> {
        let Some(body) = body else { return Ok((SentBody::Other(JsValue::UNDEFINED), Self(None))) };
        if body.length() <= PIECE_BYTES {
            let mut whole = body.piece(0, PIECE_BYTES).ok_or_else(cannot_be_read)?;
            while whole.len() < body.length() {
                let next = body.piece(whole.len(), PIECE_BYTES).filter(|next| !next.is_empty());
                whole.append(&mut next.ok_or_else(cannot_be_read)?);
            }
            return Ok((SentBody::Whole(whole), Self(None)));
        }
        // The request announces this length.
        let pipe = pipe_of_length(body.length() as f64, PIECE_BYTES as u32)?;
        Ok((SentBody::Other(pipe.readable().into()), Self(Some((pipe, body)))))
    }

    /// Waits for the response, and sends what is still to be sent.
    pub(super) async fn response(self, sent: &Promise) -> Result<JsValue, JsValue> {
        let Some((writer, body)) = self.0 else { return settled(sent).await };
        // A response that comes before the end of the body does not depend on the rest.
        match select(pin!(settled(sent)), pin!(send(writer, body))).await {
            Either::Left((response, _)) => response,
            Either::Right((Ok(()), response)) => response.await,
            Either::Right((Err(fault), _)) => {
                // Nobody waits for the response any more.
                ignore(sent);
                Err(fault)
            }
        }
    }
}

/// Sends a body. The response says whether the service took it; a fault means that it cannot be read.
async fn send(writer: BodyWriter, body: impl RequestBody) -> Result<(), JsValue> {
    let mut from = 0;
    while from < body.length() {
        let piece = body.piece(from, PIECE_BYTES).filter(|piece| !piece.is_empty());
        let Some(piece) = piece else {
            ignore(&writer.break_off("The body cannot be read."));
            return Err(cannot_be_read());
        };
        from += piece.len();
        if settled(&writer.write(&piece)).await.is_err() {
            return Ok(());
        }
    }
    drop(body);
    let _ = settled(&writer.finish()).await;
    Ok(())
}

fn cannot_be_read() -> JsValue {
    JsValue::from_str("The request's body cannot be read.")
}
