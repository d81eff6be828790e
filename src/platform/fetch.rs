//! Outgoing HTTP through the runtime's `fetch`.

use serde_json::{Map, Value, json};
use worker::js_sys::{JSON, Promise, Uint8Array};
use worker::wasm_bindgen::prelude::wasm_bindgen;
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{AbortController, AbortSignal, ReadableStream, Response};

use crate::pipeline::{HttpFault, HttpMethod, HttpRequest, HttpResponse, ResponseBody};

/// The headers of a response that anyone here looks at: each one is a crossing.
const HEADERS: [&str; 4] = ["x-request-id", "retry-after", "retry-after-ms", "location"];

/// The most that one read gives, in bytes.
const READ_BYTES: u32 = 64 * 1024;

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

    /// A body that is read into buffers of the reader's own, as much as there is at once.
    type ByteStream;

    #[wasm_bindgen(method, catch, js_name = getReader)]
    fn reader(this: &ByteStream, mode: &JsValue) -> Result<ByteReader, JsValue>;

    type ByteReader;

    #[wasm_bindgen(method, js_name = readAtLeast)]
    fn read_at_least(this: &ByteReader, bytes: u32, into: Uint8Array) -> Promise;

    type ReadResult;

    #[wasm_bindgen(method, getter)]
    fn done(this: &ReadResult) -> bool;

    #[wasm_bindgen(method, getter)]
    fn value(this: &ReadResult) -> Option<Uint8Array>;
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
    let abort = AbortOnDrop(AbortController::new().map_err(|fault| js_fault(&fault))?);
    init.set_signal(&abort.0.signal());
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
            reader: response.body().map(reader).transpose()?,
            buffer: None,
            _abort: abort,
        },
    })
}

fn reader(stream: ReadableStream) -> Result<ByteReader, HttpFault> {
    let mode = JSON::parse(r#"{"mode":"byob"}"#).map_err(|fault| js_fault(&fault))?;
    stream.unchecked_ref::<ByteStream>().reader(&mode).map_err(|fault| js_fault(&fault))
}

/// A response's body. Dropping it aborts the request.
pub(super) struct FetchBody {
    reader: Option<ByteReader>,
    /// The buffer of the last read, to be used again.
    buffer: Option<Uint8Array>,
    _abort: AbortOnDrop,
}

impl ResponseBody for FetchBody {
    async fn chunk(&mut self, at_least: usize) -> Result<Option<Vec<u8>>, HttpFault> {
        let Some(reader) = &self.reader else { return Ok(None) };
        let buffer = match self.buffer.take() {
            Some(used) => Uint8Array::new(&used.buffer()),
            None => Uint8Array::new_with_length(READ_BYTES),
        };
        let at_least =
            u32::try_from(at_least).map_or(READ_BYTES, |bytes| bytes.clamp(1, READ_BYTES));
        let read = JsFuture::from(reader.read_at_least(at_least, buffer))
            .await
            .map_err(|fault| js_fault(&fault))?;
        let read: ReadResult = read.unchecked_into();
        // The last piece of a body can be shorter than was asked for.
        let chunk = read.value().filter(|chunk| chunk.length() > 0);
        if chunk.is_none() && !read.done() {
            return Err(HttpFault("A read gave nothing.".to_owned()));
        }
        let bytes = chunk.as_ref().map(Uint8Array::to_vec);
        self.buffer = chunk;
        Ok(bytes)
    }
}

/// Aborts the request unless it ended.
struct AbortOnDrop(AbortController);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn js_fault(fault: &JsValue) -> HttpFault {
    HttpFault(format!("{fault:?}"))
}
