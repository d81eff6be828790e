//! SQLite in memory behind `Database`, for an index alone. It counts statements and rows.

use std::cell::{Cell, RefCell};

use aptix_edge::contract::Fault;
use aptix_edge::ports::{Database, Row, SqlValue, storage_failed};
use rusqlite::limits::Limit;
use rusqlite::{Connection, types};

/// A database of its own.
pub(crate) struct Storage {
    connection: Connection,
    depth: Cell<u32>,
    /// Writing statements so far.
    writes: Cell<u64>,
    /// Rows returned so far.
    rows_returned: Cell<u64>,
    /// The most bytes of text that one statement returned.
    pub(crate) most_bytes: Cell<usize>,
    /// The number of writing statements before the one that fails.
    failing_in: RefCell<Option<u64>>,
}

impl Storage {
    pub(crate) fn new() -> Self {
        let connection = Connection::open_in_memory().unwrap();
        // That of a Durable Object's storage.
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, 2_000_000).unwrap();
        Self {
            connection,
            depth: Cell::new(0),
            writes: Cell::new(0),
            rows_returned: Cell::new(0),
            most_bytes: Cell::new(0),
            failing_in: RefCell::new(None),
        }
    }

    /// Writing statements, rows written (those of FTS5's own tables included) and rows returned.
    pub(crate) fn cost(&self) -> (u64, u64, u64) {
        (self.writes.get(), self.connection.total_changes(), self.rows_returned.get())
    }

    /// Makes a writing statement fail, the one after `others` more.
    pub(crate) fn fail_after(&self, others: u64) {
        *self.failing_in.borrow_mut() = Some(others);
    }

    /// One number out of the storage, read without the product.
    pub(crate) fn number(&self, statement: &str) -> i64 {
        self.connection.query_row(statement, [], |row| row.get(0)).unwrap()
    }

    /// Writes to the storage without the product.
    pub(crate) fn write(&self, statement: &str) {
        self.connection.execute_batch(statement).unwrap();
    }

    fn fails_now(&self) -> bool {
        let mut failing = self.failing_in.borrow_mut();
        match failing.take() {
            None => false,
            Some(0) => true,
            Some(others) => {
                *failing = Some(others - 1);
                false
            }
        }
    }
}

fn bound(value: &SqlValue) -> types::Value {
    match value {
        SqlValue::Null => types::Value::Null,
        SqlValue::Integer(number) => types::Value::Integer(*number),
        SqlValue::Text(text) => types::Value::Text(text.clone()),
        SqlValue::Bytes(bytes) => types::Value::Blob(bytes.clone()),
    }
}

impl Database for &Storage {
    fn each_bytes(
        &self,
        statement: &str,
        parameters: &[SqlValue],
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<(), Fault> {
        (**self).each_bytes(statement, parameters, each)
    }

    fn query(&self, statement: &str, parameters: &[SqlValue]) -> Result<Vec<Row>, Fault> {
        (**self).query(statement, parameters)
    }

    fn execute(&self, statement: &str, parameters: &[SqlValue]) -> Result<(), Fault> {
        (**self).execute(statement, parameters)
    }

    fn atomically(&self, writes: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        (**self).atomically(writes)
    }
}

impl Database for Storage {
    fn each_bytes(
        &self,
        statement: &str,
        parameters: &[SqlValue],
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<(), Fault> {
        let mut prepared = self.connection.prepare_cached(statement).unwrap();
        let bound = rusqlite::params_from_iter(parameters.iter().map(bound));
        let mut rows = prepared.query(bound).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let id: i64 = row.get(0).unwrap();
            each(id.unsigned_abs(), row.get_ref(1).unwrap().as_blob().unwrap());
        }
        Ok(())
    }

    fn query(&self, statement: &str, parameters: &[SqlValue]) -> Result<Vec<Row>, Fault> {
        let fault = |_: rusqlite::Error| storage_failed();
        let mut prepared = self.connection.prepare_cached(statement).map_err(fault)?;
        if !prepared.readonly() {
            self.writes.set(self.writes.get() + 1);
            if self.fails_now() {
                return Err(storage_failed());
            }
        }
        let bound = parameters.iter().map(bound);
        let names: Vec<String> = prepared.column_names().map(str::to_owned).collect();
        let mut rows = prepared.query(rusqlite::params_from_iter(bound)).map_err(fault)?;
        let (mut given, bytes) = (Vec::new(), Cell::new(0));
        while let Some(row) = rows.next().map_err(fault)? {
            let cell = |place: usize| match row.get::<_, types::Value>(place).unwrap() {
                types::Value::Null => serde_json::Value::Null,
                types::Value::Integer(number) => number.into(),
                types::Value::Text(text) => {
                    bytes.set(bytes.get() + text.len());
                    text.into()
                }
                other => panic!("{other:?} is read, only text and integers are"),
            };
            let cells = names.iter().enumerate().map(|(place, name)| (name.clone(), cell(place)));
            given.push(Row(cells.collect()));
        }
        self.most_bytes.set(self.most_bytes.get().max(bytes.get()));
        self.rows_returned.set(self.rows_returned.get() + given.len() as u64);
        Ok(given)
    }

    fn execute(&self, statement: &str, parameters: &[SqlValue]) -> Result<(), Fault> {
        let given = self.query(statement, parameters)?;
        assert!(given.is_empty(), "these rows would be lost: {statement}");
        Ok(())
    }

    fn atomically(&self, writes: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        let depth = self.depth.get();
        self.connection.execute_batch(&format!("SAVEPOINT depth_{depth}")).unwrap();
        self.depth.set(depth + 1);
        let done = writes();
        self.depth.set(depth);
        let undo = if done.is_ok() { String::new() } else { format!("ROLLBACK TO depth_{depth};") };
        self.connection.execute_batch(&format!("{undo} RELEASE depth_{depth}")).unwrap();
        done
    }
}
