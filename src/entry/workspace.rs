//! The object that owns a workspace's index: documents in, chunks out (interface §7).

use std::future::Future;

use serde::{Serialize, Serializer};

use super::context::ContextSource;
use super::embedding_alarm::EmbeddingAlarm;
use super::request::RequestHead;
use super::response::object_failed;
use super::response::{PlainResponse, Response, refusal_line};
use super::route::{Route, WorkspaceRoute, asks_for};
use crate::catalog::{DEFAULT_CONTEXT, RetrievalSource};
use crate::contract::{
    ComparisonReading, ErrorCode, Fault, InvokeResult, SearchRequest, Warning, limits,
    parse_documents, parse_search,
};
use crate::ports::{CHUNK_BYTES, Database, HttpFault, ObjectQuestion, Platform};
use crate::retrieval::{ChunkIndex, Pace, Question, Search, pace_of, retrieve, search_question};

/// The bytes of a long list that are looked through in a microsecond, and the work of a step that reads it.
const BYTES_SCANNED: usize = 400;
const READING_WORK: usize = 800;

/// The object that owns a workspace's index.
#[derive(Debug)]
pub struct WorkspaceHost<D> {
    pub(super) index: ChunkIndex<D>,
    pub(super) alarm: EmbeddingAlarm,
}

impl<D: Database> WorkspaceHost<D> {
    /// A host over a workspace's storage. Nothing is read or written yet.
    pub fn new(database: D) -> Self {
        Self { index: ChunkIndex::new(database), alarm: EmbeddingAlarm::default() }
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
        if head.target() == ObjectQuestion::Search.path() {
            let question = body.await.map_err(|_| object_failed())?;
            return self.search_of_turn(platform, source, &question).await;
        }
        let Route::Workspace(workspace, route) = Route::find(head.method, head.target())? else {
            let message = "A workspace does not answer this.";
            return Err(Fault::new(ErrorCode::NotFound, message).into());
        };
        let body = match route.has_body() {
            true => body.await.map_err(|_| object_failed())?,
            false => Vec::new(),
        };
        let pace = &mut pace_of(platform);
        if body.len() > CHUNK_BYTES {
            platform.breathe().await;
        }
        match route {
            WorkspaceRoute::Upsert => {
                let documents = parse_documents(&body)?;
                let changing = self.will_embed(platform, source).await?;
                let documents = self.index.upsert(pace, &documents).await?;
                if changing.is_some() && documents.iter().any(|document| document.changed) {
                    self.embed_now(platform)?;
                }
                Ok(shown(&Named("Documents", documents)))
            }
            WorkspaceRoute::Remove(path, as_form) => {
                let changing = self.will_embed(platform, source).await?;
                let mut removed = self.index.remove(pace, &path).await?;
                if let Some(path) = as_form.filter(|_| removed.documents == 0) {
                    removed = self.index.remove(pace, &path).await?;
                }
                if changing.is_some() {
                    self.embed_now(platform)?;
                }
                Ok(shown(&removed))
            }
            WorkspaceRoute::Search => {
                let explain = asks_for("Explain", head.target())?;
                self.search(platform, source, &workspace, (&body, explain)).await
            }
            WorkspaceRoute::Compare => self.compare(pace, &body).await,
            WorkspaceRoute::Counts => {
                let catalog = source.catalog(platform).await.ok();
                let services = catalog.as_ref().map(|catalog| catalog.embeddings());
                let service = services.and_then(|services| services.first().copied());
                let counts = self.index.counts(pace, service).await?;
                Ok(InvokeResult::success(counts, self.embedding_warnings(platform)))
            }
            WorkspaceRoute::Erase => {
                let erased = self.index.counts(pace, None).await?;
                self.index.erase()?;
                // Frees what the erased tables took. Nothing came in between.
                platform.free_storage().await?;
                self.index.forget();
                self.alarm.forget();
                Ok(shown(&erased))
            }
        }
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
        source: &ContextSource,
        workspace_id: &str,
        (body, explain): (&[u8], bool),
    ) -> Result<InvokeResult, Vec<Fault>> {
        let search = parse_search(body)?;
        let catalog = source.catalog(platform).await?;
        let id = catalog
            .conversation_context(DEFAULT_CONTEXT)
            .map_or("", |context| context.agent_context_id.as_str());
        let agent = catalog.agent_context(id);
        let retrieval = agent.map(|agent| agent.retrieval.clone()).unwrap_or_default();
        if retrieval.source == RetrievalSource::Index {
            let limit = search.limit.unwrap_or(retrieval.limit as usize);
            let bounds = (limit, retrieval.max_bytes as usize);
            return self.found(platform, source, (id, &search), bounds, explain).await;
        }
        let question = Question {
            query: &search.query,
            rag_scope: search.rag_scope.as_ref(),
            limit: search.limit.and_then(|limit| u32::try_from(limit).ok()),
            ..Question::default()
        };
        let retrieved = retrieve(platform, &retrieval, (workspace_id, id), question).await;
        let warnings = if retrieved.failed {
            let message = "The retrieval service failed; nothing could be found.";
            vec![Warning::new("retrieval_failed", message)]
        } else {
            Vec::new()
        };
        Ok(InvokeResult::success(Named("Chunks", retrieved.chunks), warnings))
    }

    /// The search of a turn, which keeps its own bound in bytes.
    async fn search_of_turn<P: Platform>(
        &self,
        platform: &P,
        source: &ContextSource,
        question: &[u8],
    ) -> Result<InvokeResult, Vec<Fault>> {
        let (agent_context, search) = search_question(question).ok_or_else(object_failed)?;
        let search = parse_search(search.as_bytes())?;
        let bounds = (search.limit.unwrap_or(limits::CHUNKS), usize::MAX);
        self.found(platform, source, (&agent_context, &search), bounds, false).await
    }

    /// What the workspace's own index finds for a turn with an agent context.
    async fn found<P: Platform>(
        &self,
        platform: &P,
        source: &ContextSource,
        (agent_context, search): (&str, &SearchRequest),
        (limit, max_bytes): (usize, usize),
        explain: bool,
    ) -> Result<InvokeResult, Vec<Fault>> {
        let SearchRequest { query, rag_scope, .. } = search;
        let (meaning, warnings) = self.meaning(platform, source, agent_context, query).await?;
        let (scope, meaning) = (rag_scope.as_ref(), meaning.as_ref());
        let search = Search { query, scope, limit, max_bytes, meaning, explain };
        let pace = &mut pace_of(platform);
        let found = self.index.search(pace, search).await?;
        Ok(InvokeResult::success(Named("Chunks", found), warnings))
    }
}

/// A view of one member.
struct Named<T>(&'static str, T);

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.0, &self.1)])
    }
}

fn shown(view: &impl Serialize) -> InvokeResult {
    InvokeResult::success(view, Vec::new())
}
