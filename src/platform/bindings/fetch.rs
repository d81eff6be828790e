//! The global `fetch`, and `tee` and `pipeThrough` of a body.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::{Array, Promise};
use worker::web_sys::{ReadableStream, RequestInit};

use super::streams::IdentityTransformStream;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_name = fetch)]
    pub(crate) fn fetch_url(url: &str, init: &RequestInit) -> Result<Promise, JsValue>;

    pub(crate) type Splittable;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn tee(this: &Splittable) -> Result<Array, JsValue>;

    #[wasm_bindgen(method, catch, js_name = pipeThrough)]
    pub(crate) fn pipe_through(
        this: &Splittable,
        pipe: &IdentityTransformStream,
    ) -> Result<ReadableStream, JsValue>;
}
