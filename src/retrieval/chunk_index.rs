//! The index of one workspace in its object's SQLite (interface §7).
//!
//! It owns the statements, and the decision whether a document is unchanged: same `ContentHash`,
//! language and properties, cut by the same rules, and equal in what the hash does not cover. The
//! storage is billed by rows: a chunk costs one here and one in FTS5's tables, an unchanged document
//! one row read.

use std::cell::Cell;

use serde::Serialize;

use super::Chunk;
use super::chunking::pieces;
use super::language_of;
use super::schema::VERSIONS;
use super::scope::permits;
use super::terms::{match_expression, searchable};
use crate::contract::{Document, Fault, Properties, RagScope};
use crate::encoding::content_hashes_of_text;
use crate::ports::{Database, Row, Value};

/// The version of the rules for chunks and terms. A new number makes every document count as changed
/// when it is sent again.
const RULES: u32 = 1;

/// The most documents that one statement reads for a scope.
const SCOPE_PAGE: usize = 2_000;

/// A workspace's index.
///
/// A method fails with `internal` when the storage fails; then nothing was written.
#[derive(Debug)]
pub struct ChunkIndex<D> {
    database: D,
    /// Whether the tables are known to exist in their present form.
    ready: Cell<bool>,
}

/// A document that was sent, as its client sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Upserted {
    /// The document's path.
    pub path: String,
    /// How many chunks it has in the index.
    pub chunks: usize,
    /// The hash of its text (IDX-016).
    pub content_hash: String,
    /// Whether anything was written.
    pub changed: bool,
}

/// The size of an index, or of the part that was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Counts {
    /// Documents.
    pub documents: usize,
    /// Their chunks.
    pub chunks: usize,
    /// Length of their contents, in bytes of UTF-8.
    pub bytes: usize,
}

impl<D: Database> ChunkIndex<D> {
    /// The index in a database. Nothing is read or written yet.
    pub fn new(database: D) -> Self {
        Self { database, ready: Cell::new(false) }
    }

    /// Forgets that the tables exist, after the whole storage was deleted.
    pub fn forget(&self) {
        self.ready.set(false);
    }

    /// Stores documents in one step, each in place of the document that had its path.
    pub fn upsert(&self, documents: &[Document]) -> Result<Vec<Upserted>, Fault> {
        let done = self.database.transaction(|| {
            if !self.find_tables()? {
                self.migrate(0)?;
            }
            // All deletions come first, so that FTS5 writes all insertions in one piece.
            let mut replaced = documents
                .iter()
                .map(|document| self.replace(document))
                .collect::<Result<Vec<_>, _>>()?;
            if replaced.iter().any(|(upserted, _)| upserted.changed) {
                let rows = "SELECT COALESCE(MAX(id), 0) + 1 AS id FROM chunks";
                let mut next = self.row(rows)?.get("id")?;
                for (document, (upserted, whole_hash)) in documents.iter().zip(&mut replaced) {
                    if upserted.changed {
                        let hashes = [upserted.content_hash.as_str(), whole_hash];
                        upserted.chunks = self.insert(document, hashes, next)?;
                        next += upserted.chunks;
                    }
                }
            }
            self.ready.set(true);
            Ok(replaced.into_iter().map(|(upserted, _)| upserted).collect())
        });
        if done.is_err() {
            // The transaction that failed may have created the tables.
            self.ready.set(false);
        }
        done
    }

    /// Removes the document at `path`, or all documents under it when it ends in `/`.
    pub fn remove(&self, path: &str) -> Result<Counts, Fault> {
        if !self.find_tables()? {
            return Ok(Counts::default());
        }
        // `0` follows `/` in ASCII, so the paths below `a/` are those from `a/` up to `a0`.
        let folder = path.strip_suffix('/').map(|folder| format!("{folder}0"));
        let range =
            if folder.is_some() { "path >= ? AND path < ?" } else { "path >= ? AND path <= ?" };
        let bounds: [Value; 2] = [path.into(), folder.unwrap_or_else(|| path.to_owned()).into()];
        self.database.transaction(|| {
            let mut removed = Counts::default();
            let rows = self.database.query(
                &format!("SELECT first_chunk, chunks, bytes FROM documents WHERE {range}"),
                &bounds,
            )?;
            for row in &rows {
                self.delete_chunks(row)?;
                removed.documents += 1;
                removed.chunks += row.get::<usize>("chunks")?;
                removed.bytes += row.get::<usize>("bytes")?;
            }
            if removed.documents > 0 {
                self.database.execute(&format!("DELETE FROM documents WHERE {range}"), &bounds)?;
            }
            Ok(removed)
        })
    }

