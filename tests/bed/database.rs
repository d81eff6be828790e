//! SQLite in memory behind `Database`. A [`Disk`] outlives the instances that write to it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use aptix_edge::contract::Fault;
use aptix_edge::ports::{Database, Row, SqlValue, storage_failed};
use rusqlite::limits::Limit;
use rusqlite::{Connection, StatementStatus, types};

use super::instance::{Crash, Instance};

/// The longest row, in bytes, that a Durable Object's storage accepts.
const ROW_BYTES: i32 = 2_000_000;

/// The prepared statements that are kept: all that an object has.
const STATEMENTS_KEPT: usize = 512;

/// The storage that survives the end of an instance, with counters that are never reset.
pub struct Disk {
    connection: Connection,
    /// Number of durable steps.
    pub steps: Cell<u64>,
    /// Number of writing statements.
    pub writes: Cell<u64>,
    /// Number of rows written, entries of secondary indexes included.
    pub rows_written: Cell<u64>,
    /// Number of rows that statements returned.
    pub rows_returned: Cell<u64>,
    /// Bytes of text that statements returned.
    pub bytes_returned: Cell<usize>,
    /// The number of the writing statement that fails once; the instance lives on.
    pub failing_write: Cell<Option<u64>>,
    /// Every distinct statement since [`Disk::watch`].
    statements: RefCell<BTreeMap<String, Statement>>,
    /// The secondary indexes of each table that rows were inserted into, until tables change.
    indexes: RefCell<BTreeMap<String, u64>>,
}

/// The record of one statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// Number of runs.
    pub runs: u64,
    /// The most rows that one run returned.
    pub most_rows: u64,
    /// The most text that one run returned, in bytes.
    pub most_bytes: usize,
    /// The most rows that one run scanned without an index.
    pub most_scanned: i32,
}

/// One instance's access to a disk.
pub struct SqliteDatabase {
    pub disk: Rc<Disk>,
    pub instance: Rc<Instance>,
    depth: Cell<u32>,
}

