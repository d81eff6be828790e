//! `IdentityTransformStream`: the runtime's own pipe. Unlike a stream backed by code, it sees a
//! disconnect.

use worker::wasm_bindgen::JsValue;
use worker::wasm_bindgen::prelude::wasm_bindgen;
use worker::web_sys::{ReadableStream, WritableStream};

#[wasm_bindgen]
extern "C" {
    pub(crate) type IdentityTransformStream;

    #[wasm_bindgen(constructor, catch)]
    pub(crate) fn new() -> Result<IdentityTransformStream, JsValue>;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn readable(this: &IdentityTransformStream) -> ReadableStream;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn writable(this: &IdentityTransformStream) -> WritableStream;
}
