//! `R2Bucket`.

use worker::js_sys::{Array, Promise, Uint8Array};
use worker::wasm_bindgen::JsValue;
use worker::wasm_bindgen::prelude::wasm_bindgen;
use worker::web_sys::ReadableStream;

#[wasm_bindgen]
extern "C" {
    pub(crate) type Bucket;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn put(this: &Bucket, key: &str, contents: &Uint8Array) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn head(this: &Bucket, key: &str) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn get(this: &Bucket, key: &str, options: &JsValue) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn list(this: &Bucket, options: &JsValue) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn delete(this: &Bucket, keys: &Array) -> Result<Promise, JsValue>;

    pub(crate) type KeptObject;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn key(this: &KeptObject) -> JsValue;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn size(this: &KeptObject) -> f64;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn body(this: &KeptObject) -> Option<ReadableStream>;

    pub(crate) type Listing;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn objects(this: &Listing) -> Array;
}
