//! Outgoing HTTP through the runtime's `fetch`.

use std::future::Future;
use std::pin::{Pin, pin};

use futures_util::future::select;
use serde::Serialize;
use serde_json::{Map, Value};
use wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::spawn_local;
use worker::web_sys::{AbortController, ReadableStream, RequestInit, Response};

use super::bindings::fetch::{Splittable, fetch_url};
use super::bindings::streams::IdentityTransformStream;
use super::byte_stream::ByteReader;
use super::clock::sleep;
use super::promise::{ignore, settled};
use super::request_body::Sending;
use super::values::to_js;
use crate::ports::{
    CHUNK_BYTES, HttpFault, HttpMethod, HttpRequest, HttpResponse, REQUEST_ID_HEADERS, RequestBody,
    ResponseBody,
};

/// The longest wait for the end of a body after the model service's last event, in milliseconds.
const END_MS: u64 = 1_000;

/// The headers that the product reads of a response that is no success, besides the request's id. Each read is a call
/// into JavaScript, and reading all of them costs a short turn up to 8 % of its processor time
/// (`make bench ONLY=json`).
const HEADERS_OF_REFUSAL: &[&str] = &[
    "retry-after",
    "retry-after-ms",
    "llm_provider-retry-after",
    "llm_provider-retry-after-ms",
    "x-should-retry",
    "location",
];

/// A `RequestInit`.
#[derive(Serialize)]
struct Head {
    method: &'static str,
    redirect: &'static str,
    headers: Map<String, Value>,
}

/// Sends a request; redirects are not followed.
pub(super) async fn fetch(
    request: HttpRequest<&dyn RequestBody>,
) -> Result<HttpResponse<FetchBody>, HttpFault> {
    let mut headers: Map<String, Value> =
        request.headers.into_iter().map(|(name, value)| (name, value.into())).collect();
    let method = match request.method {
        HttpMethod::Post => {
            headers.insert("Content-Type".to_owned(), "application/json".into());
            "POST"
        }
        HttpMethod::Get => "GET",
        HttpMethod::Delete => "DELETE",
    };
    let head = Head { method, redirect: "manual", headers };
    let init: RequestInit = to_js(&head)?.unchecked_into();
    let sending = match request.method {
        HttpMethod::Post => Some(Sending::begin(&init, request.body)?),
        HttpMethod::Get | HttpMethod::Delete => None,
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
    let of_refusal = if (200..300).contains(&status) { &[] } else { HEADERS_OF_REFUSAL };
    let header = |name: &&str| Some(((*name).to_owned(), headers.get(name).ok()??));
    let request_id = REQUEST_ID_HEADERS.iter().find_map(header);
    Ok(HttpResponse {
        status,
        headers: request_id
            .into_iter()
            .chain(of_refusal.iter().chain(request.reads).filter_map(header))
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
                if reader.ended() {
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
                if !taken.ended() {
                    self.gathering = Some(Gathering::UnderWay(take(taken)));
                    return false;
                }
                if let (Reading::Unread(branch), Ok(())) = (&self.reading, &came) {
                    // The first bytes were the last, so the other branch holds nothing else.
                    ignore(&branch.cancel());
                    self.reading = Reading::Whole(taken.bytes());
                    self.abort.armed = false;
                }
                self.gathering = Some(Gathering::Over(came.is_ok()));
                came.is_ok()
            }
        }
    }

    fn finish(mut self) {
        match self.reading {
            Reading::Unread(_) | Reading::Begun(_) => spawn_local(async move {
                let end = pin!(self.chunk(CHUNK_BYTES));
                let time_out = pin!(sleep(END_MS));
                select(end, time_out).await;
            }),
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
        let branches = body.unchecked_ref::<Splittable>().tee()?;
        self.reading = Reading::Unread(branches.get(0).unchecked_into());
        // A pipe takes all that comes: reading the branch itself would hold up the other one.
        let branch: Splittable = branches.get(1).unchecked_into();
        let piped = branch.pipe_through(&IdentityTransformStream::new()?)?;
        Ok(Gathering::UnderWay(take(ByteReader::new(&piped)?)))
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

fn take(mut from: ByteReader) -> Taking {
    Box::pin(async move {
        let came = from.skip(CHUNK_BYTES).await;
        (from, came)
    })
}