impl Disk {
    pub fn new() -> Rc<Self> {
        let connection = Connection::open_in_memory().unwrap();
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, ROW_BYTES).unwrap();
        connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        Rc::new(Self {
            connection,
            steps: Cell::new(0),
            writes: Cell::new(0),
            rows_written: Cell::new(0),
            rows_returned: Cell::new(0),
            bytes_returned: Cell::new(0),
            failing_write: Cell::new(None),
            statements: RefCell::default(),
            indexes: RefCell::default(),
        })
    }

    /// Opens the storage in an instance of its own.
    pub fn database(self: &Rc<Self>) -> SqliteDatabase {
        SqliteDatabase::new(Rc::clone(self), Instance::new(0, None, Rc::default()))
    }

    /// Clears the record of statements.
    pub fn watch(&self) {
        self.statements.borrow_mut().clear();
    }

    /// The statements that ran since [`Disk::watch`].
    pub fn statements(&self) -> BTreeMap<String, Statement> {
        self.statements.borrow().clone()
    }

    /// SQLite's plan for a statement, one line for each step.
    pub fn plan(&self, statement: &str) -> Vec<String> {
        let mut explained =
            self.connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
        let rows = explained.raw_query();
        rows.mapped(|row| row.get::<_, String>("detail")).collect::<Result<_, _>>().unwrap()
    }

    /// Reads the storage for a test, past the product. Empty while the tables do not exist yet.
    pub fn read(&self, statement: &str) -> Vec<BTreeMap<String, serde_json::Value>> {
        let mut prepared = match self.connection.prepare(statement) {
            Ok(prepared) => prepared,
            // Of a column that is not there, too, nothing would be found.
            Err(fault) => {
                assert!(fault.to_string().contains("no such table"), "{statement}: {fault}");
                return Vec::new();
            }
        };
        let names: Vec<String> = prepared.column_names().map(str::to_owned).collect();
        let mut rows = prepared.query([]).unwrap();
        let mut read = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            read.push(cells(&names, row));
        }
        read
    }

    /// The session, past the product: its row, with what the newest turn has changed since, `state` as JSON. `None` while
    /// there is none.
    pub fn session(&self) -> Option<BTreeMap<String, serde_json::Value>> {
        let parsed =
            |text: &serde_json::Value| serde_json::from_str(text.as_str().unwrap()).unwrap();
        let mut session = self.read("SELECT * FROM session").pop()?;
        let state: serde_json::Value = parsed(&session["state"]);
        let newest =
            self.read("SELECT session_after FROM turns ORDER BY ordinal DESC LIMIT 1").pop();
        let after = newest.map(|turn| turn["session_after"].clone()).filter(|text| !text.is_null());
        session.insert("state".to_owned(), state);
        if let Some(serde_json::Value::Object(after)) = after.as_ref().map(parsed)
            && after["state"]["writes"].as_u64() > session["state"]["writes"].as_u64()
        {
            session.extend(after);
        }
        Some(session)
    }

    /// Frees the storage: no table is left.
    fn free(&self) {
        for table in self.read("SELECT name FROM sqlite_master WHERE type = 'table'") {
            self.write(&format!("DROP TABLE {}", table["name"].as_str().unwrap()));
        }
    }

    /// Corrupts or repairs the storage, past the product.
    pub fn write(&self, statement: &str) {
        self.indexes.borrow_mut().clear();
        self.connection.execute_batch(statement).unwrap();
    }

    /// The number of entries that an inserted row adds to secondary indexes.
    fn index_entries(&self, statement: &str) -> u64 {
        let mut words = statement.split_whitespace().skip_while(|word| *word != "INTO").skip(1);
        let Some(table) = words.next() else { return 0 };
        if let Some(entries) = self.indexes.borrow().get(table) {
            return *entries;
        }
        let entries = self
            .connection
            .prepare_cached("SELECT COUNT(*) FROM pragma_index_list(?) WHERE origin <> 'pk'")
            .unwrap()
            .query_row([table], |row| row.get::<_, i64>(0))
            .unwrap()
            .unsigned_abs();
        self.indexes.borrow_mut().insert(table.to_owned(), entries);
        entries
    }

    /// Notes what a run of a statement came to.
    fn note(&self, statement: &str, run: Statement) {
        let mut statements = self.statements.borrow_mut();
        let seen = match statements.get_mut(statement) {
            Some(seen) => seen,
            None => statements.entry(statement.to_owned()).or_default(),
        };
        seen.runs += run.runs;
        seen.most_rows = seen.most_rows.max(run.most_rows);
        seen.most_bytes = seen.most_bytes.max(run.most_bytes);
        seen.most_scanned = seen.most_scanned.max(run.most_scanned);
    }
}

impl SqliteDatabase {
    pub fn new(disk: Rc<Disk>, instance: Rc<Instance>) -> Self {
        let freed = Rc::clone(&disk);
        instance.has_storage(move || freed.free());
        Self { disk, instance, depth: Cell::new(0) }
    }

    /// Counts a durable step, after which the test may have the instance end.
    fn committed(&self) -> Result<(), Fault> {
        self.disk.steps.set(self.disk.steps.get() + 1);
        if self.instance.reach(Crash::AfterStep(self.disk.steps.get())) {
            Err(storage_failed())
        } else {
            Ok(())
        }
    }

    fn run(&self, statement: &str, parameters: &[SqlValue]) -> Result<Vec<Row>, Fault> {
        if !self.instance.alive() {
            return Err(storage_failed());
        }
        let disk = &self.disk;
        let fault = |_: rusqlite::Error| storage_failed();
        let mut prepared = disk.connection.prepare_cached(statement).map_err(fault)?;
        let writes = !prepared.readonly();
        if writes {
            disk.writes.set(disk.writes.get() + 1);
            if ["CREATE", "ALTER", "DROP"].iter().any(|change| statement.starts_with(change)) {
                disk.indexes.borrow_mut().clear();
            }
            if self.instance.reach(Crash::BeforeWrite(disk.writes.get())) {
                return Err(storage_failed());
            }
            if disk.failing_write.get() == Some(disk.writes.get()) {
                return Err(storage_failed());
            }
        }
        let bound: Vec<types::Value> = parameters.iter().map(bound).collect();

        let names: Vec<String> = prepared.column_names().map(str::to_owned).collect();
        let changed = disk.connection.total_changes();
        let mut given = Vec::new();
        {
            let mut rows = prepared.query(rusqlite::params_from_iter(bound)).map_err(fault)?;
            while let Some(row) = rows.next().map_err(fault)? {
                given.push(Row(cells(&names, row)));
            }
        }
        let changed = disk.connection.total_changes() - changed;
        if changed > 0 {
            disk.rows_written
                .set(disk.rows_written.get() + changed * (1 + disk.index_entries(statement)));
        }
        disk.rows_returned.set(disk.rows_returned.get() + given.len() as u64);
        let texts =
            given.iter().flat_map(|Row(cells)| cells.values().filter_map(|cell| cell.as_str()));
        let bytes = texts.map(str::len).sum();
        disk.bytes_returned.set(disk.bytes_returned.get() + bytes);
        disk.note(
            statement,
            Statement {
                runs: 1,
                most_rows: given.len() as u64,
                most_bytes: bytes,
                most_scanned: prepared.reset_status(StatementStatus::FullscanStep),
            },
        );
        drop(prepared);
        if writes && self.depth.get() == 0 {
            self.committed()?;
        }
        Ok(given)
    }
}

