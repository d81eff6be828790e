//! The object that owns a workspace's index: documents in, chunks out (the interface, section 7). Objects of the
//! same class, with names of another form, keep the tools of MCP servers (section 11).

use std::collections::BTreeMap;
use std::future::Future;

use serde::Serialize;
use serde_json::value::RawValue;

use super::admission_context::ContextSource;
use super::front_door::object_failed;
use super::request::RequestHead;
use super::response::{PlainResponse, Response, refusal_line};
use super::route::{Route, WorkspaceRoute, asks_for};
use crate::catalog::{Catalog, DEFAULT_CONTEXT, RetrievalSource};
use crate::contract::{
    ComparisonReading, ErrorCode, Fault, InvokeResult, SearchRequest, Warning, limits,
    parse_documents, parse_search,
};
use crate::mcp::ListKeeper;
use crate::ports::{CHUNK_BYTES, Database, HttpFault, ObjectQuestion, Platform};
use crate::retrieval::{Chunk, ChunkIndex, Pace, Question, Search, retrieve};

/// The bytes of a long list that are looked through in a microsecond, and the work of a step that reads it.
const BYTES_SCANNED: usize = 400;
const READING_WORK: usize = 800;

/// The object that owns a workspace's index.
#[derive(Debug)]
pub struct WorkspaceHost<D> {
    index: ChunkIndex<D>,
    /// Of an object that keeps the tools of an MCP server instead of documents.
    list: ListKeeper,
}

impl<D: Database> WorkspaceHost<D> {
    /// A host over a workspace's storage. Nothing is read or written yet.
    pub fn new(database: D) -> Self {
        Self { index: ChunkIndex::new(database), list: ListKeeper::default() }
    }

    /// Responds to a request. `body` is waited for only by the endpoints that have one.
    pub async fn response<P: Platform>(
        &self,
        platform: &P,
        source: &ContextSource,
        head: &RequestHead<'_>,
        body: impl Future<Output = Result<Vec<u8>, HttpFault>>,
    ) -> PlainResponse {
        match self.respond(platform, source, head, body).await {
            Ok(result) => Response::result(&result),
            Err(faults) => {
                platform.log(refusal_line(&faults));
                Response::refusal(faults)
            }
        }
    }

    async fn respond<P: Platform>(
        &self,
        platform: &P,
        source: &ContextSource,
        head: &RequestHead<'_>,
        body: impl Future<Output = Result<Vec<u8>, HttpFault>>,
    ) -> Result<InvokeResult, Vec<Fault>> {
        if head.target() == ObjectQuestion::Tools.path() {
            let question = body.await.map_err(|_| object_failed())?;
            return self.tools(platform, &*source.catalog(platform).await?, &question).await;
        }
        if head.target() == ObjectQuestion::Search.path() {
            let search = parse_search(&body.await.map_err(|_| object_failed())?)?;
            // The turn that asks keeps its own bound in bytes.
            let limit = search.limit.unwrap_or(limits::CHUNKS);
            let found = self.found(platform, &search, (limit, usize::MAX), false).await?;
            return Ok(shown(&BTreeMap::from([("Chunks", found)])));
        }
        let Route::Workspace(workspace, route) = Route::find(head.method, head.target())? else {
            let message = "A workspace does not answer this.";
            return Err(Fault::new(ErrorCode::NotFound, message).into());
        };
        let body = match route.has_body() {
            true => body.await.map_err(|_| object_failed())?,
            false => Vec::new(),
        };
        let pace = &mut Pace::new(async || platform.idle().await);
        if body.len() > CHUNK_BYTES {
            platform.breathe().await;
        }
        match route {
            WorkspaceRoute::Upsert => {
                let documents = self.index.upsert(pace, &parse_documents(&body)?).await?;
                Ok(shown(&BTreeMap::from([("Documents", documents)])))
            }
            WorkspaceRoute::Remove(path, as_form) => {
                let removed = self.index.remove(pace, &path).await?;
                Ok(shown(&match as_form {
                    Some(path) if removed.documents == 0 => self.index.remove(pace, &path).await?,
                    _ => removed,
                }))
            }
            WorkspaceRoute::Search => {
                let catalog = source.catalog(platform).await?;
                let explain = asks_for("Explain", head.target())?;
                self.search(platform, &catalog, &workspace, (&body, explain)).await
            }
            WorkspaceRoute::Compare => self.compare(pace, &body).await,
            WorkspaceRoute::Counts => Ok(shown(&self.index.counts(pace).await?)),
            WorkspaceRoute::Erase => {
                let erased = self.index.counts(pace).await?;
                self.index.erase()?;
                // Frees what the erased tables took. Nothing came in between.
                platform.free_storage().await?;
                self.index.forget();
                Ok(shown(&erased))
            }
        }
    }

