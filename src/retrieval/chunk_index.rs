//! The index of one workspace in its object's SQLite (interface §7).
//!
//! Its methods are the only way in. Each works in slices, between which others run; what was erased
//! meanwhile is empty to all of them.

use super::Chunk;
use super::index::{Comparison, Counts, Tables, Upserted, Writing, compared};
use super::pace::Pace;
use super::search::{Search, found};
use super::vectors::{
    Embedded, Embedder, EmbeddingFailure, EmbeddingService, Manner, Meaning, Serving,
};
use crate::catalog::Embeddings;
use crate::contract::{Document, Fault, ListedDocuments};
use crate::ports::{Database, Platform};

/// The documents that one statement counts.
const PAGE: usize = 256;

/// The work of counting a document, whose row may be long.
const COUNTING_WORK: usize = 20;

/// The most bytes of a question that are embedded.
const QUESTION_BYTES: usize = 4_096;

/// A workspace's index.
///
/// A method fails with `internal` when the storage fails; then the step that failed wrote nothing.
#[derive(Debug)]
pub struct ChunkIndex<D> {
    tables: Tables<D>,
    manner: Manner,
}

/// What a search by meaning has to go by.
#[derive(Debug, Default)]
pub struct Understood {
    /// `None`: there are no vectors, or the service failed; words alone rank.
    pub meaning: Option<Meaning>,
    /// Why the service failed, for the operator's log.
    pub failure: Option<String>,
    /// Whether chunks are still to be embedded.
    pub is_behind: bool,
}

impl<D: Database> ChunkIndex<D> {
    /// The index in a database. Nothing is read or written yet.
    pub fn new(database: D) -> Self {
        Self { tables: Tables::new(database), manner: Manner::default() }
    }

    /// Forgets that the tables exist, after the whole storage was deleted.
    pub fn forget(&self) {
        self.tables.forget();
    }

    /// Stores documents, each in place of the document that had its path. A document is there as a
    /// whole or not at all; when the storage fails, those before may have been stored.
    pub async fn upsert<F: AsyncFn()>(
        &self,
        pace: &mut Pace<F>,
        documents: &[Document],
    ) -> Result<Vec<Upserted>, Fault> {
        loop {
            let era = self.tables.era();
            let done = Writing::new(&self.tables, pace).upsert(documents).await;
            match done {
                Err(_) if self.tables.era() != era => {}
                done => return done,
            }
        }
    }

    /// Removes the document at `path`, or all documents under it when it ends in `/`.
    pub async fn remove<F: AsyncFn()>(
        &self,
        pace: &mut Pace<F>,
        path: &str,
    ) -> Result<Counts, Fault> {
        if !self.tables.exist()? {
            return Ok(Counts::default());
        }
        let era = self.tables.era();
        let done = Writing::new(&self.tables, pace).remove(path).await;
        self.or_empty(era, done)
    }

    /// What a client has to do for the index to hold what it listed.
    pub async fn compare<'l, F: AsyncFn()>(
        &self,
        pace: &mut Pace<F>,
        listed: &'l ListedDocuments,
    ) -> Result<Comparison<'l>, Fault> {
        loop {
            let era = self.tables.era();
            let done = compared(&self.tables, pace, listed).await;
            // What was erased meanwhile is needed.
            if self.tables.era() == era {
                return done;
            }
        }
    }

    /// The size of the index, and of its part that has vectors by a service.
    pub async fn counts<F: AsyncFn()>(
        &self,
        pace: &mut Pace<F>,
        service: Option<&Embeddings>,
    ) -> Result<Counts, Fault> {
        let era = self.tables.era();
        let counted = self.counted(pace, service).await;
        self.or_empty(era, counted)
    }

    /// Whether there are vectors, or will be.
    pub fn has_vectors(&self) -> Result<bool, Fault> {
        Ok(self.tables.exist()? && !self.tables.vector_sets()?.is_empty())
    }

    /// Embeds what lacks its vectors by one of the services, for as long as a request may take, and forgets the
    /// vectors of all other models.
    pub async fn embed<P: Platform, F: AsyncFn()>(
        &self,
        pace: &mut Pace<F>,
        platform: &P,
        services: &[EmbeddingService<'_>],
    ) -> Result<Embedded, Fault> {
        let era = self.tables.era();
        let Self { tables, manner } = self;
        let embedded = Embedder { tables, era, platform, pace, manner }.embed(services).await;
        // What came after an erasure has an alarm of its own.
        if self.tables.era() == era { embedded } else { Ok(Embedded::All) }
    }

    /// What a question means by the vectors that serve `service`; `wanted` are the catalog's services.
    pub async fn understand<P: Platform, F: AsyncFn()>(
        &self,
        pace: &mut Pace<F>,
        platform: &P,
        (wanted, service): (&[&Embeddings], EmbeddingService<'_>),
        question: &str,
    ) -> Result<Understood, Fault> {
        let mut understood = Understood::default();
        if !self.tables.exist()? {
            return Ok(understood);
        }
        let Serving { set, is_behind } = self.tables.serving(wanted, service.embeddings)?;
        understood.is_behind = is_behind;
        let Some(set) = set else { return Ok(understood) };
        let end = question.floor_char_boundary(QUESTION_BYTES);
        let (era, inputs) = (self.tables.era(), [question.get(..end).unwrap_or(question)]);
        let model = (set.model.as_str(), set.dimensions);
        let may_repeat = || self.tables.era() == era;
        let asked = service.embed(platform, pace, &self.manner, model, &inputs, &may_repeat).await;
        // What comes after an erasure is nobody's.
        if self.tables.era() != era {
            return Ok(Understood::default());
        }
        let vector =
            asked.and_then(|all| all.into_iter().next().ok_or(EmbeddingFailure::NoVectors));
        match vector {
            Ok(vector) => understood.meaning = Some(Meaning { set: set.id, vector }),
            Err(failure) => understood.failure = Some(format!("{}: {failure}", set.model)),
        }
        Ok(understood)
    }

    /// Deletes the whole index with its tables.
    pub fn erase(&self) -> Result<(), Fault> {
        self.tables.erase()
    }

    /// The best chunks for a query within a scope, best first. A chunk that does not fit into what is
    /// left of the bytes is passed over.
    pub async fn search<F: AsyncFn()>(
        &self,
        pace: &mut Pace<F>,
        search: Search<'_>,
    ) -> Result<Vec<Chunk>, Fault> {
        let era = self.tables.era();
        let found = found(&self.tables, pace, search).await;
        self.or_empty(era, found)
    }

    async fn counted<F: AsyncFn()>(
        &self,
        pace: &mut Pace<F>,
        service: Option<&Embeddings>,
    ) -> Result<Counts, Fault> {
        let mut counts = Counts { embedded_chunks: service.map(|_| 0), ..Counts::default() };
        let mut above = Some(String::new());
        while let Some(path) = above {
            if !self.tables.exist()? {
                break;
            }
            pace.before(PAGE * COUNTING_WORK).await;
            let set = match service {
                Some(service) => self.tables.set_of(service)?.map_or(0, |set| set.id),
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

    /// What a request that began in `era` found, or nothing when everything was erased meanwhile.
    fn or_empty<T: Default>(&self, era: u64, done: Result<T, Fault>) -> Result<T, Fault> {
        match done {
            Err(_) if self.tables.era() != era => Ok(T::default()),
            done => done,
        }
    }
}
