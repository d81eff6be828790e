//! Timers and the clock: `scheduler.wait`, `setTimeout` with a number for what rings.

use wasm_bindgen::prelude::{Closure, wasm_bindgen};
use worker::js_sys::Promise;

#[wasm_bindgen]
extern "C" {
    /// Settles after `ms` milliseconds; after 0, when the runtime has no work left that is ready.
    #[wasm_bindgen(js_namespace = scheduler, js_name = wait)]
    pub(crate) fn scheduler_wait(ms: u32) -> Promise;

    /// Calls `ring` with `what` after `ms` milliseconds. Returns the timer's number.
    #[wasm_bindgen(js_name = setTimeout)]
    pub(crate) fn start(ring: &Closure<dyn FnMut(u32)>, ms: u32, what: u32) -> f64;

    #[wasm_bindgen(js_name = clearTimeout)]
    pub(crate) fn stop(timer: f64);
}
