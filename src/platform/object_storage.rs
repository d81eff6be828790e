//! The object's SQLite storage as a [`Database`].

use std::rc::Rc;

use serde_json::json;
use wasm_bindgen::JsValue;

use super::bindings::storage::ObjectStore;
use super::object_log::ObjectLog;
use crate::contract::{Fault, Result};
use crate::ports::{Database, HttpFault, Row, SqlValue, storage_failed, unreadable_column};

/// The storage of one object.
pub(super) struct ObjectStorage {
    store: ObjectStore,
    log: Rc<ObjectLog>,
}

/// What a statement binds, as flat data: `storage.js` says how it is read.
#[derive(Default)]
struct Bound {
    texts: String,
    bytes: Vec<u8>,
    shape: Vec<f64>,
}

impl ObjectStorage {
    pub(super) fn new(store: ObjectStore, log: Rc<ObjectLog>) -> Self {
        Self { store, log }
    }

    fn failed(&self, fault: JsValue) -> Fault {
        self.logged(&HttpFault::from(fault).to_string())
    }

    /// Logs the database's message, which holds no content, because values are bound.
    fn logged(&self, text: &str) -> Fault {
        self.log.write(json!({ "event": "storage_failed", "level": "error", "fault": text }));
        storage_failed()
    }
}

impl Database for ObjectStorage {
    fn query(&self, statement: &str, parameters: &[SqlValue]) -> Result<Vec<Row>> {
        let Bound { texts, bytes, shape } = Bound::of(parameters);
        let rows = self.store.rows(statement, &texts, &bytes, &shape);
        let rows = rows.map_err(|fault| self.failed(fault))?;
        serde_json::from_str(&rows).map_err(|fault| self.logged(&fault.to_string()))
    }

    fn text(
        &self,
        statement: &str,
        parameters: &[SqlValue],
        column: &str,
    ) -> Result<Option<String>> {
        let Bound { texts, bytes, shape } = Bound::of(parameters);
        let value = self.store.first(statement, &texts, &bytes, &shape, column);
        let value = value.map_err(|fault| self.failed(fault))?;
        if value.is_undefined() {
            return Ok(None);
        }
        value.as_string().map(Some).ok_or_else(|| unreadable_column(column))
    }

    fn each_bytes(
        &self,
        statement: &str,
        parameters: &[SqlValue],
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<()> {
        let Bound { texts, bytes, shape } = Bound::of(parameters);
        let mut is_readable = true;
        let mut take = |id: JsValue, held: Vec<u8>| match id.as_f64() {
            Some(id) => each(id as u64, &held),
            None => is_readable = false,
        };
        let taken = self.store.each(statement, &texts, &bytes, &shape, &mut take);
        taken.map_err(|fault| self.failed(fault))?;
        if is_readable { Ok(()) } else { Err(unreadable_column("id")) }
    }

    fn execute(&self, statement: &str, parameters: &[SqlValue]) -> Result<()> {
        let Bound { texts, bytes, shape } = Bound::of(parameters);
        let ran = self.store.run(statement, &texts, &bytes, &shape);
        ran.map_err(|fault| self.failed(fault))
    }

    fn execute_all(&self, statements: &[&str]) -> Result<()> {
        self.execute(&statements.join(";"), &[])
    }

    fn atomically(&self, writes: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let mut failure = None;
        let committed = self.store.transaction(&mut || {
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

impl Bound {
    fn of(values: &[SqlValue]) -> Self {
        let mut bound = Self::default();
        bound.shape.reserve_exact(2 * values.len());
        for value in values {
            let (kind, number) = match value {
                SqlValue::Null => (0, 0),
                SqlValue::Integer(number) => (1, *number),
                SqlValue::Text(text) => {
                    bound.texts.push_str(text);
                    (2, length_in_javascript(text) as i64)
                }
                SqlValue::Bytes(held) => {
                    bound.bytes.extend_from_slice(held);
                    (3, held.len() as i64)
                }
            };
            bound.shape.extend([f64::from(kind), number as f64]);
        }
        bound
    }
}

/// The length of a text in the units of JavaScript's strings.
fn length_in_javascript(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}
