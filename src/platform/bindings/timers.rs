//! `setTimeout`, `clearTimeout` and `scheduler.wait`.

use worker::js_sys::Promise;
use worker::wasm_bindgen::JsValue;
use worker::wasm_bindgen::prelude::{Closure, wasm_bindgen};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = setTimeout)]
    pub(crate) fn set_timeout(callback: &Closure<dyn FnMut(JsValue)>, ms: i32) -> JsValue;

    #[wasm_bindgen(js_name = clearTimeout)]
    pub(crate) fn clear_timeout(timer: &JsValue);

    /// Settles after so many milliseconds; after none, as soon as nothing is left to do at once.
    #[wasm_bindgen(js_namespace = scheduler, js_name = wait)]
    pub(crate) fn scheduler_wait(ms: u32) -> Promise;
}
