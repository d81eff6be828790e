//! Outgoing HTTP through the runtime's `fetch`.

use std::pin::pin;

use futures_util::future::select;
use serde_json::{Map, Value, json};
use worker::js_sys::{Array, JSON, Object, Promise, Uint8Array};
use worker::wasm_bindgen::prelude::wasm_bindgen;
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::{JsFuture, spawn_local};
use worker::web_sys::{AbortController, AbortSignal, ReadableStream, Response};

use super::byte_stream::ByteReader;
use super::event_stream::IdentityTransformStream;
use super::runtime::sleep;
use crate::pipeline::{
    CHUNK_BYTES, HttpFault, HttpMethod, HttpRequest, HttpResponse, ResponseBody,
};

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

    /// A body that is split or piped by the runtime.
    type Pipeable;

    #[wasm_bindgen(method, catch)]
    fn tee(this: &Pipeable) -> Result<Array, JsValue>;

    #[wasm_bindgen(method, catch, js_name = pipeThrough)]
    fn pipe_through(
        this: &Pipeable,
        pipe: &IdentityTransformStream,
        options: &PipeOptions,
    ) -> Result<ReadableStream, JsValue>;

    type PipeOptions;

    #[wasm_bindgen(method, setter, js_name = signal)]
    fn set_abort(this: &PipeOptions, signal: &AbortSignal);
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
    let abort = AbortOnDrop(Some(AbortController::new().map_err(|fault| js_fault(&fault))?));
    if let Some(controller) = &abort.0 {
        init.set_signal(&controller.signal());
    }
    let sent = fetch_url(&request.url, &init).map_err(|fault| js_fault(&fault))?;
    let response: Response =
        JsFuture::from(sent).await.map_err(|fault| js_fault(&fault))?.unchecked_into();
    let headers = response.headers();
    Ok(HttpResponse {
        status: response.status(),
        headers: HEADERS
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), headers.get(name).ok()??)))
            .collect(),
        body: FetchBody {
            reading: response.body().map_or(Reading::Ended, Reading::Unread),
            taken: 0,
            arrival: None,
            abort,
        },
    })
}

/// A response's body. Dropping it before its end aborts the request.
pub(super) struct FetchBody {
    reading: Reading,
    /// How much of it was read, in bytes.
    taken: u32,
    /// Settles with all of it, or when the connection broke.
    arrival: Option<Promise>,
    abort: AbortOnDrop,
}

enum Reading {
    Unread(ReadableStream),
    Begun(ByteReader),
    /// What was not read yet.
    Arrived(Uint8Array),
    Ended,
}

impl ResponseBody for FetchBody {
    async fn chunk(&mut self, at_least: usize) -> Result<Option<Vec<u8>>, HttpFault> {
        if let Reading::Unread(body) = &self.reading {
            self.reading = Reading::Begun(ByteReader::new(body).map_err(|fault| js_fault(&fault))?);
        }
        let read = match &mut self.reading {
            Reading::Begun(reader) => {
                let read = reader.read(at_least).await;
                if reader.ended() {
                    self.end();
                }
                read.map_err(|fault| js_fault(&fault))?
            }
            Reading::Arrived(rest) if rest.length() > 0 => {
                let chunk = rest.subarray(0, CHUNK_BYTES as u32);
                *rest = rest.subarray(chunk.length(), rest.length());
                Some(chunk.to_vec())
            }
            Reading::Unread(_) | Reading::Arrived(_) | Reading::Ended => None,
        };
        self.taken += read.as_ref().map_or(0, Vec::len) as u32;
        Ok(read)
    }

    async fn arrived(&mut self) -> bool {
        if let (None, Reading::Unread(body)) = (&self.arrival, &self.reading) {
            let Ok((to_read, arrival)) = self.abort.split(body) else { return false };
            self.reading = Reading::Unread(to_read);
            self.arrival = Some(arrival);
        }
        let Some(arrival) = &self.arrival else { return false };
        let Ok(whole) = JsFuture::from(arrival.clone()).await else { return false };
        let whole = Uint8Array::new(&whole);
        self.end();
        self.reading = Reading::Arrived(whole.subarray(self.taken, whole.length()));
        true
    }

    fn finish(mut self) {
        if matches!(self.reading, Reading::Unread(_) | Reading::Begun(_)) {
            spawn_local(async move {
                let end = pin!(self.chunk(usize::MAX));
                let patience = pin!(sleep(END_MS));
                select(end, patience).await;
            });
        }
    }
}

impl FetchBody {
    /// There is nothing to abort any more.
    fn end(&mut self) {
        self.abort.0 = None;
        if let Reading::Unread(body) = std::mem::replace(&mut self.reading, Reading::Ended) {
            // It is not to be kept for anybody.
            drop(body.cancel());
        }
    }
}

/// Aborts the request, unless there is nothing to abort any more.
struct AbortOnDrop(Option<AbortController>);

impl AbortOnDrop {
    /// Splits a body that nobody reads yet: into one to be read, which the runtime keeps until then
    /// whatever becomes of the connection, and the promise of its arrival.
    fn split(&self, body: &ReadableStream) -> Result<(ReadableStream, Promise), JsValue> {
        let branches = body.unchecked_ref::<Pipeable>().tee()?;
        let (to_read, to_await): (ReadableStream, Pipeable) =
            (branches.get(0).unchecked_into(), branches.get(1).unchecked_into());
        let options: PipeOptions = Object::new().unchecked_into();
        if let Some(controller) = &self.0 {
            options.set_abort(&controller.signal());
        }
        // Awaiting the branch itself would hold up the other one; a pipe takes what comes.
        let piped = to_await.pipe_through(&IdentityTransformStream::new()?, &options)?;
        let whole = Response::new_with_opt_readable_stream(Some(&piped))?.array_buffer()?;
        Ok((to_read, whole))
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
