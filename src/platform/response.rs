//! The product's responses as the runtime's.

use serde::Serialize;
use serde_json::{Map, Value};
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::Uint8Array;
use worker::wasm_bindgen_futures::spawn_local;
use worker::web_sys::{self, ReadableStream, ResponseInit, WritableStreamDefaultWriter};

use super::bindings::streams::IdentityTransformStream;
use super::promise::settled;
use super::values::to_js;
use crate::entry::{Body, Header, Response, SessionStream};
use crate::ports::{Database, Platform};

/// A `ResponseInit`.
#[derive(Serialize)]
struct Head {
    status: u16,
    headers: Map<String, Value>,
}

/// The runtime's response with the same status, headers and body.
pub(super) fn runtime_response(
    response: &Response<ReadableStream>,
) -> Result<web_sys::Response, JsValue> {
    let headers: Map<String, Value> = response
        .headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.as_str().into()))
        .collect();
    let head = Head { status: response.status, headers };
    let init: ResponseInit = to_js(&head)?.unchecked_into();
    match &response.body {
        Body::Empty => web_sys::Response::new_with_opt_str_and_init(None, &init),
        Body::Json(text) => web_sys::Response::new_with_opt_str_and_init(Some(text), &init),
        Body::Stream(stream) => {
            web_sys::Response::new_with_opt_readable_stream_and_init(Some(stream), &init)
        }
    }
}

/// A copy of a response with more headers. The headers of an object's response are immutable.
pub(super) fn with_headers(
    response: web_sys::Response,
    headers: &[Header],
) -> Result<web_sys::Response, JsValue> {
    if headers.is_empty() {
        return Ok(response);
    }
    let copy = web_sys::Response::new_with_opt_readable_stream_and_init(
        response.body().as_ref(),
        response.unchecked_ref::<ResponseInit>(),
    )?;
    for (name, value) in headers {
        copy.headers().set(name, value)?;
    }
    Ok(copy)
}

/// A stream of chunks. The next chunk is made when the one before has been taken.
pub(super) fn readable<P: Platform, D: Database + 'static>(
    stream: SessionStream<P, D>,
) -> Result<ReadableStream, JsValue> {
    let pipe = IdentityTransformStream::new()?;
    let writer = pipe.writable().get_writer()?;
    // The task serves one watcher; the turn goes on without it.
    spawn_local(send(stream, writer));
    Ok(pipe.readable())
}

async fn send<P: Platform, D: Database>(
    mut stream: SessionStream<P, D>,
    writer: WritableStreamDefaultWriter,
) {
    let ending = loop {
        match stream.next_chunk().await {
            Ok(Some(chunk)) => {
                let bytes = Uint8Array::from(chunk.as_bytes());
                if settled(&writer.write_with_chunk(&bytes)).await.is_err() {
                    return;
                }
            }
            Ok(None) => break writer.close(),
            // A document that breaks off must not look whole.
            Err(fault) => break writer.abort_with_reason(&JsValue::from_str(fault.code.as_str())),
        }
    };
    // Closing fails when the reader is gone, and then nothing is left to do.
    let _ = settled(&ending).await;
}
