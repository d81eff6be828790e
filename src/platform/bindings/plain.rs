//! What the runtime offers as it is, without a script: `crypto.subtle`, data sets, namespaces and stubs of objects, timers.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::{Closure, wasm_bindgen};
use worker::js_sys::Promise;
use worker::web_sys::RequestInit;
use worker::worker_sys::DurableObjectNamespace;

#[wasm_bindgen]
extern "C" {
    // `crypto.subtle`: the import of a public key, and the check of a signature.

    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"], js_name = importKey)]
    pub(crate) fn import_key(
        format: &str,
        key: &JsValue,
        algorithm: &JsValue,
        is_extractable: bool,
        uses: &JsValue,
    ) -> Result<Promise, JsValue>;

    /// The runtime has read the bytes when this returns.
    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"], js_name = verify)]
    pub(crate) fn verify(
        algorithm: &JsValue,
        key: &JsValue,
        signature: &[u8],
        signed: &[u8],
    ) -> Result<Promise, JsValue>;

    // A data set of Workers Analytics Engine.

    pub(crate) type DataSet;

    #[wasm_bindgen(method, catch, js_name = writeDataPoint)]
    pub(crate) fn write_data_point(this: &DataSet, point: &JsValue) -> Result<(), JsValue>;

    // A `DurableObjectNamespace`.

    pub(crate) type WholeNamespace;

    /// Its objects in a jurisdiction. It throws where the runtime has none.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn jurisdiction(
        this: &WholeNamespace,
        name: &str,
    ) -> Result<DurableObjectNamespace, JsValue>;

    // A `DurableObjectStub`, and the binding of static assets.

    pub(crate) type Stub;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn fetch(this: &Stub, url: &str, init: &RequestInit) -> Result<Promise, JsValue>;

    // Timers and the clock: `scheduler.wait`, `setTimeout` with a number for what rings.

    /// Settles after `ms` milliseconds; after 0, when the runtime has no work left that is ready.
    #[wasm_bindgen(js_namespace = scheduler, js_name = wait)]
    pub(crate) fn scheduler_wait(ms: u32) -> Promise;

    /// Calls `ring` with `what` after `ms` milliseconds. Returns the timer's number.
    #[wasm_bindgen(js_name = setTimeout)]
    pub(crate) fn start(ring: &Closure<dyn FnMut(u32)>, ms: u32, what: u32) -> f64;

    #[wasm_bindgen(js_name = clearTimeout)]
    pub(crate) fn stop(timer: f64);
}
