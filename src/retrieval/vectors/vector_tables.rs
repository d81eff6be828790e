//! The vectors of a workspace's chunks, in tables beside them (interface §7).
//!
//! Chunks are embedded in the order of their ids, which are never reused. So `next_chunk` alone is a model's progress,
//! and a stored vector is never stale. Vectors are deleted with their chunks, because a text can be guessed from its
//! vector.
//!
//! When the catalog names another model, searches use the vectors of the former model until those of the new one are
//! complete.

use super::quantized_vector::QuantizedVector;
use crate::catalog::Embeddings;
use crate::contract::{Fault, Result};
use crate::ports::{Database, Row, SqlValue, insert, read_row};
use crate::retrieval::index::{Span, Tables};

/// The most chunks whose vectors are one row, all of one document.
pub(super) const ROW_CHUNKS: usize = 32;

/// The rows that one step deletes.
const STEP_ROWS: usize = 64;

/// The vectors of one model, at one length.
#[derive(Clone, Debug)]
pub(crate) struct VectorSet {
    pub(crate) id: u64,
    pub(super) model: String,
    pub(super) dimensions: usize,
    /// The chunks before this one have their vectors, except those that the service refused.
    pub(super) next_chunk: u64,
}

impl VectorSet {
    /// Whether a service makes vectors of this set.
    pub(super) fn is_by(&self, service: &Embeddings) -> bool {
        service.makes(&self.model, self.dimensions)
    }
}

/// A chunk without a vector.
pub(super) struct PendingChunk {
    pub(super) id: u64,
    pub(super) path: String,
    pub(super) text: String,
}

impl<D: Database> Tables<D> {
    /// All sets, the oldest first.
    pub(crate) fn vector_sets(&self) -> Result<Vec<VectorSet>> {
        let rows = self.database.query("SELECT * FROM vector_sets ORDER BY id", &[])?;
        let set = |row: &Row| Ok(read_row!(VectorSet of row { id, model, dimensions, next_chunk }));
        rows.iter().map(set).collect()
    }

    /// The set of a service, if there is one.
    pub(crate) fn find_set(&self, service: &Embeddings) -> Result<Option<VectorSet>> {
        let sets = self.vector_sets()?;
        Ok(sets.into_iter().find(|known| known.is_by(service)))
    }

    /// The set of a service, which is created where it is missing.
    pub(super) fn vector_set(&self, service: &Embeddings) -> Result<VectorSet> {
        if let Some(known) = self.find_set(service)? {
            return Ok(known);
        }
        let (model, dimensions) = (service.model.as_str(), service.dimensions);
        insert!(self.database, "INSERT INTO" vector_sets (next_chunk = 1) { model, dimensions })?;
        let lost = || Fault::internal("The workspace's storage lost a row.");
        self.find_set(service)?.ok_or_else(lost)
    }

    /// The vectors that a search by `service` uses: its own once all chunks have one, until then those of a model that
    /// the catalog no longer names; `None` where no model has any. And whether chunks are still to be embedded.
    pub(super) fn search_vectors(
        &self,
        catalog: &[&Embeddings],
        service: &Embeddings,
    ) -> Result<(Option<VectorSet>, bool)> {
        let mut sets = self.vector_sets()?;
        sets.retain(|known| known.next_chunk > 1);
        let last: Option<u64> = self.row("SELECT MAX(id) AS last FROM chunks", &[])?.get("last")?;
        let own = sets.iter().find(|known| known.is_by(service));
        let has_pending_chunks =
            last.is_some_and(|last| own.is_none_or(|set| set.next_chunk <= last));
        let is_former = |set: &&VectorSet| !catalog.iter().any(|service| set.is_by(service));
        let former = sets.iter().filter(is_former).max_by_key(|set| set.next_chunk);
        let former = former.filter(|_| has_pending_chunks);
        Ok((former.or(own).cloned(), has_pending_chunks))
    }

