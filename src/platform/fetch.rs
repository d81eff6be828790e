//! Outgoing HTTP through the runtime's `fetch`.

use std::pin::pin;

use futures_util::future::select;
use serde_json::{Map, Value, json};
use worker::js_sys::{JSON, Promise, Uint8Array};
use worker::wasm_bindgen::prelude::wasm_bindgen;
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::{JsFuture, spawn_local};
use worker::web_sys::{AbortController, AbortSignal, Response};

use super::byte_stream::ByteReader;
use super::runtime::sleep;
use crate::pipeline::{HttpFault, HttpMethod, HttpRequest, HttpResponse, ResponseBody};

/// How long the end of a body is waited for when everything was said, in milliseconds.
const END_MS: u64 = 1_000;

/// The headers of a response that anyone here looks at: each one is a crossing.
const HEADERS: [&str; 4] = ["x-request-id", "retry-after", "retry-after-ms", "location"];

// `worker` builds requests member by member; each member is a crossing. Here the head of a request
// crosses as one text.
#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_name = fetch)]
    fn fetch_url(url: &str, init: &RequestInit) -> Result<Promise, JsValue>;

    type RequestInit;

    #[wasm_bindgen(method, setter)]
    fn set_body(this: &RequestInit, body: &Uint8Array);

    #[wasm_bindgen(method, setter)]
    fn set_signal(this: &RequestInit, signal: &AbortSignal);
}

/// Sends a request; redirects are not followed.
pub(super) async fn fetch(request: HttpRequest) -> Result<HttpResponse<FetchBody>, HttpFault> {
    let mut headers: Map<String, Value> =
        request.headers.into_iter().map(|(name, value)| (name, value.into())).collect();
    let method = match request.method {
        HttpMethod::Post => {
            headers.insert("Content-Type".to_owned(), "application/json".into());
            "POST"
        }
        HttpMethod::Delete => "DELETE",
    };
    let head = json!({ "method": method, "redirect": "manual", "headers": headers });
    let init: RequestInit =
        JSON::parse(&head.to_string()).map_err(|fault| js_fault(&fault))?.unchecked_into();
    if request.method == HttpMethod::Post {
        init.set_body(&Uint8Array::from(request.body.as_bytes()));
    }
    let controller = AbortController::new().map_err(|fault| js_fault(&fault))?;
    init.set_signal(&controller.signal());
    let abort = AbortOnDrop(Some(controller));
    let sent = fetch_url(&request.url, &init).map_err(|fault| js_fault(&fault))?;
    let response: Response =
        JsFuture::from(sent).await.map_err(|fault| js_fault(&fault))?.unchecked_into();
    // From here on the body is what is given up.
    abort.disarm();
    let headers = response.headers();
    let reader = response.body().as_ref().map(ByteReader::new);
    Ok(HttpResponse {
        status: response.status(),
        headers: HEADERS
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), headers.get(name).ok()??)))
            .collect(),
        body: FetchBody(reader.transpose().map_err(|fault| js_fault(&fault))?),
    })
}

/// A response's body. Dropping it before its end aborts the request.
pub(super) struct FetchBody(Option<ByteReader>);

impl ResponseBody for FetchBody {
    async fn chunk(&mut self, at_least: usize) -> Result<Option<Vec<u8>>, HttpFault> {
        match &mut self.0 {
            Some(reader) => reader.read(at_least).await.map_err(|fault| js_fault(&fault)),
            None => Ok(None),
        }
    }

    fn finish(self) {
        if let Some(mut reader) = self.0
            && !reader.ended()
        {
            spawn_local(async move {
                let end = pin!(reader.read(usize::MAX));
                let patience = pin!(sleep(END_MS));
                select(end, patience).await;
            });
        }
    }
}

/// Aborts the request unless its response has come.
struct AbortOnDrop(Option<AbortController>);

impl AbortOnDrop {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(controller) = self.0.take() {
            controller.abort();
        }
    }
}

fn js_fault(fault: &JsValue) -> HttpFault {
    HttpFault(format!("{fault:?}"))
}
