//! Writing and deleting documents.
//!
//! It owns the decision whether a document is unchanged: same `ContentHash`, language and properties,
//! cut by the same rules, and equal in what the hash does not cover. Other line endings change the stored hash and no
//! chunk. The storage is billed by rows: a chunk costs one here and one in FTS5's tables, a value of a property
//! one, an unchanged document one row read.
//!
//! One step replaces many short documents. A long document takes several steps, in which its new chunks, and then
//! those of its predecessor, are hidden.

use serde::Serialize;

use super::chunking::{HARD_LIMIT_BYTES, Piece, pieces};
use super::spans::Span;
use super::tables::{CHUNK_WORK, STEP_CHUNKS, Tables};
use super::terms::searchable;
use crate::contract::{Document, Fault, Result};
use crate::encoding::{TextHashes, TextHashing, language_of};
use crate::ports::{Database, SqlValue, insert};
use crate::retrieval::work_budget::{Work, WorkBudget};

/// The version of the rules for chunks and terms. A new number makes every document count as changed
/// when it is sent again.
pub(super) const RULES: u32 = 2;

/// The most documents that one step removes.
const STEP_DOCUMENTS: usize = 32;

/// The values of properties whose writing costs as much as that of a chunk.
const CHUNK_VALUES: usize = 16;

/// The work of a document beside its chunks.
const DOCUMENT_WORK: Work = Work::from_us(100);

/// The most bytes of a document that are hashed, and the most pieces into which it is cut, before the budget is asked
/// again.
const STEP_BYTES: usize = 64 * 1024;
const STEP_PIECES: usize = STEP_BYTES / HARD_LIMIT_BYTES;

/// The work of hashing or cutting a byte.
const BYTE_WORK: Work = Work::from_ps(12_207);

/// The result of storing one document, as its client sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Upserted {
    pub path: String,
    /// How many chunks it has in the index.
    pub chunks: usize,
    /// The hash of its text (IDX-016).
    pub content_hash: String,
    /// SHA-256 of its contents as they were sent, in UTF-8, lower-case hex.
    pub sha256: String,
    /// Whether it was indexed again.
    pub changed: bool,
}

/// The size of an index, or of the part that was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Counts {
    pub documents: usize,
    pub chunks: usize,
    /// Length of their contents, in bytes of UTF-8.
    pub bytes: usize,
    /// The chunks that have their vectors, where embeddings are configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedded_chunks: Option<usize>,
}

/// Which rows of `documents` a path means, from the path itself up to the text beside the condition: one, or all below
/// it when it ends in `/`.
fn range_of(path: &str) -> (&'static str, String) {
    // `0` follows `/` in ASCII, so the paths below `a/` are those from `a/` up to `a0`.
    match path.strip_suffix('/') {
        Some(folder) => ("path >= ? AND path < ?", format!("{folder}0")),
        None => ("path >= ? AND path <= ?", path.to_owned()),
    }
}

/// A document to write in place of the one that has its path.
struct Change<'d> {
    document: &'d Document,
    hashes: TextHashes,
    pieces: Vec<Piece<'d>>,
    /// The work besides writing its own chunks, in chunks: its row, its properties, and the chunks that it replaces.
    extra_cost: usize,
}

/// The writes of one request. They fail once everything was erased.
pub(crate) struct Writer<'t, D: Database, F: AsyncFn()> {
    tables: &'t Tables<D>,
    budget: &'t mut WorkBudget<F>,
    generation: u64,
    /// The first ids of the chunks that it has hidden and not deleted or shown yet.
    hidden: Vec<u64>,
}

/// Whatever a write that failed leaves hidden is deleted by the next one: it would hold up the embedding of all chunks behind
/// it.
impl<D: Database, F: AsyncFn()> Drop for Writer<'_, D, F> {
    fn drop(&mut self) {
        if self.tables.generation() == self.generation {
            self.tables.leave(&self.hidden);
        }
    }
}

impl<'t, D: Database, F: AsyncFn()> Writer<'t, D, F> {
    pub(crate) fn new(tables: &'t Tables<D>, budget: &'t mut WorkBudget<F>) -> Self {
        let generation = tables.generation();
        Self { tables, budget, generation, hidden: Vec::new() }
    }

