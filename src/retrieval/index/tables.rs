//! The tables of a workspace's index: their existence, their version, and the steps that change them.
//!
//! Requests to an object interleave at every await, so a long request works in steps. Each leaves the
//! tables whole: a document has all its chunks, or is not there.

use std::cell::{Cell, RefCell};

use super::fields::text_and_comments;
use super::schema::{SCHEMA, TABLES};
use super::spans::{Span, Spans};
use crate::contract::{Fault, Result};
use crate::object::drop_tables;
use crate::ports::{Database, Row, SqlValue, insert, storage_failed, unreadable_column};
use crate::retrieval::work_budget::Work;

/// The most chunks that one step writes, and the most that it deletes.
pub(crate) const STEP_CHUNKS: usize = 128;

/// The work of writing or deleting a chunk.
pub(crate) const CHUNK_WORK: Work = Work::from_us(100);

/// The keys and values of the documents in `d`, with their chunks.
const PROPERTIES: &str = "SELECT 'Path', path, first_chunk, first_chunk + chunks - 1 FROM d
    UNION ALL SELECT 'Language', language, first_chunk, first_chunk + chunks - 1 FROM d
    UNION ALL SELECT p.value ->> 0, v.value, first_chunk, first_chunk + chunks - 1
        FROM d CROSS JOIN json_each(d.properties) AS p CROSS JOIN json_each(p.value, '$[1]') AS v";

const STATE: &str =
    "SELECT next_chunk, (SELECT json_group_array(json_array(first_chunk, last_chunk))
    FROM hidden) AS hidden FROM index_state";

/// The tables in a database.
pub(crate) struct Tables<D> {
    pub(crate) database: D,
    /// Whether the tables are known to exist in their present form.
    ready: Cell<bool>,
    /// How often everything was erased.
    generation: Cell<u64>,
    /// Whether the chunks that an earlier instance left hidden were read.
    leftovers_read: Cell<bool>,
    /// The first ids of the chunks that a failed write of this instance has left hidden.
    left: RefCell<Vec<u64>>,
}

/// What a search and a write begin from.
pub(crate) struct State {
    /// The id of the next chunk.
    pub(crate) next_chunk: u64,
    /// The chunks that belong to no document.
    pub(crate) hidden: Spans,
}

impl<D: Database> Tables<D> {
    pub(crate) fn new(database: D) -> Self {
        let (ready, leftovers_read) = (Cell::new(false), Cell::new(false));
        Self { database, ready, generation: Cell::new(0), leftovers_read, left: RefCell::default() }
    }

    /// Forgets that the tables exist, and begins a new generation.
    pub(crate) fn forget(&self) {
        self.ready.set(false);
        self.left.take();
        self.generation.set(self.generation.get() + 1);
    }

    /// The generation between two erasures. What was read in an earlier one is void.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.get()
    }

    /// One step of a request that began in `generation`: all of it is stored or, when it fails, nothing. Creates
    /// the tables where there are none. Fails in a later generation.
    pub(crate) fn step<T>(&self, generation: u64, writes: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.generation() != generation {
            return Err(storage_failed());
        }
        if !self.exist()? {
            self.create()?;
        }
        self.database.transaction(writes)
    }

    /// Whether the tables exist. Brings older ones to the present form.
    pub(crate) fn exist(&self) -> Result<bool> {
        if !self.ready.get() {
            self.ready.set(SCHEMA.find(&self.database)?);
        }
        Ok(self.ready.get())
    }

    fn create(&self) -> Result<()> {
        self.database.transaction(|| {
            self.database.execute_all(TABLES)?;
            let row = "INSERT INTO index_state (id, schema_version, next_chunk) VALUES (1, ?, 1)";
            self.database.execute(row, &[SCHEMA.form().into()])
        })?;
        self.ready.set(true);
        Ok(())
    }

    pub(crate) fn state(&self) -> Result<State> {
        let row = self.row(STATE, &[])?;
        Ok(State { next_chunk: row.get("next_chunk")?, hidden: Spans::of(spans(&row, "hidden")?) })
    }

    /// The chunks that an earlier instance left hidden, and those that failed writes of this one have left since; none
    /// that was returned before.
    pub(crate) fn leftovers(&self) -> Result<Vec<Span>> {
        let is_known = self.leftovers_read.get();
        if is_known && self.left.borrow().is_empty() {
            return Ok(Vec::new());
        }
        let row = self.row(STATE, &[])?;
        let mut hidden = spans(&row, "hidden")?;
        self.leftovers_read.set(true);
        let left = self.left.take();
        if is_known {
            // The others belong to writes that are under way.
            hidden.retain(|[first, _]| left.contains(first));
        }
        Ok(hidden)
    }

    /// Notes that a write has left chunks hidden, by their first ids.
    pub(crate) fn leave(&self, hidden: &[u64]) {
        self.left.borrow_mut().extend_from_slice(hidden);
    }

    /// Writes the properties of the document at `path`.
    pub(crate) fn insert_properties(&self, path: &str) -> Result<()> {
        let statement = format!(
            "WITH d AS MATERIALIZED (SELECT * FROM documents WHERE chunks > 0 AND path = ?)
            INSERT OR IGNORE INTO properties (key, value, first_chunk, last_chunk) {PROPERTIES}"
        );
        self.database.execute(&statement, &[path.into()])
    }

    /// Deletes the properties of the document at `path`.
    pub(crate) fn delete_properties(&self, path: &str) -> Result<()> {
        let statement = format!(
            "WITH d AS MATERIALIZED (SELECT * FROM documents WHERE chunks > 0 AND path = ?),
                stored (key, value, first_chunk, last_chunk) AS ({PROPERTIES})
            DELETE FROM properties
            WHERE (key, value, first_chunk) IN (SELECT key, value, first_chunk FROM stored)"
        );
        self.database.execute(&statement, &[path.into()])
    }

    /// Writes the terms of a chunk. `path` is that of its document, as [`searchable`] returns it.
    pub(crate) fn insert_terms(&self, id: u64, text: &str, path: &str) -> Result<()> {
        let (text, comments) = text_and_comments(text);
        insert!(self.database, "INSERT INTO" terms { rowid: id, text, comments, path })
    }

    pub(crate) fn erase(&self) -> Result<()> {
        self.database.transaction(|| drop_tables(&self.database, TABLES))?;
        self.forget();
        Ok(())
    }

    /// The one row of a statement that always has one.
    pub(crate) fn row(&self, statement: &str, parameters: &[SqlValue]) -> Result<Row> {
        let row = self.database.first(statement, parameters)?;
        row.ok_or_else(|| Fault::internal("The workspace's storage lost a row."))
    }
}

/// The spans in a column that holds them as a JSON array.
pub(super) fn spans(row: &Row, column: &str) -> Result<Vec<Span>> {
    serde_json::from_str(&row.get::<String>(column)?).map_err(|_| unreadable_column(column))
}
