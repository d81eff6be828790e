//! The object's SQLite storage as a [`Database`].

use std::rc::Rc;

use serde_json::json;
use wasm_bindgen::{JsCast, JsValue};
use worker::State;
use worker::js_sys::{Array, JSON, Reflect, Uint8Array};

use super::bindings::storage::{Cursor, RuntimeStorage, Sql};
use super::object_log::ObjectLog;
use crate::contract::Fault;
use crate::ports::{Database, Row, Value, storage_failed, unreadable_column};

/// The storage of one object.
pub(super) struct ObjectStorage {
    storage: RuntimeStorage,
    sql: Sql,
    log: Rc<ObjectLog>,
}

impl ObjectStorage {
    pub(super) fn new(state: &State, log: Rc<ObjectLog>) -> Self {
        let storage = RuntimeStorage::of(state);
        let sql = storage.sql();
        Self { storage, sql, log }
    }

    fn exec(&self, statement: &str, parameters: &[Value]) -> Result<Cursor, Fault> {
        let bindings = parameters.iter().map(binding).collect();
        self.sql.exec(statement, bindings).map_err(|fault| self.failed(fault))
    }

    fn failed(&self, fault: JsValue) -> Fault {
        self.logged(&format!("{fault:?}"))
    }

    /// Logs the database's message, which holds no content, because values are bound.
    fn logged(&self, text: &str) -> Fault {
        self.log.write(json!({ "event": "storage_failed", "level": "error", "fault": text }));
        storage_failed()
    }
}

impl Database for ObjectStorage {
    fn query(&self, statement: &str, parameters: &[Value]) -> Result<Vec<Row>, Fault> {
        let cursor = self.exec(statement, parameters)?;
        // The rows cross from JavaScript as one text.
        let rows = cursor
            .to_array()
            .and_then(|rows| JSON::stringify(&rows))
            .map_err(|fault| self.failed(fault));
        self.log.count(&cursor);
        serde_json::from_str(&String::from(rows?)).map_err(|fault| self.logged(&fault.to_string()))
    }

    fn text(
        &self,
        statement: &str,
        parameters: &[Value],
        column: &str,
    ) -> Result<Option<String>, Fault> {
        let cursor = self.exec(statement, parameters)?;
        let rows = cursor.to_array().map_err(|fault| self.failed(fault));
        self.log.count(&cursor);
        let row = rows?.unchecked_into::<Array>().get(0);
        if row.is_undefined() {
            return Ok(None);
        }
        let text =
            Reflect::get(&row, &JsValue::from_str(column)).map_err(|fault| self.failed(fault))?;
        text.as_string().map(Some).ok_or_else(|| unreadable_column(column))
    }

    fn each_bytes(
        &self,
        statement: &str,
        parameters: &[Value],
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<(), Fault> {
        let cursor = self.exec(statement, parameters)?;
        let rows = cursor.raw().map_err(|fault| self.failed(fault))?;
        while let Some(row) = rows.next().map_err(|fault| self.failed(fault))?.value() {
            let id = row.get(0).as_f64().ok_or_else(|| unreadable_column("id"))?;
            each(id as u64, &Uint8Array::new(&row.get(1)).to_vec());
        }
        self.log.count(&cursor);
        Ok(())
    }

    fn execute(&self, statement: &str, parameters: &[Value]) -> Result<(), Fault> {
        // A statement without rows is done when `exec` returns: its cursor need not be read.
        self.log.count(&self.exec(statement, parameters)?);
        Ok(())
    }

    fn execute_all(&self, statements: &[&str]) -> Result<(), Fault> {
        self.execute(&statements.join(";"), &[])
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
            (Err(fault), None) => Err(self.failed(fault)),
        }
    }
}

fn binding(value: &Value) -> JsValue {
    match value {
        Value::Null => JsValue::NULL,
        Value::Integer(number) => JsValue::from_f64(*number as f64),
        Value::Text(text) => JsValue::from_str(text),
        Value::Bytes(bytes) => Uint8Array::from(bytes.as_slice()).into(),
    }
}
