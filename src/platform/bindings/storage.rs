//! `DurableObjectStorage` with its SQL.

use worker::State;
use worker::js_sys::{Iterator, Promise};
use worker::wasm_bindgen::prelude::wasm_bindgen;
use worker::wasm_bindgen::{JsCast, JsValue};

#[wasm_bindgen]
extern "C" {
    /// The storage of one object.
    pub(crate) type RuntimeStorage;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn sql(this: &RuntimeStorage) -> Sql;

    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    pub(crate) fn transaction_sync(
        this: &RuntimeStorage,
        writes: &mut dyn FnMut() -> Result<JsValue, JsValue>,
    ) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch, js_name = setAlarm)]
    pub(crate) fn set_alarm(this: &RuntimeStorage, at_ms: f64) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method)]
    pub(crate) fn sync(this: &RuntimeStorage) -> Promise;

    pub(crate) type Sql;

    #[wasm_bindgen(method, catch, variadic)]
    pub(crate) fn exec(
        this: &Sql,
        statement: &str,
        bindings: Vec<JsValue>,
    ) -> Result<Cursor, JsValue>;

    pub(crate) type Cursor;

    #[wasm_bindgen(method, catch, js_name = toArray)]
    pub(crate) fn to_array(this: &Cursor) -> Result<JsValue, JsValue>;

    /// The rows, each an array of its values.
    #[wasm_bindgen(method)]
    pub(crate) fn raw(this: &Cursor) -> Iterator;

    #[wasm_bindgen(method, getter, js_name = rowsRead)]
    pub(crate) fn rows_read(this: &Cursor) -> f64;

    #[wasm_bindgen(method, getter, js_name = rowsWritten)]
    pub(crate) fn rows_written(this: &Cursor) -> f64;
}

impl RuntimeStorage {
    /// The storage that `worker` wraps.
    pub(crate) fn of(state: &State) -> Self {
        let storage: JsValue = state.storage().as_raw().into();
        storage.unchecked_into()
    }
}
