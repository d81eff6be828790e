//! The runtime's responses, made of the product's.

use std::collections::BTreeMap;

use serde_json::json;
use worker::js_sys::{JSON, Uint8Array};
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::spawn_local;
use worker::web_sys::{self, ReadableStream, ResponseInit, WritableStreamDefaultWriter};

use super::bindings::streams::IdentityTransformStream;
use super::promise::settled;
use crate::entry::{Body, Header, Response, SessionStream};
use crate::ports::{Database, Platform};

/// A response whose stream the runtime can send by itself.
pub(super) fn runtime_response(
    response: &Response<ReadableStream>,
) -> Result<web_sys::Response, JsValue> {
    let headers: BTreeMap<&str, &str> =
        response.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let init = json!({ "status": response.status, "headers": headers }).to_string();
    let init: ResponseInit = JSON::parse(&init)?.unchecked_into();
    match &response.body {
        Body::Empty => web_sys::Response::new_with_opt_str_and_init(None, &init),
        Body::Json(text) => web_sys::Response::new_with_opt_str_and_init(Some(text), &init),
        Body::Stream(stream) => {
            web_sys::Response::new_with_opt_readable_stream_and_init(Some(stream), &init)
        }
    }
}

/// The same response with more headers. Those of a response that came from an object cannot be
/// changed in place.
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

/// A stream whose chunks are written one after the other, each when the one before was taken.
pub(super) fn readable<P: Platform, D: Database + 'static>(
    stream: SessionStream<P, D>,
) -> Result<ReadableStream, JsValue> {
    let pipe = IdentityTransformStream::new()?;
    let writer = pipe.writable().get_writer()?;
    // The watcher's task has no part in the turn: when it ends, only the watcher is gone.
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
            // A document that is not whole must not look like one.
            Err(fault) => break writer.abort_with_reason(&JsValue::from_str(fault.code.as_str())),
        }
    };
    // Closing a stream whose reader is gone fails; there is nobody to tell.
    let _ = settled(&ending).await;
}
