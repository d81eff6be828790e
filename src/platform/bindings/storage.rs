//! An object's storage with its SQL, by `storage.js`.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::Promise;
use worker::worker_sys::DurableObjectState;

#[wasm_bindgen(module = "/src/platform/bindings/storage.js")]
extern "C" {
    /// The storage of one object.
    #[derive(Clone)]
    pub(crate) type ObjectStore;

    #[wasm_bindgen(constructor)]
    pub(crate) fn new(state: &DurableObjectState) -> ObjectStore;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn run(
        this: &ObjectStore,
        statement: &str,
        texts: &str,
        bytes: &[u8],
        shape: &[f64],
    ) -> Result<(), JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn rows(
        this: &ObjectStore,
        statement: &str,
        texts: &str,
        bytes: &[u8],
        shape: &[f64],
    ) -> Result<String, JsValue>;

    /// No text where the column holds something else, undefined where there is no row.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn first(
        this: &ObjectStore,
        statement: &str,
        texts: &str,
        bytes: &[u8],
        shape: &[f64],
        column: &str,
    ) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn each(
        this: &ObjectStore,
        statement: &str,
        texts: &str,
        bytes: &[u8],
        shape: &[f64],
        take: &mut dyn FnMut(JsValue, Vec<u8>),
    ) -> Result<(), JsValue>;

    #[wasm_bindgen(method)]
    pub(crate) fn counted(this: &ObjectStore, resets: bool) -> Vec<f64>;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn transaction(
        this: &ObjectStore,
        writes: &mut dyn FnMut() -> Result<JsValue, JsValue>,
    ) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch, js_name = setAlarm)]
    pub(crate) fn set_alarm(this: &ObjectStore, at_ms: f64) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method)]
    pub(crate) fn sync(this: &ObjectStore) -> Promise;
}