    /// The size of the index.
    pub fn counts(&self) -> Result<Counts, Fault> {
        if !self.find_tables()? {
            return Ok(Counts::default());
        }
        let row = self.row(
            "SELECT COUNT(*) AS documents, COALESCE(SUM(chunks), 0) AS chunks,
                COALESCE(SUM(bytes), 0) AS bytes FROM documents",
        )?;
        Ok(Counts {
            documents: row.get("documents")?,
            chunks: row.get("chunks")?,
            bytes: row.get("bytes")?,
        })
    }

    /// Deletes the whole index with its tables.
    pub fn erase(&self) -> Result<(), Fault> {
        self.database.transaction(|| {
            ["terms", "chunks", "documents", "index_state"].iter().try_for_each(|table| {
                self.database.execute(&format!("DROP TABLE IF EXISTS {table}"), &[])
            })
        })?;
        self.ready.set(false);
        Ok(())
    }

    /// The best chunks for a query within a scope, best first, at most `limit` of them. A chunk that
    /// does not fit into what is left of `max_bytes` is passed over.
    pub fn search(
        &self,
        query: &str,
        scope: Option<&RagScope>,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Vec<Chunk>, Fault> {
        let Some(terms) = match_expression(query) else { return Ok(Vec::new()) };
        if !self.find_tables()? {
            return Ok(Vec::new());
        }
        let permitted = match scope {
            Some(scope) if !scope.conditions.is_empty() => Some(self.permitted(scope)?),
            _ => None,
        };
        let within = if permitted.is_some() { WITHIN } else { "" };
        let mut parameters: Vec<Value> = vec![terms.into()];
        parameters.extend(permitted.map(Value::from));
        parameters.push(limit.into());
        // Path and line order equal scores, so the same index always gives the same chunks.
        let rows = self.database.query(
            &format!(
                "WITH best AS MATERIALIZED (
                    SELECT c.id AS id, c.path AS path, c.start_line AS start_line,
                        CAST(bm25(terms) * -1000000 AS INTEGER) AS score
                    FROM terms CROSS JOIN chunks AS c ON c.id = terms.rowid
                    WHERE terms MATCH ? {within}
                    ORDER BY score DESC, c.path, c.start_line LIMIT ?)
                SELECT best.path, best.start_line, c.end_line, c.text, d.language
                FROM best CROSS JOIN chunks AS c ON c.id = best.id
                CROSS JOIN documents AS d ON d.path = best.path
                ORDER BY best.score DESC, best.path, best.start_line"
            ),
            &parameters,
        )?;
        let mut room = max_bytes;
        let mut found = Vec::new();
        for row in &rows {
            let text: String = row.get("text")?;
            if text.len() > room {
                continue;
            }
            room -= text.len();
            found.push(Chunk {
                path: row.get("path")?,
                start_line: row.get("start_line")?,
                end_line: row.get("end_line")?,
                language: row.get("language")?,
                text,
            });
        }
        Ok(found)
    }

    /// The ids of the chunks that a scope permits, as a JSON array of spans `[first, last]`.
    fn permitted(&self, scope: &RagScope) -> Result<String, Fault> {
        let mut spans: Vec<[usize; 2]> = Vec::new();
        let mut after = String::new();
        loop {
            let rows = self.database.query(
                "SELECT path, language, properties, first_chunk, chunks FROM documents
                WHERE path > ? ORDER BY path LIMIT ?",
                &[after.as_str().into(), SCOPE_PAGE.into()],
            )?;
            for row in &rows {
                let path: String = row.get("path")?;
                let language: String = row.get("language")?;
                let properties: Properties =
                    serde_json::from_str(&row.get::<String>("properties")?).map_err(|_| {
                        Fault::internal("The workspace's storage holds unreadable properties.")
                    })?;
                let chunks: usize = row.get("chunks")?;
                if chunks > 0 && permits(scope, &path, &language, &properties) {
                    let first: usize = row.get("first_chunk")?;
                    match spans.last_mut() {
                        Some([_, last]) if *last + 1 == first => *last += chunks,
                        _ => spans.push([first, first + chunks - 1]),
                    }
                }
                after = path;
            }
            if rows.len() < SCOPE_PAGE {
                return serde_json::to_string(&spans).map_err(|_| Fault::unwritable("A scope"));
            }
        }
    }

    /// Compares a document with the stored one and, when they differ, deletes the chunks of the stored
    /// one. Returns the document's `whole_hash`, too.
    fn replace(&self, document: &Document) -> Result<(Upserted, String), Fault> {
        let (content_hash, whole_hash) = content_hashes_of_text(&document.contents);
        let stored = self.database.first(
            "SELECT language, properties, content_hash, whole_hash, rules, first_chunk, chunks
            FROM documents WHERE path = ?",
            &[document.path.as_str().into()],
        )?;
        let mut upserted =
            Upserted { path: document.path.clone(), chunks: 0, content_hash, changed: true };
        if let Some(row) = &stored {
            let differs = |column, text: &str| Ok::<_, Fault>(row.get::<String>(column)? != text);
            upserted.changed = differs("content_hash", &upserted.content_hash)?
                || differs("whole_hash", &whole_hash)?
                || differs("language", &language(document))?
                || differs("properties", &properties_column(document)?)?
                || row.get::<u32>("rules")? != RULES;
            upserted.chunks = row.get("chunks")?;
            if upserted.changed {
                self.delete_chunks(row)?;
            }
        }
        Ok((upserted, whole_hash))
    }

