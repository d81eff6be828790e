//! A workspace's index (interface §7): chunks, terms, scopes, search, storage, and the request bodies
//! of the workspace endpoints.

mod bench;
mod bodies;
mod chunking;
mod comparison;
mod index;
mod ranking;
mod scope;
mod search;
mod slices;
mod storage;
mod terms;

use aptix_edge::contract::{Document, Fault, ListedDocuments, RagScope};
use aptix_edge::ports::Database;
use aptix_edge::retrieval::{Chunk, ChunkIndex, Comparison, Counts, Search, Upserted, WorkBudget};
use futures_util::FutureExt;

/// An index without other requests between the slices of a request.
struct Index<D>(ChunkIndex<D>);

impl<D: Database> Index<D> {
    fn new(database: D) -> Self {
        Self(ChunkIndex::new(database))
    }

    fn upsert(&self, documents: &[Document]) -> Result<Vec<Upserted>, Fault> {
        done(self.0.upsert(&mut WorkBudget::new(async || ()), documents))
    }

    fn remove(&self, path: &str) -> Result<Counts, Fault> {
        done(self.0.remove(&mut WorkBudget::new(async || ()), path))
    }

    fn compare<'l>(&self, listed: &'l ListedDocuments) -> Result<Comparison<'l>, Fault> {
        done(self.0.compare(&mut WorkBudget::new(async || ()), listed))
    }

    fn counts(&self) -> Result<Counts, Fault> {
        done(self.0.counts(&mut WorkBudget::new(async || ()), None))
    }

    fn erase(&self) -> Result<(), Fault> {
        self.0.erase()
    }

    fn search(
        &self,
        query: &str,
        scope: Option<&RagScope>,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Vec<Chunk>, Fault> {
        let (shows_unfit, vector, explain) = (false, None, false);
        let search = Search { query, scope, limit, max_bytes, shows_unfit, vector, explain };
        done(self.0.search(&mut WorkBudget::new(async || ()), search))
    }
}

/// The result of a request that waits for nothing.
fn done<T>(request: impl Future<Output = T>) -> T {
    request.now_or_never().unwrap()
}

fn document(path: &str, contents: &str) -> Document {
    Document {
        path: path.to_owned(),
        contents: contents.to_owned(),
        language: None,
        properties: Vec::new(),
    }
}
