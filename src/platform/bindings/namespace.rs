//! `jurisdiction` of a `DurableObjectNamespace`.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::worker_sys::DurableObjectNamespace;

#[wasm_bindgen]
extern "C" {
    pub(crate) type WholeNamespace;

    /// Its objects in a jurisdiction. It throws where the runtime has none.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn jurisdiction(
        this: &WholeNamespace,
        name: &str,
    ) -> Result<DurableObjectNamespace, JsValue>;
}
