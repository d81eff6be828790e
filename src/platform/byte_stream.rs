//! Reading the runtime's byte streams: as much as there is with each read, or no less than is wanted.

use std::cell::RefCell;

use worker::js_sys::{JSON, Uint8Array};
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::web_sys::ReadableStream;

use super::bindings::body_reader::{ByteStream, ReadResult, Reader};
use super::promise::{ignore, settled};
use crate::ports::CHUNK_BYTES;

/// How many buffers are kept for the next reader.
const SPARE_BUFFERS: usize = 16;

thread_local! {
    static SPARE: RefCell<Vec<Uint8Array>> = const { RefCell::new(Vec::new()) };
}

/// A body that is being read. Dropping it before its end cancels it.
pub(super) struct ByteReader {
    reader: Reader,
    /// Read to its end, or broken.
    ended: bool,
    /// The buffer of the last read, to be used again.
    buffer: Option<Uint8Array>,
}

impl ByteReader {
    /// Takes a body that nobody reads yet.
    pub(super) fn new(stream: &ReadableStream) -> Result<Self, JsValue> {
        let mode = JSON::parse(r#"{"mode":"byob"}"#)?;
        let reader = stream.unchecked_ref::<ByteStream>().reader(&mode)?;
        Ok(Self { reader, ended: false, buffer: None })
    }

    /// Everything was read.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// The next bytes, `None` at the end; fewer than `at_least` only before the end.
    pub(super) async fn read(&mut self, at_least: usize) -> Result<Option<Vec<u8>>, JsValue> {
        self.skip(at_least).await?;
        Ok(self.bytes())
    }

    /// The bytes that came last, when any did.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let chunk = self.buffer.as_ref()?.to_vec();
        (!chunk.is_empty()).then_some(chunk)
    }

    /// Waits for the next bytes, as many, and takes them unseen.
    pub(super) async fn skip(&mut self, at_least: usize) -> Result<(), JsValue> {
        let buffer = match self.buffer.take() {
            Some(used) => Uint8Array::new(&used.buffer()),
            None => SPARE
                .with_borrow_mut(Vec::pop)
                .unwrap_or_else(|| Uint8Array::new_with_length(CHUNK_BYTES as u32)),
        };
        let at_least = at_least.clamp(1, CHUNK_BYTES) as u32;
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
        // Fewer bytes come only at the end.
        self.ended = read.done() || (1..at_least).contains(&length);
        if length == 0 && !read.done() {
            return Err(JsValue::from_str("A read gave nothing."));
        }
        Ok(())
    }
}

impl Drop for ByteReader {
    fn drop(&mut self) {
        if let Some(used) = self.buffer.take() {
            SPARE.with_borrow_mut(|spare| {
                if spare.len() < SPARE_BUFFERS {
                    spare.push(Uint8Array::new(&used.buffer()));
                }
            });
        }
        if !self.ended {
            // Whoever sends is not to go on; how that ends is of no interest.
            ignore(&self.reader.cancel());
        }
    }
}
