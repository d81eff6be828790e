//! Reading the runtime's byte streams: as much as there is with each read, or no less than is wanted.

use worker::js_sys::{JSON, Promise, Uint8Array};
use worker::wasm_bindgen::prelude::wasm_bindgen;
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::ReadableStream;

/// The most that one read gives, in bytes.
const READ_BYTES: u32 = 64 * 1024;

#[wasm_bindgen]
extern "C" {
    /// A body that is read into buffers of the reader's own.
    type ByteStream;

    #[wasm_bindgen(method, catch, js_name = getReader)]
    fn reader(this: &ByteStream, mode: &JsValue) -> Result<Reader, JsValue>;

    type Reader;

    #[wasm_bindgen(method, js_name = readAtLeast)]
    fn read_at_least(this: &Reader, bytes: u32, into: Uint8Array) -> Promise;

    type ReadResult;

    #[wasm_bindgen(method, getter)]
    fn done(this: &ReadResult) -> bool;

    #[wasm_bindgen(method, getter)]
    fn value(this: &ReadResult) -> Option<Uint8Array>;
}

/// A body that is being read.
pub(super) struct ByteReader {
    reader: Reader,
    /// The buffer of the last read, to be used again.
    buffer: Option<Uint8Array>,
}

impl ByteReader {
    /// Takes a body that nobody reads yet.
    pub(super) fn new(stream: &ReadableStream) -> Result<Self, JsValue> {
        let mode = JSON::parse(r#"{"mode":"byob"}"#)?;
        let reader = stream.unchecked_ref::<ByteStream>().reader(&mode)?;
        Ok(Self { reader, buffer: None })
    }

    /// The next bytes, `None` at the end; fewer than `at_least` only before the end.
    pub(super) async fn read(&mut self, at_least: usize) -> Result<Option<Vec<u8>>, JsValue> {
        let buffer = match self.buffer.take() {
            Some(used) => Uint8Array::new(&used.buffer()),
            None => Uint8Array::new_with_length(READ_BYTES),
        };
        let at_least =
            u32::try_from(at_least).map_or(READ_BYTES, |bytes| bytes.clamp(1, READ_BYTES));
        let read = JsFuture::from(self.reader.read_at_least(at_least, buffer)).await?;
        let read: ReadResult = read.unchecked_into();
        let chunk = read.value().filter(|chunk| chunk.length() > 0);
        if chunk.is_none() && !read.done() {
            return Err(JsValue::from_str("A read gave nothing."));
        }
        let bytes = chunk.as_ref().map(Uint8Array::to_vec);
        self.buffer = chunk;
        Ok(bytes)
    }
}
