//! Outgoing HTTP through the runtime's `fetch`.

use std::future::Future;
use std::pin::{Pin, pin};

use futures_util::future::select;
use serde_json::{Map, Value, json};
use worker::js_sys::{JSON, Object, Uint8Array};
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::spawn_local;
use worker::web_sys::{AbortController, ReadableStream, RequestInit, Response};

use super::bindings::fetch::{PipeOptions, Pipeable, fetch_url};
use super::bindings::streams::IdentityTransformStream;
use super::byte_stream::ByteReader;
use super::clock::sleep;
use super::promise::{ignore, settled};
use crate::ports::{CHUNK_BYTES, HttpFault, HttpMethod, HttpRequest, HttpResponse, ResponseBody};

/// The longest wait for the end of a body after the model service's last event, in milliseconds.
const END_MS: u64 = 1_000;

/// The headers that the product reads. Each read is a call into JavaScript.
const HEADERS: &[&str] =
    &["x-request-id", "retry-after", "retry-after-ms", "x-should-retry", "location"];

/// The headers that matter on a success, which neither redirects nor asks to wait. Reading all of them
/// costs a short turn up to 8 % of its processor time (`make bench ONLY=json`).
const HEADERS_OF_SUCCESS: &[&str] = &["x-request-id"];

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
    let init: RequestInit = JSON::parse(&head.to_string())?.unchecked_into();
    if request.method == HttpMethod::Post {
        init.set_body(&Uint8Array::from(request.body.as_bytes()));
    }
    let abort = AbortOnDrop::new()?;
    init.set_signal(Some(&abort.controller.signal()));
    let sent = fetch_url(&request.url, &init)?;
    let response: Response = settled(&sent).await?.unchecked_into();
    let (status, headers) = (response.status(), response.headers());
    let looked_at = if (200..300).contains(&status) { HEADERS_OF_SUCCESS } else { HEADERS };
    Ok(HttpResponse {
        status,
        headers: looked_at
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), headers.get(name).ok()??)))
            .collect(),
        body: FetchBody {
            reading: response.body().map_or(Reading::Ended, Reading::Unread),
            arrival: None,
            abort,
        },
    })
}

/// A response's body. Dropping it before its end aborts the request.
pub(super) struct FetchBody {
    reading: Reading,
    arrival: Option<Arrival>,
    abort: AbortOnDrop,
}

enum Reading {
    Unread(ReadableStream),
    Begun(ByteReader),
    /// The whole body arrived before it was read.
    Whole(Option<Vec<u8>>),
    Ended,
}

/// The next chunk of a body's second branch.
type Arrival = Pin<Box<dyn Future<Output = (ByteReader, Result<(), JsValue>)>>>;

impl ResponseBody for FetchBody {
    async fn chunk(&mut self, at_least: usize) -> Result<Option<Vec<u8>>, HttpFault> {
        if let Reading::Unread(body) = &self.reading {
            self.reading = Reading::Begun(ByteReader::new(body)?);
        }
        match &mut self.reading {
            Reading::Begun(reader) => {
                let read = reader.read(at_least).await;
                if reader.ended() {
                    self.reading = Reading::Ended;
                    self.abort.armed = false;
                }
                Ok(read?)
            }
            Reading::Whole(bytes) => {
                let bytes = bytes.take();
                self.reading = Reading::Ended;
                Ok(bytes)
            }
            Reading::Unread(_) | Reading::Ended => Ok(None),
        }
    }

    async fn arrived(&mut self) -> bool {
        if let (None, Reading::Unread(body)) = (&self.arrival, &self.reading) {
            let Ok((to_read, to_await)) = self.abort.split(body) else { return false };
            self.reading = Reading::Unread(to_read);
            self.arrival = Some(arrival(to_await));
        }
        let Some(coming) = &mut self.arrival else { return false };
        let (reader, come) = coming.await;
        self.arrival = None;
        if !reader.ended() {
            self.arrival = Some(arrival(reader));
            return false;
        }
        if come.is_err() {
            return false;
        }
        if let Reading::Unread(other) = &self.reading {
            // The first chunk was the last, so the other branch holds nothing else.
            ignore(&other.cancel());
            self.reading = Reading::Whole(reader.bytes());
            self.abort.armed = false;
        }
        true
    }

    fn attend(&mut self) {
        self.arrival = None;
    }

    fn finish(mut self) {
        self.attend();
        if !matches!(self.reading, Reading::Ended) {
            spawn_local(async move {
                let end = pin!(self.chunk(CHUNK_BYTES));
                let patience = pin!(sleep(END_MS));
                select(end, patience).await;
            });
        }
    }
}

fn arrival(mut reader: ByteReader) -> Arrival {
    Box::pin(async move {
        let come = reader.skip(CHUNK_BYTES).await;
        (reader, come)
    })
}

/// Aborts the request when it is dropped, unless the body has ended.
struct AbortOnDrop {
    controller: AbortController,
    armed: bool,
}

impl AbortOnDrop {
    fn new() -> Result<Self, JsValue> {
        Ok(Self { controller: AbortController::new()?, armed: true })
    }

    /// Splits a body into two branches: one to be read later, which the runtime buffers, and one whose
    /// arrival is awaited now.
    fn split(&self, body: &ReadableStream) -> Result<(ReadableStream, ByteReader), JsValue> {
        let branches = body.unchecked_ref::<Pipeable>().tee()?;
        let (to_read, to_await): (ReadableStream, Pipeable) =
            (branches.get(0).unchecked_into(), branches.get(1).unchecked_into());
        let options: PipeOptions = Object::new().unchecked_into();
        options.set_abort(&self.controller.signal());
        // Reading the second branch slowly would hold up the first one; a pipe takes all that comes.
        let piped = to_await.pipe_through(&IdentityTransformStream::new()?, &options)?;
        Ok((to_read, ByteReader::new(&piped)?))
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if self.armed {
            self.controller.abort();
        }
    }
}
