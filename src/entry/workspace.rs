//! The object that owns a workspace's index: documents in, chunks out (the interface, section 7).

use serde::Serialize;

use super::route::WorkspaceRoute;
use crate::contract::{Fault, InvokeResult, parse_documents, parse_search};
use crate::persistence::Database;
use crate::pipeline::Chunk;
use crate::retrieval::{Counts, Found, Upserted, WorkspaceIndex};

/// The chunks that a search gives unless it says how many.
const USUAL_CHUNKS: usize = 8;

/// The object that owns a workspace's index.
#[derive(Debug)]
pub struct WorkspaceHost<D> {
    index: WorkspaceIndex<D>,
}

/// `PUT …/documents`
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct UpsertView {
    documents: Vec<UpsertedView>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct UpsertedView {
    path: String,
    chunks: usize,
    content_hash: String,
    changed: bool,
}

/// What a workspace holds, or what was taken from it.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct CountsView {
    documents: usize,
    chunks: usize,
    bytes: usize,
}

/// `POST …/search`
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct SearchView {
    chunks: Vec<ChunkView>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ChunkView {
    path: String,
    start_line: usize,
    end_line: usize,
    language: String,
    text: String,
}

impl<D: Database> WorkspaceHost<D> {
    /// A host over a workspace's storage. Nothing is read or written yet.
    pub fn new(database: D) -> Self {
        Self { index: WorkspaceIndex::new(database) }
    }

    /// Answers a request to the workspace.
    ///
    /// # Errors
    /// Everything wrong with the body, and then nothing was changed; `internal` when the storage
    /// fails.
    pub fn answer(&self, route: &WorkspaceRoute, body: &[u8]) -> Result<InvokeResult, Vec<Fault>> {
        match route {
            WorkspaceRoute::Upsert => {
                let documents = parse_documents(body)?;
                let upserted = self.index.upsert(&documents).map_err(one)?;
                let documents = upserted.into_iter().map(UpsertedView::from).collect();
                Ok(shown(&UpsertView { documents }))
            }
            WorkspaceRoute::Remove(path) => self.index.remove(path).map(counted).map_err(one),
            WorkspaceRoute::Search => {
                let search = parse_search(body)?;
                let limit = search.limit.unwrap_or(USUAL_CHUNKS);
                let scope = search.rag_scope.as_ref();
                let found = self.index.search(&search.query, scope, limit, usize::MAX);
                let chunks = found.map_err(one)?.into_iter().map(ChunkView::from).collect();
                Ok(shown(&SearchView { chunks }))
            }
            WorkspaceRoute::Counts => self.index.counts().map(counted).map_err(one),
            WorkspaceRoute::Erase => {
                let erased = self.index.counts().map_err(one)?;
                self.index.erase().map_err(one)?;
                Ok(counted(erased))
            }
        }
    }

    /// The storage was emptied by other means.
    pub fn forget(&self) {
        self.index.forget();
    }
}

impl From<Upserted> for UpsertedView {
    fn from(upserted: Upserted) -> Self {
        Self {
            path: upserted.path,
            chunks: upserted.chunks,
            content_hash: upserted.content_hash,
            changed: upserted.changed,
        }
    }
}

impl From<Found> for ChunkView {
    fn from(found: Found) -> Self {
        let Chunk { path, start_line, end_line, language, text } = found.chunk;
        Self { path, start_line, end_line, language, text }
    }
}

fn counted(counts: Counts) -> InvokeResult {
    shown(&CountsView { documents: counts.documents, chunks: counts.chunks, bytes: counts.bytes })
}

fn shown(view: &impl Serialize) -> InvokeResult {
    InvokeResult::success(view, Vec::new())
}

fn one(fault: Fault) -> Vec<Fault> {
    vec![fault]
}