    /// The next chunks to embed, at most `most` of them and about `bytes` of text. They end before the first hidden
    /// chunk, which belongs to a long document that is being written.
    pub(super) fn pending_chunks(
        &self,
        set: &VectorSet,
        most: usize,
        bytes: usize,
    ) -> Result<Vec<PendingChunk>> {
        let hidden = "SELECT MIN(first_chunk) AS first FROM hidden WHERE first_chunk >= ?";
        let next = SqlValue::from(set.next_chunk);
        let hidden: Option<u64> = self.row(hidden, std::slice::from_ref(&next))?.get("first")?;
        let rows = self.database.query(
            "SELECT c.id, c.path, c.text FROM chunks AS c CROSS JOIN documents AS d ON d.path = c.path
            WHERE c.id >= ? AND c.id < ? AND c.id >= d.first_chunk AND c.id < d.first_chunk + d.chunks
            ORDER BY c.id LIMIT ?",
            &[next, hidden.map_or(SqlValue::Integer(1 << 53), SqlValue::from), most.into()],
        )?;
        let (mut chunks, mut room): (Vec<PendingChunk>, _) = (Vec::new(), bytes);
        for row in &rows {
            let chunk = read_row!(PendingChunk of row { id, path, text });
            if chunk.text.len() > room && !chunks.is_empty() {
                break;
            }
            room = room.saturating_sub(chunk.text.len());
            chunks.push(chunk);
        }
        Ok(chunks)
    }

    /// Stores the vectors of chunks whose documents still exist, and moves the set's progress behind them. An empty vector
    /// is not stored.
    pub(super) fn store_vectors(
        &self,
        set: &VectorSet,
        chunks: &[PendingChunk],
        vectors: &[QuantizedVector],
    ) -> Result<()> {
        let embedded = chunks.iter().zip(vectors).filter(|(_, vector)| !vector.bytes().is_empty());
        let mut embedded = embedded.peekable();
        while let Some((first, vector)) = embedded.next() {
            let (mut count, mut bytes) = (1_u64, vector.bytes().to_vec());
            while let Some((_, next)) = embedded.next_if(|(next, _)| {
                next.path == first.path && next.id == first.id + count && count < ROW_CHUNKS as u64
            }) {
                count += 1;
                bytes.extend_from_slice(next.bytes());
            }
            self.database.execute(
                "INSERT OR REPLACE INTO vectors (vector_set, first_chunk, chunks, vectors)
                SELECT ?, ?, ?, ? FROM documents
                WHERE path = ? AND first_chunk <= ? AND first_chunk + chunks > ?",
                &[
                    set.id.into(),
                    first.id.into(),
                    count.into(),
                    bytes.into(),
                    first.path.as_str().into(),
                    first.id.into(),
                    first.id.into(),
                ],
            )?;
        }
        let next = chunks.last().map_or(set.next_chunk, |last| last.id + 1);
        let statement = "UPDATE vector_sets SET next_chunk = ? WHERE id = ?";
        self.database.execute(statement, &[next.into(), set.id.into()])
    }

    /// Deletes the vectors of chunks.
    pub(crate) fn delete_vectors(&self, [first, last]: Span) -> Result<()> {
        self.database.execute(
            "DELETE FROM vectors WHERE vector_set IN (SELECT id FROM vector_sets)
                AND first_chunk >= ? AND first_chunk <= ?",
            &[first.into(), last.into()],
        )
    }

    /// Deletes some vectors of a set, and at last the set itself. Returns whether nothing is left.
    pub(super) fn delete_part_of_set(&self, id: u64) -> Result<bool> {
        let page =
            "SELECT first_chunk FROM vectors WHERE vector_set = ? ORDER BY first_chunk LIMIT ?";
        let parameters: [SqlValue; 2] = [id.into(), STEP_ROWS.into()];
        let statement = format!("SELECT MAX(first_chunk) AS last FROM ({page})");
        let row = self.row(&statement, &parameters)?;
        let Some(last) = row.get::<Option<u64>>("last")? else {
            let statement = "DELETE FROM vector_sets WHERE id = ?";
            return self.database.execute(statement, &[id.into()]).map(|()| true);
        };
        let statement = "DELETE FROM vectors WHERE vector_set = ? AND first_chunk <= ?";
        self.database.execute(statement, &[id.into(), last.into()])?;
        Ok(false)
    }
}