    /// Stores documents. Readers see each of them change in one step.
    pub(crate) async fn upsert(&mut self, documents: &[Document]) -> Result<Vec<Upserted>> {
        self.sweep_leftovers().await?;
        let mut all = Vec::new();
        let (mut short, mut cost_of_short) = (Vec::new(), 0);
        for document in documents {
            let (upserted, change) = self.compare_with_stored(document).await?;
            all.push(upserted);
            let Some(change) = change else { continue };
            if change.pieces.len() > STEP_CHUNKS {
                self.write_long(change).await?;
                continue;
            }
            let cost = change.pieces.len() + change.extra_cost;
            if cost_of_short + cost > STEP_CHUNKS {
                self.write_short(&std::mem::take(&mut short)).await?;
                cost_of_short = 0;
            }
            cost_of_short += cost;
            short.push(change);
        }
        self.write_short(&short).await?;
        Ok(all)
    }

    /// Deletes the chunks that an earlier instance, or a write that failed, has left hidden.
    pub(crate) async fn sweep_leftovers(&mut self) -> Result<()> {
        let leftovers = self.tables.step(self.generation, || self.tables.leftovers())?;
        self.sweep(leftovers).await
    }

    /// Removes the document at `path`, or all documents under it when it ends in `/`.
    pub(crate) async fn remove(&mut self, path: &str) -> Result<Counts> {
        // What a removal that failed has left is in no document any more, so its repetition finds it here alone.
        self.sweep_leftovers().await?;
        let (range, end) = range_of(path);
        let page = format!(
            "SELECT path, chunks, bytes FROM documents WHERE {range} ORDER BY path LIMIT ?"
        );
        let mut from = path.to_owned();
        let mut removed = Counts::default();
        loop {
            let rows = DOCUMENT_WORK.times(STEP_DOCUMENTS);
            self.budget.spend(rows + CHUNK_WORK.times(STEP_CHUNKS)).await;
            let (is_last, long) = self.tables.step(self.generation, || {
                let bounds = [from.as_str().into(), end.as_str().into(), STEP_DOCUMENTS.into()];
                let rows = self.tables.database.query(&page, &bounds)?;
                let (mut deleted, mut long, mut room) = (0, Vec::new(), STEP_CHUNKS);
                for row in &rows {
                    let (path, chunks): (String, usize) = (row.get("path")?, row.get("chunks")?);
                    let Some(left) = room.checked_sub(chunks_deleted_at_once(chunks)) else {
                        break;
                    };
                    room = left;
                    long.extend(self.delete_contents(&path)?);
                    let statement = "DELETE FROM documents WHERE path = ?";
                    self.tables.database.execute(statement, &[path.as_str().into()])?;
                    removed.documents += 1;
                    removed.chunks += chunks;
                    removed.bytes += row.get::<usize>("bytes")?;
                    deleted += 1;
                    from = path;
                }
                Ok((deleted == rows.len() && deleted < STEP_DOCUMENTS, long))
            })?;
            self.sweep(long).await?;
            if is_last {
                return Ok(removed);
            }
        }
    }