    /// Writes a document and its chunks, with ids from `first_chunk` on. Returns the number of chunks.
    fn insert(
        &self,
        document: &Document,
        [content_hash, whole_hash]: [&str; 2],
        first_chunk: usize,
    ) -> Result<usize, Fault> {
        let pieces = pieces(&document.contents);
        let path = document.path.as_str();
        let path_terms = searchable(path);
        for (id, piece) in (first_chunk..).zip(&pieces) {
            self.database.execute(
                "INSERT INTO chunks (id, path, start_line, end_line, text) VALUES (?, ?, ?, ?, ?)",
                &[
                    id.into(),
                    path.into(),
                    piece.start_line.into(),
                    piece.end_line.into(),
                    piece.text.into(),
                ],
            )?;
            self.database.execute(
                "INSERT INTO terms (rowid, text, path) VALUES (?, ?, ?)",
                &[id.into(), searchable(piece.text).into(), path_terms.as_str().into()],
            )?;
        }
        self.database.execute(
            "INSERT OR REPLACE INTO documents
            (path, language, properties, content_hash, whole_hash, rules, first_chunk, chunks, bytes)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            &[
                path.into(),
                language(document).into(),
                properties_column(document)?.into(),
                content_hash.into(),
                whole_hash.into(),
                RULES.into(),
                first_chunk.into(),
                pieces.len().into(),
                document.contents.len().into(),
            ],
        )?;
        Ok(pieces.len())
    }

    /// The one row of a statement that always has one.
    fn row(&self, statement: &str) -> Result<Row, Fault> {
        let row = self.database.first(statement, &[])?;
        row.ok_or_else(|| Fault::internal("The workspace's storage lost a row."))
    }

    /// Deletes the chunks of a document by its row.
    fn delete_chunks(&self, document: &Row) -> Result<(), Fault> {
        let first: usize = document.get("first_chunk")?;
        let end = first + document.get::<usize>("chunks")?;
        let bounds: [Value; 2] = [first.into(), end.into()];
        // A subquery names the ids, because the object's storage binds numbers as doubles, for which
        // FTS5 would scan its whole table.
        [
            "DELETE FROM terms WHERE rowid IN (SELECT id FROM chunks WHERE id >= ? AND id < ?)",
            "DELETE FROM chunks WHERE id >= ? AND id < ?",
        ]
        .iter()
        .try_for_each(|statement| self.database.execute(statement, &bounds))
    }

    /// Looks for the tables, and brings older ones to the present form.
    fn find_tables(&self) -> Result<bool, Fault> {
        if self.ready.get() {
            return Ok(true);
        }
        let table = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'index_state'";
        if self.database.first(table, &[])?.is_none() {
            return Ok(false);
        }
        let row = self.row("SELECT schema_version FROM index_state WHERE id = 1")?;
        let version: usize = row.get("schema_version")?;
        if version > VERSIONS.len() {
            let message = "The workspace was written by a newer version of the service. Deploy that version again.";
            return Err(Fault::internal(message));
        }
        self.migrate(version)?;
        self.ready.set(true);
        Ok(true)
    }

    /// Brings the tables from `version` to the present.
    fn migrate(&self, version: usize) -> Result<(), Fault> {
        if version == VERSIONS.len() {
            return Ok(());
        }
        self.database.transaction(|| {
            for statement in VERSIONS.iter().skip(version).copied().flatten() {
                self.database.execute(statement, &[])?;
            }
            let version = VERSIONS.len();
            self.database.execute("UPDATE index_state SET schema_version = ?", &[version.into()])
        })
    }
}

/// Limits a search to the chunks of the bound spans. The unary `+` keeps SQLite from a query of FTS5
/// for each id.
const WITHIN: &str = "AND +c.id IN (SELECT p.id FROM json_each(?) AS span CROSS JOIN chunks AS p
    ON p.id BETWEEN span.value ->> 0 AND span.value ->> 1)";

fn language(document: &Document) -> String {
    language_of(document.language.as_deref(), &document.path)
}

fn properties_column(document: &Document) -> Result<String, Fault> {
    serde_json::to_string(&document.properties)
        .map_err(|_| Fault::internal("A document's properties cannot be written."))
}
