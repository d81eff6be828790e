//! `scheduler.wait`.

use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::Promise;

#[wasm_bindgen]
extern "C" {
    /// Settles after `ms` milliseconds; after 0, when the runtime has no work left that is ready.
    #[wasm_bindgen(js_namespace = scheduler, js_name = wait)]
    pub(crate) fn scheduler_wait(ms: u32) -> Promise;
}
