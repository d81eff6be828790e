//! A request to an object, as the product takes it.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use worker::wasm_bindgen::JsValue;
use worker::web_sys::ReadableStream;

use super::durable_object::http_fault;
use super::gateway::whole_body;
use super::response::runtime_response;
use crate::entry::{ContextSource, RequestHead, Response};
use crate::ports::HttpFault;

thread_local! {
    static SOURCE: Rc<ContextSource> = Rc::default();
}

/// A body that is read when it is waited for.
pub(super) type ObjectBody<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, HttpFault>> + 'a>>;

/// Settings and catalog: one for all objects of an isolate.
pub(super) fn context_source() -> Rc<ContextSource> {
    SOURCE.with(Rc::clone)
}

/// Lets the product respond to a request.
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
    let body = Box::pin(async {
        let body = whole_body(request).await.map_err(|fault| http_fault(&fault))?;
        Ok(body.to_vec())
    });
    let response = product(&head, body).await?;
    Ok(runtime_response(&response)?.into())
}
