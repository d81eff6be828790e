//! The index of one workspace in its object's SQLite (interface §7).
//!
//! Its methods are the only way in. Each works in slices, between which other requests run. After an erasure in between,
//! a method continues on an empty index.

use super::Chunk;
use super::index::{Comparison, Counts, Tables, Upserted, Writer, compare, unknown_scope_keys};
use super::search::{self, Search};
use super::vectors::{
    EmbeddedQuestion, Embedder, EmbeddingOutcome, EmbeddingService, LearnedLimits, Question,
    embed_question,
};
use super::work_budget::{Work, WorkBudget};
use crate::catalog::Embeddings;
use crate::contract::{Document, ListedDocuments, RagScope, Result, Warning};
use crate::ports::{Database, Platform};

/// The documents that one statement counts.
const PAGE: usize = 256;

/// The work of counting a document, whose row may be long.
const COUNTING_WORK: Work = Work::from_us(20);

/// A workspace's index.
///
/// A method fails with `internal` when the storage fails; then the step that failed wrote nothing.
pub struct ChunkIndex<D> {
    tables: Tables<D>,
    limits: LearnedLimits,
}

impl<D: Database> ChunkIndex<D> {
    /// The index in a database. Nothing is read or written yet.
    pub fn new(database: D) -> Self {
        Self { tables: Tables::new(database), limits: LearnedLimits::default() }
    }

    /// Forgets that the tables exist, after the whole storage was deleted.
    pub fn forget(&self) {
        self.tables.forget();
    }

    /// Stores documents, each in place of the document that had its path. A document is there as a
    /// whole or not at all; when the storage fails, those before may have been stored.
    pub async fn upsert<F: AsyncFn()>(
        &self,
        budget: &mut WorkBudget<F>,
        documents: &[Document],
    ) -> Result<Vec<Upserted>> {
        loop {
            let generation = self.tables.generation();
            let result = Writer::new(&self.tables, budget).upsert(documents).await;
            match result {
                Err(_) if self.tables.generation() != generation => {}
                result => return result,
            }
        }
    }

    /// Removes the document at `path`, or all documents under it when it ends in `/`.
    pub async fn remove<F: AsyncFn()>(
        &self,
        budget: &mut WorkBudget<F>,
        path: &str,
    ) -> Result<Counts> {
        if !self.tables.exist()? {
            return Ok(Counts::default());
        }
        self.or_empty(Writer::new(&self.tables, budget).remove(path)).await
    }

    /// The differences between a client's list and the index.
    pub async fn compare<'l, F: AsyncFn()>(
        &self,
        budget: &mut WorkBudget<F>,
        listed: &'l ListedDocuments,
    ) -> Result<Comparison<'l>> {
        loop {
            let generation = self.tables.generation();
            let comparison = compare(&self.tables, budget, listed).await;
            // Erased while comparing: compare again, all documents are missing now.
            if self.tables.generation() == generation {
                return comparison;
            }
        }
    }

    /// The size of the index, and of its part that has vectors by a service.
    pub async fn counts<F: AsyncFn()>(
        &self,
        budget: &mut WorkBudget<F>,
        service: Option<&Embeddings>,
    ) -> Result<Counts> {
        self.or_empty(self.count(budget, service)).await
    }

    /// Whether the index has vectors, or will have them.
    pub fn has_vectors(&self) -> Result<bool> {
        Ok(self.tables.exist()? && !self.tables.vector_sets()?.is_empty())
    }

    /// Embeds chunks that lack vectors by one of the services, as many as one run may, and deletes the vectors of all
    /// other models.
    pub async fn embed<P: Platform, F: AsyncFn()>(
        &self,
        budget: &mut WorkBudget<F>,
        platform: &P,
        services: &[EmbeddingService<'_>],
    ) -> Result<EmbeddingOutcome> {
        let generation = self.tables.generation();
        let Self { tables, limits } = self;
        let mut embedder = Embedder { tables, generation, platform, budget, limits };
        let outcome = embedder.embed(services).await;
        // Documents that came after an erasure have an alarm of their own.
        if self.tables.generation() == generation {
            outcome
        } else {
            Ok(EmbeddingOutcome::Complete)
        }
    }

    /// The vector of a question, where the index has vectors to compare it with.
    pub async fn embed_question<P: Platform, F: AsyncFn()>(
        &self,
        budget: &mut WorkBudget<F>,
        platform: &P,
        question: Question<'_>,
    ) -> Result<EmbeddedQuestion> {
        embed_question(&self.tables, budget, platform, &self.limits, question).await
    }

    /// Deletes the whole index with its tables.
    pub fn erase(&self) -> Result<()> {
        self.tables.erase()
    }

    /// The best chunks for a query within a scope, best first.
    pub async fn search<F: AsyncFn()>(
        &self,
        budget: &mut WorkBudget<F>,
        mut request: Search<'_>,
    ) -> Result<Vec<Chunk>> {
        loop {
            let generation = self.tables.generation();
            let found = search::search(&self.tables, budget, request).await;
            if self.tables.generation() == generation {
                return found;
            }
            // Erased while searching: other chunks may have the ids of those that were ranked, other vectors their set's.
            request.vector = None;
        }
    }

    /// A warning for each key of a scope that no document has.
    pub async fn unknown_scope_keys<F: AsyncFn()>(
        &self,
        budget: &mut WorkBudget<F>,
        scope: &RagScope,
    ) -> Result<Vec<Warning>> {
        self.or_empty(unknown_scope_keys(&self.tables, budget, &scope.conditions)).await
    }

    async fn count<F: AsyncFn()>(
        &self,
        budget: &mut WorkBudget<F>,
        service: Option<&Embeddings>,
    ) -> Result<Counts> {
        let mut counts = Counts { embedded_chunks: service.map(|_| 0), ..Counts::default() };
        let mut above = Some(String::new());
        while let Some(path) = above {
            if !self.tables.exist()? {
                break;
            }
            budget.spend(COUNTING_WORK.times(PAGE)).await;
            let set = match service {
                Some(service) => self.tables.find_set(service)?.map_or(0, |set| set.id),
                None => 0,
            };
            let page = self.tables.row(
                "SELECT COUNT(*) AS documents, COALESCE(SUM(chunks), 0) AS chunks,
                    COALESCE(SUM(bytes), 0) AS bytes, MAX(path) AS last,
                    COALESCE(SUM((SELECT SUM(v.chunks) FROM vectors AS v WHERE v.vector_set = ?
                        AND v.first_chunk >= d.first_chunk AND v.first_chunk < d.first_chunk + d.chunks)
                    ), 0) AS embedded
                FROM (SELECT * FROM documents WHERE path > ? ORDER BY path LIMIT ?) AS d",
                &[set.into(), path.into(), PAGE.into()],
            )?;
            let documents: usize = page.get("documents")?;
            counts.documents += documents;
            counts.chunks += page.get::<usize>("chunks")?;
            counts.bytes += page.get::<usize>("bytes")?;
            if let Some(embedded) = &mut counts.embedded_chunks {
                *embedded += page.get::<usize>("embedded")?;
            }
            above = page.get::<Option<String>>("last")?.filter(|_| documents == PAGE);
        }
        Ok(counts)
    }

    /// The result of a request that began in `generation`, or the empty one when it failed because everything was
    /// erased meanwhile.
    async fn or_empty<T: Default>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let generation = self.tables.generation();
        match work.await {
            Err(_) if self.tables.generation() != generation => Ok(T::default()),
            result => result,
        }
    }
}
