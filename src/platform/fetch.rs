//! Outgoing HTTP through the runtime's `fetch`.

use std::pin::{Pin, pin};

use futures_util::future::select;
use serde_json::{Map, Value, json};
use wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::spawn_local;
use worker::web_sys::{ReadableStream, Response};

use super::bindings::messages::{self, Exchange, response_head, send_bytes};
use super::bindings::streams::{cancel, split};
use super::byte_stream::ByteReader;
use super::clock::{sleep, stepwise};
use super::request_body::{Sending, SentBody};
use crate::ports::{
    CHUNK_BYTES, HttpFault, HttpMethod, HttpRequest, HttpResponse, REQUEST_ID_HEADERS, RequestBody,
    ResponseBody,
};

/// The longest wait for the end of a body after the model service's last event, in milliseconds.
const END_MS: u64 = 1_000;

/// The headers that the product reads of a response that is no success, besides the request's id.
const HEADERS_OF_REFUSAL: &[&str] = &[
    "retry-after",
    "retry-after-ms",
    "llm_provider-retry-after",
    "llm_provider-retry-after-ms",
    "x-should-retry",
    "location",
];

/// Sends a request; redirects are not followed.
pub(super) async fn fetch(
    request: HttpRequest<&dyn RequestBody>,
) -> Result<HttpResponse<FetchBody>, HttpFault> {
    let mut headers: Map<String, Value> =
        request.headers.into_iter().map(|(name, value)| (name, value.into())).collect();
    let method = match request.method {
        HttpMethod::Post => {
            // The catalog may name it, in any case, and the runtime would join both.
            if !headers.keys().any(|name| name.eq_ignore_ascii_case("content-type")) {
                headers.insert("Content-Type".to_owned(), "application/json".into());
            }
            "POST"
        }
        HttpMethod::Get => "GET",
        HttpMethod::Delete => "DELETE",
    };
    let head = json!({ "method": method, "redirect": "manual", "headers": headers }).to_string();
    let url = &request.url;
    let body = Some(request.body).filter(|_| request.method == HttpMethod::Post);
    let (body, sending) = Sending::begin(body)?;
    let exchange = match body {
        SentBody::Whole(bytes) => send_bytes(url, &head, &bytes)?,
        SentBody::Other(body) => messages::send(url, &head, &body)?,
    };
    let sent = exchange.response();
    let abort = AbortOnDrop { exchange, armed: true };
    let response: Response = sending.response(&sent).await?.unchecked_into();
    let names = [REQUEST_ID_HEADERS.as_slice(), request.reads].concat().join("\n");
    let head = response_head(&response, &names, &HEADERS_OF_REFUSAL.join("\n"));
    let mut lines = head.split('\n');
    let status = lines.next().and_then(|status| status.parse().ok()).unwrap_or_default();
    let mut headers = Vec::new();
    let mut has_request_id = false;
    while let (Some(name), Some(value)) = (lines.next(), lines.next()) {
        // Of the headers that can tell the request's id the first one does.
        let is_request_id = REQUEST_ID_HEADERS.contains(&name);
        if !(is_request_id && has_request_id) {
            headers.push((name.to_owned(), value.to_owned()));
        }
        has_request_id |= is_request_id;
    }
    Ok(HttpResponse {
        status,
        headers,
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
    /// The whole body came before any of it was read.
    Whole(Option<Vec<u8>>),
    Ended,
}

/// The runtime's taking of the rest of a body.
enum Gathering {
    UnderWay(Taking),
    /// Whether the whole body came.
    Over(bool),
}

/// The next [`CHUNK_BYTES`] that the runtime takes by itself, or the last ones.
type Taking = Pin<Box<dyn Future<Output = (ByteReader, Result<(), JsValue>)>>>;

impl ResponseBody for FetchBody {
    async fn chunk(&mut self, at_least: usize) -> Result<Option<Vec<u8>>, HttpFault> {
        if let Reading::Unread(body) = &self.reading {
            self.reading = Reading::Begun(ByteReader::new(body)?);
        }
        match &mut self.reading {
            Reading::Begun(reader) => {
                let read = reader.read(at_least).await;
                if reader.ended {
                    self.reading = Reading::Ended;
                    self.abort.armed = false;
                }
                Ok(read?)
            }
            Reading::Whole(bytes) => Ok(bytes.take()),
            Reading::Unread(_) | Reading::Ended => Ok(None),
        }
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
            Some(Gathering::UnderWay(taking)) => {
                let (taken, came) = taking.await;
                if !taken.ended {
                    self.gathering = Some(Gathering::UnderWay(take(taken)));
                    return false;
                }
                if let (Reading::Unread(branch), Ok(())) = (&self.reading, &came) {
                    // The first bytes were the last, so the other branch holds nothing else.
                    cancel(branch);
                    self.reading = Reading::Whole(taken.bytes());
                    self.abort.armed = false;
                }
                self.gathering = Some(Gathering::Over(came.is_ok()));
                came.is_ok()
            }
        }
    }

    fn drain(mut self) {
        match self.reading {
            Reading::Unread(_) | Reading::Begun(_) => spawn_local(stepwise(async move {
                let end = pin!(self.chunk(CHUNK_BYTES));
                let time_out = pin!(sleep(END_MS));
                select(end, time_out).await;
            })),
            Reading::Whole(_) | Reading::Ended => {}
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
            Reading::Whole(_) | Reading::Ended => return Ok(Gathering::Over(true)),
        };
        let split = split(&body)?;
        self.reading = Reading::Unread(split.branch());
        Ok(Gathering::UnderWay(take(split.reader().into())))
    }
}

/// Aborts the request when it is dropped, unless the body has ended.
struct AbortOnDrop {
    exchange: Exchange,
    armed: bool,
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if self.armed {
            self.exchange.abort();
        }
    }
}

fn take(mut from: ByteReader) -> Taking {
    Box::pin(async move {
        let came = from.skip(CHUNK_BYTES).await;
        (from, came)
    })
}
