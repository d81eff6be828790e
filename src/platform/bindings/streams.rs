//! The runtime's byte streams, by `streams.js`.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::Promise;
use worker::web_sys::ReadableStream;

#[wasm_bindgen(module = "/src/platform/bindings/streams.js")]
extern "C" {
    pub(crate) type BodyReader;

    #[wasm_bindgen(catch, js_name = readerOf)]
    pub(crate) fn reader_of(stream: &ReadableStream) -> Result<BodyReader, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn read(
        this: &BodyReader,
        at_least: u32,
        room: u32,
        only: bool,
    ) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method)]
    pub(crate) fn bytes(this: &BodyReader) -> Option<Vec<u8>>;

    #[wasm_bindgen(method)]
    pub(crate) fn release(this: &BodyReader) -> ReadableStream;

    #[wasm_bindgen(method)]
    pub(crate) fn close(this: &BodyReader, is_ended: bool);

    pub(crate) fn cancel(stream: &ReadableStream);

    pub(crate) type SplitBody;

    #[wasm_bindgen(catch)]
    pub(crate) fn split(stream: &ReadableStream) -> Result<SplitBody, JsValue>;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn branch(this: &SplitBody) -> ReadableStream;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn reader(this: &SplitBody) -> BodyReader;

    pub(crate) type BodyWriter;

    #[wasm_bindgen(catch)]
    pub(crate) fn pipe() -> Result<BodyWriter, JsValue>;

    #[wasm_bindgen(catch, js_name = pipeOfLength)]
    pub(crate) fn pipe_of_length(length: f64, room: u32) -> Result<BodyWriter, JsValue>;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn readable(this: &BodyWriter) -> ReadableStream;

    #[wasm_bindgen(method)]
    pub(crate) fn write(this: &BodyWriter, bytes: &[u8]) -> Promise;

    #[wasm_bindgen(method, js_name = close)]
    pub(crate) fn finish(this: &BodyWriter) -> Promise;

    #[wasm_bindgen(method, js_name = abort)]
    pub(crate) fn break_off(this: &BodyWriter, reason: &str) -> Promise;
}
