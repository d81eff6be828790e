//! Requests and responses with one call for each, by `messages.js`.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::Env;
use worker::js_sys::Promise;
use worker::web_sys::{Request, Response};

use super::plain::Stub;

#[wasm_bindgen(module = "/src/platform/bindings/messages.js")]
extern "C" {
    #[wasm_bindgen(js_name = requestHead)]
    pub(crate) fn request_head(request: &Request) -> String;

    #[wasm_bindgen(catch, js_name = wholeBody)]
    pub(crate) fn whole_body(request: &Request) -> Result<Promise, JsValue>;

    #[wasm_bindgen(js_name = bytesOf)]
    pub(crate) fn bytes_of(buffer: &JsValue) -> Vec<u8>;

    pub(crate) type Exchange;

    #[wasm_bindgen(catch)]
    pub(crate) fn send(url: &str, head: &str, body: &JsValue) -> Result<Exchange, JsValue>;

    #[wasm_bindgen(catch, js_name = sendBytes)]
    pub(crate) fn send_bytes(url: &str, head: &str, body: &[u8]) -> Result<Exchange, JsValue>;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn response(this: &Exchange) -> Promise;

    #[wasm_bindgen(method)]
    pub(crate) fn abort(this: &Exchange);

    #[wasm_bindgen(js_name = responseHead)]
    pub(crate) fn response_head(response: &Response, names: &str, of_refusal: &str) -> String;

    #[wasm_bindgen(catch, js_name = objectAt)]
    pub(crate) fn object_at(
        env: &Env,
        binding: &str,
        jurisdiction: Option<&str>,
        name: &str,
        location_hint: Option<&str>,
    ) -> Result<Option<Stub>, JsValue>;

    #[wasm_bindgen(catch)]
    pub(crate) fn ask(
        object: &Stub,
        url: &str,
        head: &str,
        body: &JsValue,
    ) -> Result<Promise, JsValue>;

    #[wasm_bindgen(catch, js_name = askBytes)]
    pub(crate) fn ask_bytes(
        object: &Stub,
        url: &str,
        head: &str,
        body: &[u8],
    ) -> Result<Promise, JsValue>;

    #[wasm_bindgen(catch)]
    pub(crate) fn respond(head: &str, body: &JsValue) -> Result<Response, JsValue>;

    #[wasm_bindgen(catch, js_name = respondBytes)]
    pub(crate) fn respond_bytes(head: &str, body: &[u8]) -> Result<Response, JsValue>;

    #[wasm_bindgen(catch, js_name = withHeaders)]
    pub(crate) fn with_headers(response: &Response, headers: &str) -> Result<Response, JsValue>;
}
