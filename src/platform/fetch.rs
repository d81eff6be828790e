//! Outgoing HTTP through the runtime's `fetch`.

use worker::js_sys::Uint8Array;
use worker::wasm_bindgen::prelude::wasm_bindgen;
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::ReadableStreamDefaultReader;
use worker::{
    AbortController, Fetch, Headers, Method, Request, RequestInit, RequestRedirect,
    ResponseBody as RuntimeBody,
};

use crate::pipeline::{HttpFault, HttpMethod, HttpRequest, HttpResponse, ResponseBody};

/// The headers of a response that anyone here looks at: each one is a crossing.
const HEADERS: [&str; 4] = ["x-request-id", "retry-after", "retry-after-ms", "location"];

/// Sends a request; redirects are not followed.
pub(super) async fn fetch(request: HttpRequest) -> Result<HttpResponse<FetchBody>, HttpFault> {
    let headers = Headers::new();
    for (name, value) in &request.headers {
        headers.set(name, value).map_err(worker_fault)?;
    }
    let mut init = RequestInit::new();
    match request.method {
        HttpMethod::Post => {
            headers.set("Content-Type", "application/json").map_err(worker_fault)?;
            init.with_method(Method::Post).with_body(Some(JsValue::from_str(&request.body)));
        }
        HttpMethod::Delete => {
            init.with_method(Method::Delete);
        }
    }
    init.with_headers(headers).with_redirect(RequestRedirect::Manual);
    let outgoing = Request::new_with_init(&request.url, &init).map_err(worker_fault)?;
    let abort = AbortOnDrop(Some(AbortController::default()));
    let signal = abort.0.as_ref().map(AbortController::signal);
    let sent = match &signal {
        Some(signal) => Fetch::Request(outgoing).send_with_signal(signal).await,
        None => Fetch::Request(outgoing).send().await,
    };
    let response = sent.map_err(worker_fault)?;
    let reader = match response.body() {
        RuntimeBody::Stream(stream) => Some(
            stream
                .get_reader()
                .dyn_into()
                .map_err(|_| HttpFault("The body has no reader.".to_owned()))?,
        ),
        RuntimeBody::Empty | RuntimeBody::Body(_) => None,
    };
    Ok(HttpResponse {
        status: response.status_code(),
        headers: HEADERS
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), response.headers().get(name).ok()??)))
            .collect(),
        body: FetchBody { reader, _abort: abort },
    })
}

#[wasm_bindgen]
extern "C" {
    /// What a stream's reader gives.
    type ReadResult;

    #[wasm_bindgen(method, getter)]
    fn done(this: &ReadResult) -> bool;

    #[wasm_bindgen(method, getter)]
    fn value(this: &ReadResult) -> Option<Uint8Array>;
}

/// A response's body. Dropping it aborts the request.
pub(super) struct FetchBody {
    reader: Option<ReadableStreamDefaultReader>,
    _abort: AbortOnDrop,
}

impl ResponseBody for FetchBody {
    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, HttpFault> {
        let Some(reader) = &self.reader else { return Ok(None) };
        let read = JsFuture::from(reader.read()).await.map_err(|fault| js_fault(&fault))?;
        let read: ReadResult = read.unchecked_into();
        Ok(if read.done() { None } else { read.value().map(|chunk| chunk.to_vec()) })
    }
}

/// Aborts the request unless it ended.
struct AbortOnDrop(Option<AbortController>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(controller) = self.0.take() {
            controller.abort();
        }
    }
}

fn worker_fault(fault: worker::Error) -> HttpFault {
    // The error's own text is a category only; its sources say what happened.
    let mut text = fault.to_string();
    let mut source = std::error::Error::source(&fault);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    HttpFault(text)
}

fn js_fault(fault: &JsValue) -> HttpFault {
    HttpFault(format!("{fault:?}"))
}
