//! The runtime's byte streams. A read takes all bytes that are there, and waits for a least number.

use std::cell::RefCell;

use serde::Serialize;
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::Uint8Array;
use worker::web_sys::ReadableStream;

use super::bindings::body_reader::{ByteStream, ReadResult, Reader};
use super::promise::{ignore, settled};
use super::values::to_js;
use crate::ports::CHUNK_BYTES;

/// The number of buffers that are kept for later readers.
const SPARE_BUFFERS: usize = 32;

thread_local! {
    static SPARE: RefCell<Vec<Uint8Array>> = const { RefCell::new(Vec::new()) };
}

/// `ReadableStreamGetReaderOptions`.
#[derive(Serialize)]
struct ReaderOptions {
    mode: &'static str,
}

/// The reader of a body. Dropping it before the end cancels the body.
pub(super) struct ByteReader {
    stream: ReadableStream,
    reader: Reader,
    /// The body was read to its end, or broke off.
    ended: bool,
    /// The buffer of the last read, which the next read uses again.
    buffer: Option<Uint8Array>,
    /// The buffer has fewer bytes than [`CHUNK_BYTES`].
    is_small: bool,
}

impl ByteReader {
    pub(super) fn new(stream: &ReadableStream) -> Result<Self, JsValue> {
        let mode = to_js(&ReaderOptions { mode: "byob" })?;
        let reader = stream.unchecked_ref::<ByteStream>().reader(&mode)?;
        Ok(Self { stream: stream.clone(), reader, ended: false, buffer: None, is_small: false })
    }

    /// Gives the rest of the body back. The reader can be dropped, but reads nothing more.
    pub(super) fn release(&mut self) -> ReadableStream {
        self.reader.release_lock();
        self.ended = true;
        self.stream.clone()
    }

    /// Whether the body was read to its end, or broke off.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// The next bytes, `None` at the end. Fewer than `at_least` bytes are the last ones.
    pub(super) async fn read(&mut self, at_least: usize) -> Result<Option<Vec<u8>>, JsValue> {
        self.skip(at_least).await?;
        Ok(self.bytes())
    }

    /// Reads as many bytes and no more, into a buffer of that length: for a body that may never come, and would hold the
    /// buffer meanwhile.
    pub(super) async fn read_exactly(&mut self, bytes: usize) -> Result<Option<Vec<u8>>, JsValue> {
        let bytes = bytes.clamp(1, CHUNK_BYTES) as u32;
        self.is_small = true;
        self.fill(bytes, Uint8Array::new_with_length(bytes)).await?;
        Ok(self.bytes())
    }

    /// The bytes of the last read; `None` when there were none.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let chunk = self.buffer.as_ref()?.to_vec();
        (!chunk.is_empty()).then_some(chunk)
    }

    /// Reads the next bytes into the buffer, without a copy into this module's memory.
    pub(super) async fn skip(&mut self, at_least: usize) -> Result<(), JsValue> {
        let used = self.buffer.take().filter(|_| !self.is_small);
        self.is_small = false;
        let buffer = match used {
            Some(used) => Uint8Array::new(&used.buffer()),
            None => SPARE
                .with_borrow_mut(Vec::pop)
                .unwrap_or_else(|| Uint8Array::new_with_length(CHUNK_BYTES as u32)),
        };
        self.fill(at_least.clamp(1, CHUNK_BYTES) as u32, buffer).await
    }

    async fn fill(&mut self, at_least: u32, buffer: Uint8Array) -> Result<(), JsValue> {
        let reading = self.reader.read_at_least(at_least, buffer);
        let read: ReadResult = match settled(&reading).await {
            Ok(read) => read.unchecked_into(),
            Err(fault) => {
                self.ended = true;
                return Err(fault);
            }
        };
        self.buffer = read.value();
        let length = self.buffer.as_ref().map_or(0, Uint8Array::length);
        // `readAtLeast` returns fewer bytes only at the end.
        self.ended = read.done() || (1..at_least).contains(&length);
        if length == 0 && !read.done() {
            return Err(JsValue::from_str("A read gave nothing."));
        }
        Ok(())
    }
}

impl Drop for ByteReader {
    fn drop(&mut self) {
        if let Some(used) = self.buffer.take().filter(|_| !self.is_small) {
            SPARE.with_borrow_mut(|spare| {
                if spare.len() < SPARE_BUFFERS {
                    spare.push(Uint8Array::new(&used.buffer()));
                }
            });
        }
        if !self.ended {
            // The sender stops; nothing depends on how the cancellation ends.
            ignore(&self.reader.cancel());
        }
    }
}
