//! The runtime's byte streams. A read takes all bytes that are there, and waits for a least number.

use wasm_bindgen::JsValue;
use worker::web_sys::ReadableStream;

use super::bindings::streams::{BodyReader, reader_of};
use super::promise::settled;
use crate::ports::CHUNK_BYTES;

/// The reader of a body. Dropping it before the end cancels the body.
pub(super) struct ByteReader {
    reader: BodyReader,
    /// The body was read to its end, or broke off.
    pub(super) ended: bool,
}

impl ByteReader {
    pub(super) fn new(stream: &ReadableStream) -> Result<Self, JsValue> {
        Ok(Self::from(reader_of(stream)?))
    }

    /// Gives the rest of the body back. The reader can be dropped, but reads nothing more.
    pub(super) fn release(&mut self) -> ReadableStream {
        self.ended = true;
        self.reader.release()
    }

    /// The next bytes, `None` at the end. Fewer than `at_least` bytes are the last ones.
    pub(super) async fn read(&mut self, at_least: usize) -> Result<Option<Vec<u8>>, JsValue> {
        self.skip(at_least).await?;
        Ok(self.bytes())
    }

    /// Reads as many bytes and no more, into a buffer of that length: for a body that may never come, and would hold the
    /// buffer meanwhile.
    pub(super) async fn read_exactly(&mut self, bytes: usize) -> Result<Option<Vec<u8>>, JsValue> {
        self.fill(bytes, bytes, true).await?;
        Ok(self.bytes())
    }

    /// The bytes of the last read; `None` when there were none.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        self.reader.bytes()
    }

    /// Reads the next bytes into the buffer, without a copy into this module's memory.
    pub(super) async fn skip(&mut self, at_least: usize) -> Result<(), JsValue> {
        self.fill(at_least, CHUNK_BYTES, false).await
    }

    async fn fill(&mut self, at_least: usize, room: usize, only: bool) -> Result<(), JsValue> {
        let of_a_chunk = |bytes: usize| bytes.clamp(1, CHUNK_BYTES) as u32;
        let reading = self.reader.read(of_a_chunk(at_least), of_a_chunk(room), only)?;
        let read = settled(&reading).await;
        self.ended = !read.as_ref().is_ok_and(JsValue::is_falsy);
        read.map(|_| ())
    }
}

impl From<BodyReader> for ByteReader {
    fn from(reader: BodyReader) -> Self {
        Self { reader, ended: false }
    }
}

impl Drop for ByteReader {
    fn drop(&mut self) {
        self.reader.close(self.ended);
    }
}
