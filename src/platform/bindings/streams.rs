//! `IdentityTransformStream`, the runtime's pipe, and `FixedLengthStream`, a pipe that announces its length. The
//! writer of such a pipe notices a client's disconnect, which a JavaScript stream's does not.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
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

    #[wasm_bindgen(extends = IdentityTransformStream)]
    pub(crate) type FixedLengthStream;

    #[wasm_bindgen(constructor, catch)]
    pub(crate) fn new(bytes: f64) -> Result<FixedLengthStream, JsValue>;
}
