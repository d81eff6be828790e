//! The tables of a workspace's index: their existence, their version, and the steps that change them.
//!
//! Requests to an object interleave at every await, so a long request works in steps. Each leaves the
//! tables whole: a document has all its chunks, or is not there.

use std::cell::Cell;

use super::fields::text_and_comments;
use super::schema::VERSIONS;
use super::spans::{Span, Spans};
use super::terms::searchable;
use crate::contract::Fault;
use crate::ports::{Database, Row, Value, storage_failed, unreadable_column};
use crate::retrieval::pace::Pace;

/// The most chunks that one step writes, and the most that it deletes.
pub(in crate::retrieval) const STEP_CHUNKS: usize = 128;

/// The work of a chunk that is written or deleted.
pub(in crate::retrieval) const CHUNK_WORK: usize = 100;

/// The documents that one step describes, after their workspace was brought to its present form.
const STEP_DOCUMENTS: usize = 16;

/// The work of describing one document with as many properties as older versions took.
const DESCRIBING_WORK: usize = 1_000;

/// The keys and values of the documents of `d`, with their chunks.
const HELD: &str = "SELECT 'Path', path, first_chunk, first_chunk + chunks - 1 FROM d
    UNION ALL SELECT 'Language', language, first_chunk, first_chunk + chunks - 1 FROM d
    UNION ALL SELECT p.value ->> 0, v.value, first_chunk, first_chunk + chunks - 1
        FROM d CROSS JOIN json_each(d.properties) AS p CROSS JOIN json_each(p.value, '$[1]') AS v";

const STATE: &str =
    "SELECT next_chunk, (SELECT json_group_array(json_array(first_chunk, last_chunk))
    FROM hidden) AS hidden FROM index_state";

/// The tables in a database.
#[derive(Debug)]
pub(in crate::retrieval) struct Tables<D> {
    pub(in crate::retrieval) database: D,
    /// Whether the tables are known to exist in their present form.
    ready: Cell<bool>,
    /// How often everything was erased.
    era: Cell<u64>,
    /// Whether the chunks that an earlier instance left hidden have been asked for.
    leftovers_known: Cell<bool>,
}

/// What a search and a write begin from.
pub(in crate::retrieval) struct State {
    /// The id of the next chunk.
    pub(in crate::retrieval) next_chunk: u64,
    /// The chunks that belong to no document.
    pub(in crate::retrieval) hidden: Spans,
}

impl<D: Database> Tables<D> {
    pub(in crate::retrieval) fn new(database: D) -> Self {
        let (ready, leftovers_known) = (Cell::new(false), Cell::new(false));
        Self { database, ready, era: Cell::new(0), leftovers_known }
    }

    /// Forgets that the tables exist.
    pub(in crate::retrieval) fn forget(&self) {
        self.ready.set(false);
        self.era.set(self.era.get() + 1);
    }

    /// The era: with the next one, all that is known of the tables is void.
    pub(in crate::retrieval) fn era(&self) -> u64 {
        self.era.get()
    }

    /// One step of a request that began in `era`: all of it is kept or, when it fails, nothing. It
    /// creates the tables where there are none.
    pub(in crate::retrieval) fn step<T>(
        &self,
        era: u64,
        writes: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.era() != era {
            return Err(storage_failed());
        }
        if !self.exist()? {
            self.migrate(0)?;
        }
        self.database.transaction(writes)
    }

    /// Looks for the tables, and brings older ones to the present form.
    pub(in crate::retrieval) fn exist(&self) -> Result<bool, Fault> {
        if self.ready.get() {
            return Ok(true);
        }
        let table = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'index_state'";
        if self.database.first(table, &[])?.is_none() {
            return Ok(false);
        }
        let row = self.row("SELECT schema_version FROM index_state WHERE id = 1", &[])?;
        let version: usize = row.get("schema_version")?;
        if version > VERSIONS.len() {
            let message = "The workspace was written by a newer version of the service. Deploy that version again.";
            return Err(Fault::internal(message));
        }
        self.migrate(version)?;
        Ok(true)
    }

    /// Brings the tables from `version` to the present.
    fn migrate(&self, version: usize) -> Result<(), Fault> {
        if version < VERSIONS.len() {
            self.database.transaction(|| {
                for statement in VERSIONS.iter().skip(version).copied().flatten() {
                    self.database.execute(statement, &[])?;
                }
                let (statement, version) =
                    ("UPDATE index_state SET schema_version = ?", VERSIONS.len());
                self.database.execute(statement, &[version.into()])
            })?;
        }
        self.ready.set(true);
        Ok(())
    }

    pub(in crate::retrieval) fn state(&self) -> Result<State, Fault> {
        let row = self.row(STATE, &[])?;
        Ok(State { next_chunk: row.get("next_chunk")?, hidden: Spans::of(spans(&row, "hidden")?) })
    }

    /// The chunks that an earlier instance left hidden, for whoever asks first.
    pub(in crate::retrieval) fn leftovers(&self) -> Result<Vec<Span>, Fault> {
        if self.leftovers_known.get() {
            return Ok(Vec::new());
        }
        let row = self.row(STATE, &[])?;
        self.leftovers_known.set(true);
        spans(&row, "hidden")
    }

