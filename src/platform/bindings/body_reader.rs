//! `ReadableStreamBYOBReader`, which reads into the caller's buffer.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::{Promise, Uint8Array};

#[wasm_bindgen]
extern "C" {
    pub(crate) type ByteStream;

    #[wasm_bindgen(method, catch, js_name = getReader)]
    pub(crate) fn reader(this: &ByteStream, mode: &JsValue) -> Result<Reader, JsValue>;

    pub(crate) type Reader;

    /// An extension of the runtime's. It returns fewer bytes only at the end.
    #[wasm_bindgen(method, js_name = readAtLeast)]
    pub(crate) fn read_at_least(this: &Reader, bytes: u32, into: Uint8Array) -> Promise;

    #[wasm_bindgen(method)]
    pub(crate) fn cancel(this: &Reader) -> Promise;

    #[wasm_bindgen(method, js_name = releaseLock)]
    pub(crate) fn release_lock(this: &Reader);

    pub(crate) type ReadResult;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn done(this: &ReadResult) -> bool;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn value(this: &ReadResult) -> Option<Uint8Array>;
}
