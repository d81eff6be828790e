//! A request to an object, in the form that `crate::entry` takes.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use wasm_bindgen::JsValue;
use worker::web_sys::{ReadableStream, Request};

use super::byte_stream::ByteReader;
use super::response::runtime_response;
use crate::entry::{ContextSource, RequestHead, Response};
use crate::ports::{CHUNK_BYTES, HttpFault};

thread_local! {
    static SOURCE: Rc<ContextSource> = Rc::default();
}

/// A body that is read when it is awaited.
pub(super) type ObjectBody<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, HttpFault>> + 'a>>;

/// The settings and the catalog, one source for all objects of an isolate.
pub(super) fn context_source() -> Rc<ContextSource> {
    SOURCE.with(Rc::clone)
}

/// Sends what the product responds to a request.
pub(super) async fn respond(
    request: worker::Request,
    product: impl AsyncFnOnce(
        &RequestHead<'_>,
        ObjectBody<'_>,
    ) -> Result<Response<ReadableStream>, JsValue>,
) -> worker::Result<worker::Response> {
    let request = request.inner();
    let (method, url, headers) = (request.method(), request.url(), request.headers());
    let header = |name: &str| headers.get(name).ok().flatten();
    let head = RequestHead { method: &method, url: &url, header: &header };
    let body = Box::pin(async { Ok(whole_body(request).await?) });
    let response = product(&head, body).await?;
    Ok(runtime_response(&response)?.into())
}

/// A whole body. It stands in this module's memory alone, and but for a moment only once.
async fn whole_body(request: &Request) -> Result<Vec<u8>, JsValue> {
    let Some(stream) = request.body() else { return Ok(Vec::new()) };
    let mut reader = ByteReader::new(&stream)?;
    let mut pieces = Vec::new();
    while !reader.ended() {
        pieces.extend(reader.read(CHUNK_BYTES).await?);
    }
    match pieces.len() {
        1 => Ok(pieces.pop().unwrap_or_default()),
        _ => Ok(pieces.concat()),
    }
}
