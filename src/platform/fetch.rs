//! Outgoing HTTP through the runtime's `fetch`.

use std::future::Future;
use std::pin::{Pin, pin};

use futures_util::future::select;
use serde_json::{Map, Value, json};
use worker::js_sys::JSON;
use worker::wasm_bindgen::{JsCast, JsValue};

use worker::web_sys::{AbortController, ReadableStream, RequestInit, Response};

use super::bindings::fetch::{Splittable, fetch_url};
use super::bindings::streams::IdentityTransformStream;
use super::byte_stream::ByteReader;
use super::clock::sleep;
use super::promise::settled;
use super::request_body::Sending;
use super::task::spawn;
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
    let sending = match request.method {
        HttpMethod::Post => Some(Sending::begin(&init, request.body)?),
        HttpMethod::Delete => None,
    };
    let abort = AbortOnDrop::new()?;
    init.set_signal(Some(&abort.controller.signal()));
    let sent = fetch_url(&request.url, &init)?;
    let response = match sending {
        Some(sending) => sending.response(&sent).await?,
        None => settled(&sent).await?,
    };
    let response: Response = response.unchecked_into();
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
            gathering: None,
            abort,
        },
    })
}

/// A response's body. Dropping it before its end aborts the request.
pub(super) struct FetchBody {
    reading: Reading,
    gathering: Option<Gathering>,
    abort: AbortOnDrop,
}

enum Reading {
    Unread(ReadableStream),
    Begun(ByteReader),
    Ended,
}

/// The runtime's taking of the rest of a body.
enum Gathering {
    UnderWay(Pin<Box<dyn Future<Output = bool>>>),
    /// Whether the whole body came.
    Over(bool),
}

impl ResponseBody for FetchBody {
    async fn chunk(&mut self, at_least: usize) -> Result<Option<Vec<u8>>, HttpFault> {
        if let Reading::Unread(body) = &self.reading {
            self.reading = Reading::Begun(ByteReader::new(body)?);
        }
        let Reading::Begun(reader) = &mut self.reading else { return Ok(None) };
        let read = reader.read(at_least).await;
        if reader.ended() {
            self.reading = Reading::Ended;
            self.abort.armed = false;
        }
        Ok(read?)
    }

    fn gather(&mut self) {
        if self.gathering.is_none() {
            // A body that cannot be split is read as it comes.
            self.gathering = Some(self.begin_gathering().unwrap_or(Gathering::Over(false)));
        }
    }

    async fn gathered(&mut self) -> bool {
        match &mut self.gathering {
            None => std::future::pending().await,
            Some(Gathering::Over(whole)) => *whole,
            Some(Gathering::UnderWay(coming)) => {
                let whole = coming.await;
                self.gathering = Some(Gathering::Over(whole));
                whole
            }
        }
    }

    fn finish(mut self) {
        if !matches!(self.reading, Reading::Ended) {
            spawn(async move {
                let end = pin!(self.chunk(CHUNK_BYTES));
                let patience = pin!(sleep(END_MS));
                select(end, patience).await;
            });
        }
    }
}

impl FetchBody {
    /// Splits the body into the branch that is read and one that the runtime takes by itself. The runtime
    /// keeps for each branch what the other one has had.
    fn begin_gathering(&mut self) -> Result<Gathering, JsValue> {
        let body = match &mut self.reading {
            Reading::Unread(body) => body.clone(),
            Reading::Begun(reader) => reader.release(),
            Reading::Ended => return Ok(Gathering::Over(true)),
        };
        let branches = body.unchecked_ref::<Splittable>().tee()?;
        self.reading = Reading::Unread(branches.get(0).unchecked_into());
        let taken = take_all(branches.get(1).unchecked_ref())?;
        Ok(Gathering::UnderWay(Box::pin(taken)))
    }
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
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if self.armed {
            self.controller.abort();
        }
    }
}

/// Takes a stream to its end, 64 KiB with each read. A pipe takes all that comes: reading the branch itself would hold
/// up the other one.
fn take_all(stream: &Splittable) -> Result<impl Future<Output = bool> + use<>, JsValue> {
    let mut reader = ByteReader::new(&stream.pipe_through(&IdentityTransformStream::new()?)?)?;
    Ok(async move {
        while !reader.ended() {
            if reader.skip(CHUNK_BYTES).await.is_err() {
                return false;
            }
        }
        true
    })
}
