//! The object that owns a workspace's index: documents in, chunks out (the interface, section 7).

use serde::Serialize;

use super::route::WorkspaceRoute;
use crate::catalog::{Catalog, DEFAULT_CONTEXT, Retrieval};
use crate::contract::{Fault, InvokeResult, SearchRequest, Warning, parse_documents, parse_search};
use crate::ports::{Database, Platform};
use crate::retrieval::{Chunk, ChunkIndex, Counts, Question, Upserted, retrieve};

/// The object that owns a workspace's index.
#[derive(Debug)]
pub struct WorkspaceHost<D> {
    index: ChunkIndex<D>,
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
        Self { index: ChunkIndex::new(database) }
    }

    /// `POST …/search`: what a turn of a session with the catalog's default contexts would be given.
    ///
    /// # Errors
    /// Everything wrong with the body; `internal` when the storage fails.
    pub async fn search<P: Platform>(
        &self,
        platform: &P,
        catalog: &Catalog,
        workspace_id: &str,
        body: &[u8],
    ) -> Result<InvokeResult, Vec<Fault>> {
        let search = parse_search(body)?;
        let agent = catalog
            .conversation_context(DEFAULT_CONTEXT)
            .and_then(|context| catalog.agent_context(&context.agent_context_id));
        let retrieval = agent.map(|agent| agent.retrieval.clone()).unwrap_or_default();
        let (chunks, warning) = match retrieval {
            Retrieval::Index { limit, max_bytes } => {
                let limit = search.limit.unwrap_or(limit as usize);
                (self.found(&search, limit, max_bytes as usize)?, None)
            }
            other => {
                let question = Question {
                    query: &search.query,
                    rag_scope: search.rag_scope.as_ref(),
                    limit: search.limit.and_then(|limit| u32::try_from(limit).ok()),
                    ..Question::default()
                };
                let retrieved = retrieve(platform, &other, workspace_id, question).await;
                (retrieved.chunks, retrieved.warning)
            }
        };
        let warnings = warning.map(|_| {
            Warning::new(
                "retrieval_failed",
                "The retrieval service failed; nothing could be found.",
            )
        });
        Ok(InvokeResult::success(SearchView::of(chunks), warnings.into_iter().collect()))
    }

    /// Answers a request to the workspace; a search is one of its own index, without a bound in bytes.
    ///
    /// # Errors
    /// Everything wrong with the body, and then nothing was changed; `internal` when the storage
    /// fails.
    pub fn answer(&self, route: &WorkspaceRoute, body: &[u8]) -> Result<InvokeResult, Vec<Fault>> {
        match route {
            WorkspaceRoute::Upsert => {
                let documents = parse_documents(body)?;
                let upserted = self.index.upsert(&documents)?;
                let documents = upserted.into_iter().map(UpsertedView::from).collect();
                Ok(shown(&UpsertView { documents }))
            }
            WorkspaceRoute::Remove(path, as_form) => {
                let removed = self.index.remove(path)?;
                Ok(counted(match as_form {
                    Some(path) if removed.documents == 0 => self.index.remove(path)?,
                    _ => removed,
                }))
            }
            WorkspaceRoute::Search => {
                let search = parse_search(body)?;
                let limit = search.limit.unwrap_or(usize::MAX);
                Ok(shown(&SearchView::of(self.found(&search, limit, usize::MAX)?)))
            }
            WorkspaceRoute::Counts => Ok(counted(self.index.counts()?)),
            WorkspaceRoute::Erase => {
                let erased = self.index.counts()?;
                self.index.erase()?;
                Ok(counted(erased))
            }
        }
    }

    /// What the workspace's own index finds.
    fn found(
        &self,
        search: &SearchRequest,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Vec<Chunk>, Fault> {
        self.index.search(&search.query, search.rag_scope.as_ref(), limit, max_bytes)
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

impl SearchView {
    fn of(chunks: Vec<Chunk>) -> Self {
        Self { chunks: chunks.into_iter().map(ChunkView::from).collect() }
    }
}

impl From<Chunk> for ChunkView {
    fn from(chunk: Chunk) -> Self {
        let Chunk { path, start_line, end_line, language, text } = chunk;
        Self { path, start_line, end_line, language, text }
    }
}

fn counted(counts: Counts) -> InvokeResult {
    shown(&CountsView { documents: counts.documents, chunks: counts.chunks, bytes: counts.bytes })
}

fn shown(view: &impl Serialize) -> InvokeResult {
    InvokeResult::success(view, Vec::new())
}
