//! The vectors of a workspace's chunks, in tables beside them (interface §7).
//!
//! Chunks are embedded in the order of their ids, which are never used again. So one id tells how far a model
//! has come, and a chunk's vector needs no look at whether its text is still the same. Vectors go with their
//! chunks, because a text can be guessed from them.
//!
//! When the catalog names another model, its vectors come into being beside those of the last one, which serve
//! until then.

use super::quantized_vector::Vector;
use crate::catalog::Embeddings;
use crate::contract::Fault;
use crate::ports::{Database, Row, Value};
use crate::retrieval::index::{Span, Tables};

/// The most chunks of a document whose vectors are one row.
pub(super) const ROW_CHUNKS: usize = 32;

/// The rows that one step deletes.
const STEP_ROWS: usize = 64;

/// The vectors of one model.
#[derive(Clone, Debug)]
pub(in crate::retrieval) struct VectorSet {
    pub(in crate::retrieval) id: u64,
    pub(in crate::retrieval) model: String,
    pub(in crate::retrieval) dimensions: usize,
    /// The chunks before this one have their vectors, but those that the service refused.
    pub(in crate::retrieval) next_chunk: u64,
}

impl VectorSet {
    /// Whether a service makes vectors like these.
    pub(in crate::retrieval) fn is_by(&self, service: &Embeddings) -> bool {
        service.makes(&self.model, self.dimensions)
    }
}

/// A chunk that is to be embedded.
#[derive(Debug)]
pub(in crate::retrieval) struct Unembedded {
    pub(in crate::retrieval) id: u64,
    pub(in crate::retrieval) path: String,
    pub(in crate::retrieval) text: String,
}

/// The vectors that serve a search.
#[derive(Debug)]
pub(in crate::retrieval) struct Serving {
    /// `None`: there are none.
    pub(in crate::retrieval) set: Option<VectorSet>,
    /// Whether chunks are still to be embedded.
    pub(in crate::retrieval) is_behind: bool,
}

impl<D: Database> Tables<D> {
    /// All models of which there are vectors, the oldest first.
    pub(in crate::retrieval) fn vector_sets(&self) -> Result<Vec<VectorSet>, Fault> {
        let rows = self.database.query("SELECT * FROM vector_sets ORDER BY id", &[])?;
        let set = |row: &Row| {
            Ok(VectorSet {
                id: row.get("id")?,
                model: row.get("model")?,
                dimensions: row.get("dimensions")?,
                next_chunk: row.get("next_chunk")?,
            })
        };
        rows.iter().map(set).collect()
    }

    /// The vectors by a service, if there are any.
    pub(in crate::retrieval) fn set_of(
        &self,
        service: &Embeddings,
    ) -> Result<Option<VectorSet>, Fault> {
        let sets = self.vector_sets()?;
        Ok(sets.into_iter().find(|known| known.is_by(service)))
    }

    /// The vectors by a service; none yet when it is new.
    pub(in crate::retrieval) fn vector_set(
        &self,
        service: &Embeddings,
    ) -> Result<VectorSet, Fault> {
        if let Some(known) = self.set_of(service)? {
            return Ok(known);
        }
        let statement = "INSERT INTO vector_sets (model, dimensions, next_chunk) VALUES (?, ?, 1)";
        let bounds = [service.model.as_str().into(), service.dimensions.into()];
        self.database.execute(statement, &bounds)?;
        let lost = || Fault::internal("The workspace's storage lost a row.");
        self.set_of(service)?.ok_or_else(lost)
    }

    /// The vectors that serve a search by `service`: its own once all chunks have theirs, until then those of
    /// a model that the catalog no longer names.
    pub(in crate::retrieval) fn serving(
        &self,
        wanted: &[&Embeddings],
        service: &Embeddings,
    ) -> Result<Serving, Fault> {
        let mut sets = self.vector_sets()?;
        sets.retain(|known| known.next_chunk > 1);
        let last: Option<u64> = self.row("SELECT MAX(id) AS last FROM chunks", &[])?.get("last")?;
        let own = sets.iter().find(|known| known.is_by(service));
        let is_behind = last.is_some_and(|last| own.is_none_or(|set| set.next_chunk <= last));
        let is_wanted = |known: &&VectorSet| wanted.iter().any(|service| known.is_by(service));
        let unwanted = sets.iter().filter(|known| !is_wanted(known));
        let former = unwanted.max_by_key(|known| known.next_chunk).filter(|_| is_behind);
        Ok(Serving { set: former.or(own).cloned(), is_behind })
    }

    /// The next chunks to embed, at most `most` and about `bytes` of text. Those of a long document that is
    /// being written are not yet among them, nor are those behind them.
    pub(in crate::retrieval) fn unembedded(
        &self,
        set: &VectorSet,
        most: usize,
        bytes: usize,
    ) -> Result<Vec<Unembedded>, Fault> {
        let hidden = "SELECT MIN(first_chunk) AS first FROM hidden WHERE first_chunk >= ?";
        let next = Value::from(set.next_chunk);
        let hidden: Option<u64> = self.row(hidden, std::slice::from_ref(&next))?.get("first")?;
        let rows = self.database.query(
            "SELECT c.id, c.path, c.text FROM chunks AS c CROSS JOIN documents AS d ON d.path = c.path
            WHERE c.id >= ? AND c.id < ? AND c.id >= d.first_chunk AND c.id < d.first_chunk + d.chunks
            ORDER BY c.id LIMIT ?",
            &[next, hidden.map_or(Value::Integer(1 << 53), Value::from), most.into()],
        )?;
        let (mut chunks, mut room): (Vec<Unembedded>, _) = (Vec::new(), bytes);
        for row in &rows {
            let chunk =
                Unembedded { id: row.get("id")?, path: row.get("path")?, text: row.get("text")? };
            if chunk.text.len() > room && !chunks.is_empty() {
                break;
            }
            room = room.saturating_sub(chunk.text.len());
            chunks.push(chunk);
        }
        Ok(chunks)
    }

    /// Keeps the vectors of chunks whose documents are still there. A chunk without one stays without.
    pub(in crate::retrieval) fn keep_vectors(
        &self,
        set: &VectorSet,
        chunks: &[Unembedded],
        vectors: &[Vector],
    ) -> Result<(), Fault> {
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
    pub(in crate::retrieval) fn delete_vectors(&self, [first, last]: Span) -> Result<(), Fault> {
        self.database.execute(
            "DELETE FROM vectors WHERE vector_set IN (SELECT id FROM vector_sets)
                AND first_chunk >= ? AND first_chunk <= ?",
            &[first.into(), last.into()],
        )
    }

    /// Deletes some of a model's vectors, at last the model itself; whether that is done.
    pub(in crate::retrieval) fn forget_set(&self, id: u64) -> Result<bool, Fault> {
        let page =
            "SELECT first_chunk FROM vectors WHERE vector_set = ? ORDER BY first_chunk LIMIT ?";
        let bounds: [Value; 2] = [id.into(), STEP_ROWS.into()];
        let row = self.row(&format!("SELECT MAX(first_chunk) AS last FROM ({page})"), &bounds)?;
        let Some(last) = row.get::<Option<u64>>("last")? else {
            let statement = "DELETE FROM vector_sets WHERE id = ?";
            return self.database.execute(statement, &[id.into()]).map(|()| true);
        };
        let statement = "DELETE FROM vectors WHERE vector_set = ? AND first_chunk <= ?";
        self.database.execute(statement, &[id.into(), last.into()])?;
        Ok(false)
    }
}
