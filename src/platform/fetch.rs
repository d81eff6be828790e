//! Outgoing HTTP through the runtime's `fetch`.

use std::future::Future;
use std::pin::{Pin, pin};

use futures_util::future::select;
use serde_json::{Map, Value, json};
use worker::js_sys::{JSON, Object, Uint8Array};
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::spawn_local;
use worker::web_sys::{AbortController, ReadableStream, Response};

use super::bindings::fetch::{PipeOptions, Pipeable, RequestInit, fetch_url};
use super::bindings::streams::IdentityTransformStream;
use super::byte_stream::ByteReader;
use super::clock::sleep;
use super::durable_object::http_fault;
use super::promise::{ignore, settled};
use crate::ports::{CHUNK_BYTES, HttpFault, HttpMethod, HttpRequest, HttpResponse, ResponseBody};

/// How long the end of a body is waited for when everything was said, in milliseconds.
const END_MS: u64 = 1_000;

/// The headers of a response that anyone here looks at: each one is a crossing.
const HEADERS: &[&str] =
    &["x-request-id", "retry-after", "retry-after-ms", "x-should-retry", "location"];

/// Those of a success, which neither sends away nor asks to wait.
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
    let init: RequestInit =
        JSON::parse(&head.to_string()).map_err(|fault| http_fault(&fault))?.unchecked_into();
    if request.method == HttpMethod::Post {
        init.set_body(&Uint8Array::from(request.body.as_bytes()));
    }
    let abort = AbortOnDrop::new().map_err(|fault| http_fault(&fault))?;
    init.set_signal(&abort.controller.signal());
    let sent = fetch_url(&request.url, &init).map_err(|fault| http_fault(&fault))?;
    let response: Response =
        settled(&sent).await.map_err(|fault| http_fault(&fault))?.unchecked_into();
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
    /// Everything came at once.
    Whole(Option<Vec<u8>>),
    Ended,
}

/// The second branch of a body, and whether a chunk of it has come.
type Arrival = Pin<Box<dyn Future<Output = (ByteReader, Result<(), JsValue>)>>>;

impl ResponseBody for FetchBody {
    async fn chunk(&mut self, at_least: usize) -> Result<Option<Vec<u8>>, HttpFault> {
        if let Reading::Unread(body) = &self.reading {
            self.reading =
                Reading::Begun(ByteReader::new(body).map_err(|fault| http_fault(&fault))?);
        }
        match &mut self.reading {
            Reading::Begun(reader) => {
                let read = reader.read(at_least).await;
                if reader.ended() {
                    self.reading = Reading::Ended;
                    self.abort.armed = false;
                }
                read.map_err(|fault| http_fault(&fault))
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
            // The first chunk was the last, and the other branch has nothing else.
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

/// Aborts the request, unless there is nothing to abort any more.
struct AbortOnDrop {
    controller: AbortController,
    armed: bool,
}

impl AbortOnDrop {
    fn new() -> Result<Self, JsValue> {
        Ok(Self { controller: AbortController::new()?, armed: true })
    }

    /// Splits a body that nobody reads yet: into one to be read, which the runtime keeps until then
    /// whatever becomes of the connection, and one that is awaited.
    fn split(&self, body: &ReadableStream) -> Result<(ReadableStream, ByteReader), JsValue> {
        let branches = body.unchecked_ref::<Pipeable>().tee()?;
        let (to_read, to_await): (ReadableStream, Pipeable) =
            (branches.get(0).unchecked_into(), branches.get(1).unchecked_into());
        let options: PipeOptions = Object::new().unchecked_into();
        options.set_abort(&self.controller.signal());
        // Awaiting the branch itself would hold up the other one; a pipe takes what comes.
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
