//! `fetch` of a `DurableObjectStub`, and of the binding of static assets.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::Promise;
use worker::web_sys::RequestInit;

#[wasm_bindgen]
extern "C" {
    pub(crate) type Stub;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn fetch(this: &Stub, url: &str, init: &RequestInit) -> Result<Promise, JsValue>;
}
