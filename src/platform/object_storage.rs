//! The object's SQLite storage as a [`Database`].

use std::cell::Cell;
use std::rc::Rc;

use serde_json::json;
use worker::js_sys::JSON;
use worker::wasm_bindgen::JsValue;
use worker::{State, console_error};

use super::bindings::storage::{Cursor, RuntimeStorage, Sql};
use crate::contract::Fault;
use crate::ports::{Database, DatabaseFault, Row, Value};

/// Rows that the object's statements touched since the last line of the log: what storage costs.
#[derive(Default)]
pub(super) struct RowCount {
    pub(super) read: Cell<usize>,
    pub(super) written: Cell<usize>,
}

/// The storage of one object.
pub(super) struct ObjectStorage {
    storage: RuntimeStorage,
    sql: Sql,
    rows: Rc<RowCount>,
}

impl ObjectStorage {
    pub(super) fn new(state: &State, rows: Rc<RowCount>) -> Self {
        let storage = RuntimeStorage::of(state);
        let sql = storage.sql();
        Self { storage, sql, rows }
    }
}

impl Database for ObjectStorage {
    fn run(&self, statement: &str, parameters: &[Value]) -> Result<Vec<Row>, DatabaseFault> {
        let bindings = parameters.iter().map(binding).collect();
        let cursor = self.sql.exec(statement, bindings).map_err(|fault| database_fault(&fault))?;
        let rows = if gives_rows(statement) { rows_of(&cursor) } else { Ok(Vec::new()) };
        self.rows.read.set(self.rows.read.get() + cursor.rows_read() as usize);
        self.rows.written.set(self.rows.written.get() + cursor.rows_written() as usize);
        rows
    }

    fn run_all(&self, statements: &[&str]) -> Result<(), DatabaseFault> {
        self.run(&statements.join(";"), &[]).map(|_| ())
    }

    fn atomically(&self, writes: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        let mut failure = None;
        let committed = self.storage.transaction_sync(&mut || {
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

/// A write is done when it was executed; only what gives rows has to be read to its end.
fn gives_rows(statement: &str) -> bool {
    let statement = statement.trim_start();
    statement.starts_with("SELECT") || statement.starts_with("WITH")
}

/// The rows of a result, which cross as one text.
fn rows_of(cursor: &Cursor) -> Result<Vec<Row>, DatabaseFault> {
    let rows = cursor.to_array().map_err(|fault| database_fault(&fault))?;
    let text = JSON::stringify(&rows).map_err(|fault| database_fault(&fault))?;
    serde_json::from_str(&String::from(text)).map_err(|fault| logged(fault.to_string()))
}

fn binding(value: &Value) -> JsValue {
    match value {
        Value::Null => JsValue::NULL,
        Value::Integer(number) => JsValue::from_f64(*number as f64),
        Value::Real(number) => JsValue::from_f64(*number),
        Value::Text(text) => JsValue::from_str(text),
    }
}

fn database_fault(fault: &JsValue) -> DatabaseFault {
    logged(format!("{fault:?}"))
}

/// The database's words are for the operator; statements carry no content, values are bound.
fn logged(text: String) -> DatabaseFault {
    console_error!("{}", json!({ "event": "storage_failed", "fault": text }));
    DatabaseFault(text)
}
