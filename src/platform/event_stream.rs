//! A turn's text as `text/event-stream`, through a native stream with awaited writes: whatever
//! comes while a write is under way goes out with the next one. So does, when text comes faster than
//! the clock ticks, what is there already and only has to be read: most of what a delta costs is its
//! write.

use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, select};
use worker::js_sys::{Promise, Uint8Array};
use worker::wasm_bindgen::JsValue;
use worker::wasm_bindgen::prelude::wasm_bindgen;
use worker::wasm_bindgen_futures::spawn_local;
use worker::web_sys::{ReadableStream, WritableStream, WritableStreamDefaultWriter};
use worker::{Headers, Response, ResponseBuilder};

use super::promise::{settled, sleep};
use super::runtime::now_ms;
use crate::reasoner::{LiveText, TextCursor};

#[wasm_bindgen]
extern "C" {
    /// Settles after so many milliseconds; after none, as soon as nothing is left to do at once.
    #[wasm_bindgen(js_namespace = scheduler, js_name = wait)]
    fn wait(ms: u32) -> Promise;

    /// The runtime's own pipe: unlike a stream backed by code, it sees a disconnect.
    pub(super) type IdentityTransformStream;

    #[wasm_bindgen(constructor, catch)]
    pub(super) fn new() -> Result<IdentityTransformStream, JsValue>;

    #[wasm_bindgen(method, getter)]
    pub(super) fn readable(this: &IdentityTransformStream) -> ReadableStream;

    #[wasm_bindgen(method, getter)]
    pub(super) fn writable(this: &IdentityTransformStream) -> WritableStream;
}

/// A response that follows a turn until its `result`.
pub(super) fn event_stream(
    stream: Rc<LiveText>,
    cursor: TextCursor,
    keep_alive_ms: u64,
) -> worker::Result<Response> {
    let pipe = IdentityTransformStream::new().map_err(worker::Error::from)?;
    let writer = pipe.writable().get_writer().map_err(worker::Error::from)?;
    // The watcher's task has no part in the turn: when it ends, only the watcher is gone.
    spawn_local(follow(stream, cursor, writer, keep_alive_ms));
    let headers = Headers::new();
    headers.set("Content-Type", "text/event-stream; charset=utf-8")?;
    headers.set("Cache-Control", "no-store")?;
    Ok(ResponseBuilder::new().with_headers(headers).stream(pipe.readable()))
}

async fn follow(
    stream: Rc<LiveText>,
    mut cursor: TextCursor,
    writer: WritableStreamDefaultWriter,
    keep_alive_ms: u64,
) {
    let mut last_write = now_ms();
    // One timer for each span without a look at the clock, not one for each piece of text.
    let mut silence = Box::pin(sleep(keep_alive_ms));
    loop {
        let frames = cursor.frames(&stream);
        if !frames.is_empty() {
            if write(&writer, &frames).await.is_err() {
                return;
            }
            last_write = now_ms();
        } else if cursor.finished() {
            // Closing a stream whose reader is gone fails; there is nobody to tell.
            let _ = settled(&writer.close()).await;
            return;
        } else if let Either::Right(_) = select(pin!(cursor.growth(&stream)), &mut silence).await {
            let silent_for = now_ms().saturating_sub(last_write);
            if silent_for >= keep_alive_ms {
                if write(&writer, ": keep-alive\n\n").await.is_err() {
                    return;
                }
                last_write = now_ms();
            }
            silence = Box::pin(sleep(keep_alive_ms - silent_for.min(keep_alive_ms - 1)));
        } else if now_ms() == last_write {
            let _ = settled(&wait(0)).await;
        }
    }
}

async fn write(writer: &WritableStreamDefaultWriter, text: &str) -> Result<(), JsValue> {
    let bytes = Uint8Array::from(text.as_bytes());
    settled(&writer.write_with_chunk(&bytes)).await.map(|_| ())
}