    /// Compares a document with the stored one. Returns no change for an unchanged document.
    async fn compare_with_stored<'d>(
        &mut self,
        document: &'d Document,
    ) -> Result<(Upserted, Option<Change<'d>>)> {
        let mut hashing = TextHashing::of(&document.contents);
        let hashes = loop {
            self.budget.spend(step_work(document)).await;
            if let Some(done) = hashing.advance() {
                break done;
            }
        };
        self.budget.spend(DOCUMENT_WORK).await;
        let stored = self.tables.database.first(
            "SELECT language, properties, content_hash, whole_hash, sha256, rules, chunks
            FROM documents WHERE path = ?",
            &[document.path.as_str().into()],
        )?;
        let mut upserted = Upserted {
            path: document.path.clone(),
            chunks: 0,
            content_hash: hashes.content.clone(),
            sha256: hashes.sha256.clone(),
            changed: true,
        };
        let values = document.properties.iter().map(|(_, values)| values.len());
        let mut extra_cost = 1 + values.sum::<usize>() / CHUNK_VALUES;
        if let Some(row) = &stored {
            let differs = |column, text: &str| Ok::<_, Fault>(row.get::<String>(column)? != text);
            upserted.changed = differs("content_hash", &hashes.content)?
                || differs("whole_hash", &hashes.whole)?
                || differs("language", &language(document))?
                || differs("properties", &properties_column(document)?)?
                || row.get::<u32>("rules")? != RULES;
            let chunks: usize = row.get("chunks")?;
            if !upserted.changed {
                upserted.chunks = chunks;
                if differs("sha256", &hashes.sha256)? {
                    self.update_hash(document, &hashes)?;
                }
                return Ok((upserted, None));
            }
            extra_cost += chunks_deleted_at_once(chunks);
        }
        let mut all = Vec::new();
        let mut remaining = pieces(&document.contents);
        let mut steps = 0;
        while all.len() == steps * STEP_PIECES {
            self.budget.spend(step_work(document)).await;
            all.extend(remaining.by_ref().take(STEP_PIECES));
            steps += 1;
        }
        upserted.chunks = all.len();
        Ok((upserted, Some(Change { document, hashes, pieces: all, extra_cost })))
    }

    /// Stores the hash and length of a document whose chunks stay as they are.
    fn update_hash(&self, document: &Document, hashes: &TextHashes) -> Result<()> {
        let statement = "UPDATE documents SET sha256 = ?, bytes = ? WHERE path = ?";
        let bounds = [
            hashes.sha256.as_str().into(),
            document.contents.len().into(),
            document.path.as_str().into(),
        ];
        self.tables.step(self.generation, || self.tables.database.execute(statement, &bounds))
    }

    /// Writes documents of few chunks in one step.
    async fn write_short(&mut self, changes: &[Change<'_>]) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let chunks: usize = changes.iter().map(|change| change.pieces.len()).sum();
        let extra_cost: usize = changes.iter().map(|change| change.extra_cost).sum();
        self.budget.spend(CHUNK_WORK.times(chunks + extra_cost)).await;
        let long = self.tables.step(self.generation, || {
            // FTS5 flushes what it has collected before each statement of many rows. So all insertions of chunks
            // come together, at the end.
            let mut long = Vec::new();
            for change in changes {
                long.extend(self.delete_contents(&change.document.path)?);
            }
            let first = self.reserve_ids(chunks)?;
            let mut next = first;
            for change in changes {
                self.insert_document(change, next)?;
                next += change.pieces.len() as u64;
            }
            next = first;
            for change in changes {
                self.insert_chunks(change, &change.pieces, next)?;
                next += change.pieces.len() as u64;
            }
            Ok(long)
        })?;
        self.sweep(long).await
    }

    /// Writes a document of many chunks. They are hidden until all of them are stored.
    async fn write_long(&mut self, change: Change<'_>) -> Result<()> {
        let count = change.pieces.len();
        let first = self.tables.step(self.generation, || {
            let first = self.reserve_ids(count)?;
            self.hide([first, first + count as u64 - 1])?;
            Ok(first)
        })?;
        self.hidden.push(first);
        let mut next = first;
        for pieces in change.pieces.chunks(STEP_CHUNKS) {
            self.budget.spend(CHUNK_WORK.times(pieces.len())).await;
            self.tables.step(self.generation, || self.insert_chunks(&change, pieces, next))?;
            next += pieces.len() as u64;
        }
        self.budget.spend(DOCUMENT_WORK + CHUNK_WORK.times(STEP_CHUNKS)).await;
        let long = self.tables.step(self.generation, || {
            let long = self.delete_contents(&change.document.path)?;
            self.unhide(first)?;
            self.insert_document(&change, first)?;
            Ok(long)
        })?;
        self.hidden.retain(|shown| *shown != first);
        self.sweep(long).await
    }

    /// Reserves the ids of `count` new chunks and returns the first.
    fn reserve_ids(&self, count: usize) -> Result<u64> {
        let first =
            self.tables.row("SELECT next_chunk FROM index_state", &[])?.get("next_chunk")?;
        let statement = "UPDATE index_state SET next_chunk = next_chunk + ?";
        self.tables.database.execute(statement, &[count.into()])?;
        Ok(first)
    }

    fn insert_chunks(&self, change: &Change<'_>, pieces: &[Piece<'_>], first: u64) -> Result<()> {
        let path = change.document.path.as_str();
        let path_terms = searchable(path);
        for (id, piece) in (first..).zip(pieces) {
            insert!(self.tables.database, "INSERT INTO" chunks {
                id,
                path,
                start_line: piece.start_line,
                end_line: piece.end_line,
                text: piece.text,
            })?;
            self.tables.insert_terms(id, piece.text, &path_terms)?;
        }
        Ok(())
    }

    /// Writes a document's own row and its properties.
    fn insert_document(&self, change: &Change<'_>, first_chunk: u64) -> Result<()> {
        let path = change.document.path.as_str();
        insert!(self.tables.database, "INSERT OR REPLACE INTO" documents {
            path,
            language: language(change.document),
            properties: properties_column(change.document)?,
            content_hash: change.hashes.content.as_str(),
            whole_hash: change.hashes.whole.as_str(),
            sha256: change.hashes.sha256.as_str(),
            rules: RULES,
            first_chunk,
            chunks: change.pieces.len(),
            bytes: change.document.contents.len(),
        })?;
        self.tables.insert_properties(path)
    }

    /// Deletes the chunks and properties of the document at `path`, if there is one. More chunks than one step deletes
    /// are only hidden: `sweep` deletes the span that is returned.
    fn delete_contents(&self, path: &str) -> Result<Option<Span>> {
        let stored = "SELECT first_chunk, chunks FROM documents WHERE path = ? AND chunks > 0";
        let Some(row) = self.tables.database.first(stored, &[path.into()])? else {
            return Ok(None);
        };
        let (first, chunks): (u64, u64) = (row.get("first_chunk")?, row.get("chunks")?);
        let span = [first, first + chunks - 1];
        self.tables.delete_properties(path)?;
        if chunks > STEP_CHUNKS as u64 {
            self.hide(span)?;
            return Ok(Some(span));
        }
        self.delete_chunks(span)?;
        Ok(None)
    }

    /// Deletes hidden chunks, step by step.
    async fn sweep(&mut self, spans: impl IntoIterator<Item = Span>) -> Result<()> {
        let spans: Vec<Span> = spans.into_iter().collect();
        self.hidden.extend(spans.iter().map(|[first, _]| *first));
        for [first, last] in spans {
            let mut from = first;
            while from <= last {
                let to = last.min(from + STEP_CHUNKS as u64 - 1);
                self.budget.spend(CHUNK_WORK.times(STEP_CHUNKS)).await;
                self.tables.step(self.generation, || {
                    self.delete_chunks([from, to])?;
                    if to == last { self.unhide(first) } else { Ok(()) }
                })?;
                from = to + 1;
            }
            self.hidden.retain(|deleted| *deleted != first);
        }
        Ok(())
    }

    fn hide(&self, [first, last]: Span) -> Result<()> {
        insert!(self.tables.database, "INSERT INTO" hidden { first_chunk: first, last_chunk: last })
    }

    fn unhide(&self, first: u64) -> Result<()> {
        let statement = "DELETE FROM hidden WHERE first_chunk = ?";
        self.tables.database.execute(statement, &[first.into()])
    }

    fn delete_chunks(&self, [first, last]: Span) -> Result<()> {
        let bounds: [SqlValue; 2] = [first.into(), last.into()];
        self.tables.delete_vectors([first, last])?;
        // A subquery names the ids, because the object's storage binds numbers as doubles, for which
        // FTS5 would scan its whole table.
        [
            "DELETE FROM terms WHERE rowid IN (SELECT id FROM chunks WHERE id >= ? AND id <= ?)",
            "DELETE FROM chunks WHERE id >= ? AND id <= ?",
        ]
        .iter()
        .try_for_each(|statement| self.tables.database.execute(statement, &bounds))
    }
}

/// The work of one step of hashing or cutting a document.
fn step_work(document: &Document) -> Work {
    BYTE_WORK.times(document.contents.len().min(STEP_BYTES))
}

/// How many of a document's chunks the step deletes that replaces or removes it: all, or none where they are hidden.
fn chunks_deleted_at_once(chunks: usize) -> usize {
    if chunks > STEP_CHUNKS { 0 } else { chunks }
}

fn language(document: &Document) -> String {
    language_of(document.language.as_deref(), &document.path)
}

fn properties_column(document: &Document) -> Result<String> {
    serde_json::to_string(&document.properties)
        .map_err(|_| Fault::internal("A document's properties cannot be written."))
}
