//! The product's responses as the runtime's.

use serde_json::{Map, Value, json};
use wasm_bindgen::JsValue;
use worker::wasm_bindgen_futures::spawn_local;
use worker::web_sys::{self, ReadableStream};

use super::bindings::messages::{self, respond_bytes};
use super::bindings::streams::{BodyWriter, pipe};
use super::clock::stepwise;
use super::promise::settled;
use crate::entry::{Body, Header, Response, SessionStream};
use crate::ports::{Database, Platform};

/// The runtime's response with the same status, headers and body.
pub(super) fn runtime_response(
    response: &Response<ReadableStream>,
) -> Result<web_sys::Response, JsValue> {
    let headers = members(&response.headers);
    let head = json!({ "status": response.status, "headers": headers }).to_string();
    match &response.body {
        Body::Empty => messages::respond(&head, &JsValue::UNDEFINED),
        Body::Json(text) => respond_bytes(&head, text.as_bytes()),
        Body::Stream(stream) => messages::respond(&head, stream),
    }
}

/// A response that is a text, to another object of the deployment.
pub(super) fn text_response(status: u16, text: &str) -> Result<web_sys::Response, JsValue> {
    respond_bytes(&json!({ "status": status, "headers": {} }).to_string(), text.as_bytes())
}

/// A copy of a response with more headers. The headers of an object's response are immutable.
pub(super) fn with_headers(
    response: web_sys::Response,
    headers: &[Header],
) -> Result<web_sys::Response, JsValue> {
    if headers.is_empty() {
        return Ok(response);
    }
    messages::with_headers(&response, &Value::from(members(headers)).to_string())
}

fn members(headers: &[Header]) -> Map<String, Value> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into())).collect()
}

/// A stream of chunks. The next chunk is made when the one before has been taken.
pub(super) fn readable<P: Platform, D: Database + 'static>(
    stream: SessionStream<P, D>,
) -> Result<ReadableStream, JsValue> {
    let writer = pipe()?;
    let readable = writer.readable();
    // The task serves one watcher; the turn goes on without it.
    spawn_local(stepwise(send(stream, writer)));
    Ok(readable)
}

async fn send<P: Platform, D: Database>(mut stream: SessionStream<P, D>, writer: BodyWriter) {
    let ending = loop {
        match stream.next_chunk().await {
            Ok(Some(chunk)) => {
                if settled(&writer.write(chunk.as_bytes())).await.is_err() {
                    return;
                }
            }
            Ok(None) => break writer.finish(),
            // A document that breaks off must not look whole.
            Err(fault) => break writer.break_off(fault.code.as_str()),
        }
    };
    // Closing fails when the reader is gone, and then nothing is left to do.
    let _ = settled(&ending).await;
}