    /// Describes in `properties` the documents of which an older version wrote none. A scope is looked
    /// up there; whatever else an index does, it does without.
    pub(in crate::retrieval) async fn describe_all<F: AsyncFn()>(
        &self,
        pace: &mut Pace<F>,
    ) -> Result<(), Fault> {
        let era = self.era();
        loop {
            let described = self.row("SELECT described FROM index_state", &[])?;
            let Some(above) = described.get::<Option<String>>("described")? else { return Ok(()) };
            pace.before(STEP_DOCUMENTS * DESCRIBING_WORK).await;
            self.step(era, || {
                let page = "SELECT MAX(path) AS last, COUNT(*) AS documents FROM
                    (SELECT path FROM documents WHERE path > ? ORDER BY path LIMIT ?)";
                let row = self.row(page, &[above.as_str().into(), STEP_DOCUMENTS.into()])?;
                let last: Option<String> = row.get("last")?;
                if let Some(last) = &last {
                    let bounds = [above.as_str().into(), last.as_str().into()];
                    self.describe("path > ? AND path <= ?", &bounds)?;
                }
                let is_page = row.get::<usize>("documents")? == STEP_DOCUMENTS;
                let described = last.filter(|_| is_page);
                self.database.execute("UPDATE index_state SET described = ?", &[described.into()])
            })?;
        }
    }

    /// Writes the properties of the documents that `which` selects.
    pub(in crate::retrieval) fn describe(
        &self,
        which: &str,
        bounds: &[Value],
    ) -> Result<(), Fault> {
        let statement = format!(
            "WITH d AS MATERIALIZED (SELECT * FROM documents WHERE chunks > 0 AND {which})
            INSERT OR IGNORE INTO properties (key, value, first_chunk, last_chunk) {HELD}"
        );
        self.database.execute(&statement, bounds)
    }

    /// Deletes the properties of the document at `path`.
    pub(in crate::retrieval) fn undescribe(&self, path: &str) -> Result<(), Fault> {
        let statement = format!(
            "WITH d AS MATERIALIZED (SELECT * FROM documents WHERE chunks > 0 AND path = ?),
                held (key, value, first_chunk, last_chunk) AS ({HELD})
            DELETE FROM properties
            WHERE (key, value, first_chunk) IN (SELECT key, value, first_chunk FROM held)"
        );
        self.database.execute(&statement, &[path.into()])
    }

    /// Writes the terms of a chunk, whose document's path is `searchable` already.
    pub(in crate::retrieval) fn index_chunk(
        &self,
        id: u64,
        text: &str,
        path: &str,
    ) -> Result<(), Fault> {
        let (text, comments) = text_and_comments(text);
        self.database.execute(
            "INSERT INTO terms (rowid, text, comments, path) VALUES (?, ?, ?, ?)",
            &[id.into(), text.into(), comments.into(), path.into()],
        )
    }

    /// Indexes the chunks that an older version wrote, the last ones first. A search looks for terms;
    /// whatever else an index does, it does without.
    pub(in crate::retrieval) async fn index_all<F: AsyncFn()>(
        &self,
        pace: &mut Pace<F>,
    ) -> Result<(), Fault> {
        let era = self.era();
        loop {
            let row = self.row("SELECT unindexed FROM index_state", &[])?;
            let last: u64 = row.get("unindexed")?;
            if last == 0 {
                return Ok(());
            }
            pace.before(STEP_CHUNKS * CHUNK_WORK).await;
            self.step(era, || {
                let bounds: [Value; 2] = [last.into(), STEP_CHUNKS.into()];
                // FTS5 writes down what it has before an id that is less than the one above.
                let rows = self.database.query(
                    "SELECT * FROM (SELECT id, path, text FROM chunks WHERE id <= ?
                        ORDER BY id DESC LIMIT ?) ORDER BY id",
                    &bounds,
                )?;
                let first = rows.first().map(|row| row.get::<u64>("id")).transpose()?;
                for row in &rows {
                    let (text, path): (String, String) = (row.get("text")?, row.get("path")?);
                    self.index_chunk(row.get("id")?, &text, &searchable(&path))?;
                }
                let statement = "UPDATE index_state SET unindexed = ?";
                let left = first.map_or(0, |first| first.saturating_sub(1));
                self.database.execute(statement, &[left.into()])
            })?;
        }
    }

    pub(in crate::retrieval) fn erase(&self) -> Result<(), Fault> {
        let tables = [
            "terms",
            "chunks",
            "documents",
            "properties",
            "hidden",
            "vectors",
            "vector_sets",
            "index_state",
        ];
        self.database.transaction(|| {
            tables.iter().try_for_each(|table| {
                self.database.execute(&format!("DROP TABLE IF EXISTS {table}"), &[])
            })
        })?;
        self.forget();
        Ok(())
    }

    /// The one row of a statement that always has one.
    pub(in crate::retrieval) fn row(
        &self,
        statement: &str,
        parameters: &[Value],
    ) -> Result<Row, Fault> {
        let row = self.database.first(statement, parameters)?;
        row.ok_or_else(|| Fault::internal("The workspace's storage lost a row."))
    }
}

/// The spans in a column that holds them as a JSON array.
pub(super) fn spans(row: &Row, column: &str) -> Result<Vec<Span>, Fault> {
    serde_json::from_str(&row.get::<String>(column)?).map_err(|_| unreadable_column(column))
}
