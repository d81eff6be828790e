//! `DurableObjectStorage` with its SQL.

use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use worker::State;
use worker::js_sys::{Array, Promise};

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

    /// The rows as arrays of their columns, read one after the other.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn raw(this: &Cursor) -> Result<RawRows, JsValue>;

    #[wasm_bindgen(method, getter, js_name = rowsRead)]
    pub(crate) fn rows_read(this: &Cursor) -> f64;

    #[wasm_bindgen(method, getter, js_name = rowsWritten)]
    pub(crate) fn rows_written(this: &Cursor) -> f64;

    pub(crate) type RawRows;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn next(this: &RawRows) -> Result<NextRow, JsValue>;

    pub(crate) type NextRow;

    /// The columns; none behind the last row.
    #[wasm_bindgen(method, getter)]
    pub(crate) fn value(this: &NextRow) -> Option<Array>;
}

impl RuntimeStorage {
    /// The storage that `worker` wraps.
    pub(crate) fn of(state: &State) -> Self {
        let storage: JsValue = state.storage().as_raw().into();
        storage.unchecked_into()
    }
}
