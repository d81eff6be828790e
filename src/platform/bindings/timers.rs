//! `setTimeout`, `clearTimeout` and `scheduler.wait`.

use worker::js_sys::{Function, Promise};
use worker::wasm_bindgen::JsValue;
use worker::wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = setTimeout)]
    pub(crate) fn set_timeout(callback: &Function, ms: i32) -> JsValue;

    #[wasm_bindgen(js_name = clearTimeout)]
    pub(crate) fn clear_timeout(timer: &JsValue);

    /// Settles after `ms` milliseconds; after 0, when the runtime has no work left that is ready.
    #[wasm_bindgen(js_namespace = scheduler, js_name = wait)]
    pub(crate) fn scheduler_wait(ms: u32) -> Promise;
}
