//! The object's SQLite storage as a [`Database`].

use std::cell::Cell;
use std::rc::Rc;

use serde_json::json;
use worker::wasm_bindgen::prelude::wasm_bindgen;
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::{SqlStorage, SqlStorageValue, State, console_error};

use crate::contract::Fault;
use crate::persistence::{Database, DatabaseFault, Row, Value};

/// Rows that the object's statements touched since the last line of the log: what storage costs.
#[derive(Default)]
pub(super) struct RowCount {
    pub(super) read: Cell<usize>,
    pub(super) written: Cell<usize>,
}

/// The storage of one object.
pub(super) struct ObjectStorage {
    state: Rc<State>,
    sql: SqlStorage,
    rows: Rc<RowCount>,
}

impl ObjectStorage {
    pub(super) fn new(state: Rc<State>, rows: Rc<RowCount>) -> Self {
        let sql = state.storage().sql();
        Self { state, sql, rows }
    }
}

#[wasm_bindgen]
extern "C" {
    type TransactionalStorage;

    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn transaction_sync(
        this: &TransactionalStorage,
        writes: &mut dyn FnMut() -> Result<JsValue, JsValue>,
    ) -> Result<JsValue, JsValue>;
}

impl Database for ObjectStorage {
    fn run(&self, statement: &str, parameters: &[Value]) -> Result<Vec<Row>, DatabaseFault> {
        let bindings: Vec<SqlStorageValue> = parameters.iter().map(binding).collect();
        let cursor = self.sql.exec(statement, bindings).map_err(|fault| database_fault(&fault))?;
        let rows = cursor.to_array().map_err(|fault| database_fault(&fault));
        self.rows.read.set(self.rows.read.get() + cursor.rows_read());
        self.rows.written.set(self.rows.written.get() + cursor.rows_written());
        rows
    }

    fn atomically(&self, writes: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        let mut failure = None;
        let storage = self.state.storage();
        let storage: &JsValue = storage.as_raw().as_ref();
        let committed =
            storage.unchecked_ref::<TransactionalStorage>().transaction_sync(&mut || {
                writes().map(|()| JsValue::UNDEFINED).map_err(|fault| {
                    failure = Some(fault);
                    // What is thrown rolls the transaction back.
                    JsValue::from_str("rolled back")
                })
            });
        match (committed, failure) {
            (Ok(_), None) => Ok(()),
            (_, Some(fault)) => Err(fault),
            (Err(fault), None) => Err(logged(format!("{fault:?}")).into()),
        }
    }
}

fn binding(value: &Value) -> SqlStorageValue {
    match value {
        Value::Null => SqlStorageValue::Null,
        Value::Integer(number) => SqlStorageValue::Integer(*number),
        Value::Real(number) => SqlStorageValue::Float(*number),
        Value::Text(text) => SqlStorageValue::String(text.clone()),
    }
}

fn database_fault(fault: &worker::Error) -> DatabaseFault {
    logged(match std::error::Error::source(fault) {
        Some(source) => format!("{fault}: {source}"),
        None => fault.to_string(),
    })
}

/// The database's words are for the operator; statements carry no content, values are bound.
fn logged(text: String) -> DatabaseFault {
    console_error!("{}", json!({ "event": "storage_failed", "fault": text }));
    DatabaseFault(text)
}