impl Database for SqliteDatabase {
    fn query(&self, statement: &str, parameters: &[SqlValue]) -> Result<Vec<Row>, Fault> {
        self.run(statement, parameters)
    }

    fn each_bytes(
        &self,
        statement: &str,
        parameters: &[SqlValue],
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<(), Fault> {
        if !self.instance.alive() {
            return Err(storage_failed());
        }
        let fault = |_: rusqlite::Error| storage_failed();
        let mut prepared = self.disk.connection.prepare_cached(statement).map_err(fault)?;
        let bound: Vec<types::Value> = parameters.iter().map(bound).collect();
        let mut rows = prepared.query(rusqlite::params_from_iter(bound)).map_err(fault)?;
        let mut passed = 0;
        while let Some(row) = rows.next().map_err(fault)? {
            let id: i64 = row.get(0).map_err(fault)?;
            each(id.unsigned_abs(), row.get_ref(1).unwrap().as_blob().unwrap());
            passed += 1;
        }
        self.disk.rows_returned.set(self.disk.rows_returned.get() + passed);
        self.disk.note(statement, Statement { runs: 1, most_rows: passed, ..Statement::default() });
        Ok(())
    }

    fn execute(&self, statement: &str, parameters: &[SqlValue]) -> Result<(), Fault> {
        let given = self.run(statement, parameters)?;
        assert!(given.is_empty(), "these rows would be lost: {statement}");
        Ok(())
    }

    fn atomically(&self, writes: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        if !self.instance.alive() {
            return Err(storage_failed());
        }
        let depth = self.depth.get();
        let connection = &self.disk.connection;
        let before = self.disk.writes.get();
        connection.execute_batch(&format!("SAVEPOINT depth_{depth}")).unwrap();
        self.depth.set(depth + 1);
        let done = writes();
        self.depth.set(depth);
        // A transaction is rolled back when its instance ended before the commit.
        let kept = done.is_ok() && self.instance.alive();
        if !kept {
            // Tables that it has changed are as before.
            self.disk.indexes.borrow_mut().clear();
        }
        let undo = if kept { String::new() } else { format!("ROLLBACK TO depth_{depth};") };
        connection.execute_batch(&format!("{undo} RELEASE depth_{depth}")).unwrap();
        if kept && depth == 0 && self.disk.writes.get() > before {
            self.committed()?;
        }
        done
    }
}

fn bound(value: &SqlValue) -> types::Value {
    match value {
        SqlValue::Null => types::Value::Null,
        SqlValue::Integer(number) => {
            assert!(number.unsigned_abs() <= 1 << 53, "{number} would not read back");
            types::Value::Integer(*number)
        }
        SqlValue::Text(text) => types::Value::Text(text.clone()),
        SqlValue::Bytes(bytes) => types::Value::Blob(bytes.clone()),
    }
}

/// The cells of a row by the names of their columns.
fn cells<C: FromIterator<(String, serde_json::Value)>>(names: &[String], row: &rusqlite::Row) -> C {
    let cell = |place: usize| match row.get::<_, types::Value>(place).unwrap() {
        types::Value::Null => serde_json::Value::Null,
        types::Value::Integer(number) => number.into(),
        types::Value::Text(text) => text.into(),
        types::Value::Blob(bytes) => format!("{} bytes", bytes.len()).into(),
        types::Value::Real(_) => panic!("the product stores no fractions"),
    };
    names.iter().enumerate().map(|(place, name)| (name.clone(), cell(place))).collect()
}