    /// The tools of an MCP server, whose key in the catalog is the question.
    async fn tools<P: Platform>(
        &self,
        platform: &P,
        catalog: &Catalog,
        question: &[u8],
    ) -> Result<InvokeResult, Vec<Fault>> {
        let key = str::from_utf8(question).unwrap_or_default();
        // An object of a later deployment may ask before this one has read the catalog again.
        let unknown = || Fault::internal("The catalog has no such MCP server yet.");
        let server = catalog.mcp_server(key).ok_or_else(unknown)?;
        let told = self.list.tools(platform, self.index.database(), key, server).await?;
        // It is JSON, so this never is the default.
        Ok(shown(&RawValue::from_string(told.written()).unwrap_or_default()))
    }

    /// `POST …/compare`: what a client has to send, and what it does not list.
    async fn compare<F: AsyncFn()>(
        &self,
        pace: &mut Pace<F>,
        body: &[u8],
    ) -> Result<InvokeResult, Vec<Fault>> {
        pace.before(body.len() / BYTES_SCANNED).await;
        let mut reading = ComparisonReading::of(body)?;
        let listed = loop {
            pace.before(READING_WORK).await;
            if let Some(read) = reading.go_on() {
                break read?;
            }
        };
        let comparison = self.index.compare(pace, &listed).await?;
        let warnings = if comparison.more_extra {
            let message = "There are more extra documents than those listed. Remove these, and compare again.";
            vec![Warning::new("extra_cut", message)]
        } else {
            Vec::new()
        };
        // The response is at most about as long as the body.
        pace.before(body.len() / BYTES_SCANNED).await;
        Ok(InvokeResult::success(comparison, warnings))
    }

    /// `POST …/search`: what a turn of a session with the catalog's default contexts would be given.
    async fn search<P: Platform>(
        &self,
        platform: &P,
        catalog: &Catalog,
        workspace_id: &str,
        (body, explain): (&[u8], bool),
    ) -> Result<InvokeResult, Vec<Fault>> {
        let search = parse_search(body)?;
        let agent = catalog
            .conversation_context(DEFAULT_CONTEXT)
            .and_then(|context| catalog.agent_context(&context.agent_context_id));
        let retrieval = agent.map(|agent| agent.retrieval.clone()).unwrap_or_default();
        if retrieval.source == RetrievalSource::Index {
            let limit = search.limit.unwrap_or(retrieval.limit as usize);
            let bounds = (limit, retrieval.max_bytes as usize);
            let found = self.found(platform, &search, bounds, explain).await?;
            return Ok(shown(&BTreeMap::from([("Chunks", found)])));
        }
        let question = Question {
            query: &search.query,
            rag_scope: search.rag_scope.as_ref(),
            limit: search.limit.and_then(|limit| u32::try_from(limit).ok()),
            ..Question::default()
        };
        let retrieved = retrieve(platform, &retrieval, workspace_id, question).await;
        let warnings = if retrieved.failed {
            let message = "The retrieval service failed; nothing could be found.";
            vec![Warning::new("retrieval_failed", message)]
        } else {
            Vec::new()
        };
        Ok(InvokeResult::success(BTreeMap::from([("Chunks", retrieved.chunks)]), warnings))
    }

    /// What the workspace's own index finds.
    async fn found<P: Platform>(
        &self,
        platform: &P,
        search: &SearchRequest,
        (limit, max_bytes): (usize, usize),
        explain: bool,
    ) -> Result<Vec<Chunk>, Fault> {
        let pace = &mut Pace::new(async || platform.idle().await);
        let scope = search.rag_scope.as_ref();
        let search = Search { query: &search.query, scope, limit, max_bytes, explain };
        self.index.search(pace, search).await
    }
}

fn shown(view: &impl Serialize) -> InvokeResult {
    InvokeResult::success(view, Vec::new())
}
