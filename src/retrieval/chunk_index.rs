//! The index of one workspace in its object's SQLite (interface §7).
//!
//! Its methods are the only way in. Each works in slices, between which others run; what was erased
//! meanwhile is empty to all of them.

use super::Chunk;
use super::comparing::{Comparison, compared};
use super::pace::Pace;
use super::search::{Search, found};
use super::tables::Tables;
use super::writing::{Counts, Upserted, Writing};
use crate::contract::{Document, Fault, ListedDocuments};
use crate::ports::Database;

/// The documents that one statement counts.
const PAGE: usize = 256;

/// The work of counting a document, whose row may be long.
const COUNTING_WORK: usize = 20;

/// A workspace's index.
///
/// A method fails with `internal` when the storage fails; then the step that failed wrote nothing.
#[derive(Debug)]
pub struct ChunkIndex<D> {
    tables: Tables<D>,
}

impl<D: Database> ChunkIndex<D> {
    /// The index in a database. Nothing is read or written yet.
    pub fn new(database: D) -> Self {
        Self { tables: Tables::new(database) }
    }

    /// The database that it is in.
    pub fn database(&self) -> &D {
        &self.tables.database
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

    /// The size of the index.
    pub async fn counts<F: AsyncFn()>(&self, pace: &mut Pace<F>) -> Result<Counts, Fault> {
        let era = self.tables.era();
        let counted = self.counted(pace).await;
        self.or_empty(era, counted)
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

    async fn counted<F: AsyncFn()>(&self, pace: &mut Pace<F>) -> Result<Counts, Fault> {
        let mut counts = Counts::default();
        let mut above = Some(String::new());
        while let Some(path) = above {
            if !self.tables.exist()? {
                break;
            }
            pace.before(PAGE * COUNTING_WORK).await;
            let page = self.tables.row(
                "SELECT COUNT(*) AS documents, COALESCE(SUM(chunks), 0) AS chunks,
                    COALESCE(SUM(bytes), 0) AS bytes, MAX(path) AS last
                FROM (SELECT path, chunks, bytes FROM documents WHERE path > ? ORDER BY path LIMIT ?)",
                &[path.into(), PAGE.into()],
            )?;
            let documents: usize = page.get("documents")?;
            counts.documents += documents;
            counts.chunks += page.get::<usize>("chunks")?;
            counts.bytes += page.get::<usize>("bytes")?;
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
