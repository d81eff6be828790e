//! A request to an object, in the form that `crate::entry` takes.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use wasm_bindgen::JsValue;
use worker::web_sys::ReadableStream;

use super::received_body::ReceivedBody;
use super::response::runtime_response;
use crate::entry::{ContextSource, RequestHead, Response};
use crate::ports::{CALLER, HttpFault, caller_in_protocol};

thread_local! {
    static SOURCE: Rc<ContextSource> = Rc::default();
}

/// A body that is read when it is awaited.
pub(super) type ObjectBody<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, HttpFault>> + 'a>>;

/// The settings and the catalog, one source for all objects of an isolate.
pub(super) fn context_source() -> Rc<ContextSource> {
    SOURCE.with(Rc::clone)
}

/// Whether whoever asks speaks the protocol of this version. For objects that answer questions alone; the others look at it
/// where they read who asks.
pub(super) fn is_of_this_version(request: &worker::Request) -> bool {
    let sent = request.headers().get(CALLER).ok().flatten();
    sent.is_some_and(|sent| caller_in_protocol(&sent).is_some())
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
    let body = Box::pin(async {
        match ReceivedBody::of(request, &headers)? {
            Some(body) => body.whole().await,
            None => Ok(Vec::new()),
        }
    });
    let response = product(&head, body).await?;
    Ok(runtime_response(&response)?.into())
}
