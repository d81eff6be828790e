//! A request to an object, in the form that `crate::entry` takes.

use std::pin::Pin;
use std::rc::Rc;

use wasm_bindgen::JsValue;
use worker::js_sys::Error;
use worker::web_sys::{self, ReadableStream};

use super::clock::stepwise;
use super::received_body::ReceivedBody;
use super::request_head::ReceivedHead;
use super::response::{runtime_response, text_response};
use crate::entry::{IsolateSettings, RequestHead, Response};
use crate::ports::{CALLER, HttpFault, OTHER_VERSION_STATUS, caller_in_protocol};

thread_local! {
    static SOURCE: Rc<IsolateSettings> = Rc::default();
}

/// A body that is read when it is awaited.
pub(super) type ObjectBody<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, HttpFault>> + 'a>>;

/// The settings and the catalog, one source for all objects of an isolate.
pub(super) fn context_source() -> Rc<IsolateSettings> {
    SOURCE.with(Rc::clone)
}

/// Sends what an object replies to a question that it alone answers. Whoever asks has to speak the protocol of this
/// version; the other objects look at it where they read who asks.
pub(super) async fn reply(
    request: web_sys::Request,
    product: impl AsyncFnOnce(&str) -> String,
) -> Result<web_sys::Response, JsValue> {
    stepwise(async {
        let head = ReceivedHead::of(&request);
        if head.header(CALLER).and_then(caller_in_protocol).is_none() {
            return text_response(OTHER_VERSION_STATUS, "");
        }
        let question =
            body_of(&request, &head).await.map_err(|fault| Error::new(&fault.to_string()))?;
        let question = String::from_utf8_lossy(&question);
        text_response(200, &product(&question).await)
    })
    .await
}

/// Sends what the product responds to a request.
pub(super) async fn respond(
    request: web_sys::Request,
    product: impl AsyncFnOnce(
        &RequestHead<'_>,
        ObjectBody<'_>,
    ) -> Result<Response<ReadableStream>, JsValue>,
) -> Result<web_sys::Response, JsValue> {
    stepwise(async {
        let received = ReceivedHead::of(&request);
        let header = |name: &str| received.header(name).map(str::to_owned);
        let head = RequestHead { method: received.method(), url: received.url(), header: &header };
        let body = Box::pin(body_of(&request, &received));
        let response = product(&head, body).await?;
        runtime_response(&response)
    })
    .await
}

async fn body_of(request: &web_sys::Request, head: &ReceivedHead) -> Result<Vec<u8>, HttpFault> {
    match ReceivedBody::of(request, head)? {
        Some(body) => body.whole().await,
        None => Ok(Vec::new()),
    }
}
