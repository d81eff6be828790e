//! The object that owns a workspace's index: documents in, chunks out (interface §7).

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::rc::Rc;

use super::embedded_index::EmbeddedIndex;
use super::removal::Removal;
use crate::catalog::{DEFAULT_CONTEXT, RetrievalSource};
use crate::contract::{
    ErrorCode, Fault, InvokeResult, Result, SearchRequest, Warning, limits, parse_comparison,
    parse_documents, parse_search,
};
use crate::entry::endpoints::Found;
use crate::entry::object_host::{ObjectHost, responded};
use crate::entry::request::{ArrivingBody, RequestHead};
use crate::entry::request_context::IsolateSettings;
use crate::entry::request_id::RequestId;
use crate::entry::residence::refuse_elsewhere;
use crate::entry::response::{PlainResponse, Response, object_failed};
use crate::entry::route::{Route, WorkspaceRoute, asks_for};
use crate::identity::ForwardedCaller;
use crate::object::Alarm;
use crate::ports::{CHUNK_BYTES, Database, ObjectClass, ObjectQuestion, Platform};
use crate::retrieval::{
    RetrievalQuery, RetrievalTarget, Search, Work, WorkBudget, budget_of, read_turn_search,
    retrieve,
};

/// The work of passing a byte of a long list, and of a step that reads it.
const BYTE_WORK: Work = Work::from_ps(2_500);
const READING_WORK: Work = Work::from_us(800);

/// The object that owns a workspace's index.
pub struct WorkspaceHost<P, D> {
    platform: Rc<P>,
    index: EmbeddedIndex<P, D>,
}

impl<P: Platform, D: Database + 'static> ObjectHost<P, D> for WorkspaceHost<P, D> {
    const CLASS: ObjectClass = ObjectClass::Workspace;
    type Stream = Infallible;

    fn new(platform: Rc<P>, database: D) -> Self {
        Self { index: EmbeddedIndex::new(Rc::clone(&platform), database), platform }
    }

    async fn response(
        &self,
        source: &IsolateSettings,
        head: &RequestHead<'_>,
        body: impl ArrivingBody,
    ) -> PlainResponse {
        let respond = async |_: Option<&RequestId>, caller: ForwardedCaller| {
            Ok(Response::result(&self.respond(source, head, &caller, body).await?))
        };
        responded(self.platform.as_ref(), head, respond).await
    }

    fn platform(&self) -> &P {
        &self.platform
    }

    fn alarm(&self) -> &Alarm {
        self.index.alarm()
    }

    async fn alarm_work(&self, source: &IsolateSettings, alarm_interval_ms: u64) -> Result<()> {
        self.index.embed(source, alarm_interval_ms).await
    }
}

impl<P: Platform, D: Database> WorkspaceHost<P, D> {
    async fn respond(
        &self,
        source: &IsolateSettings,
        head: &RequestHead<'_>,
        caller: &ForwardedCaller,
        body: impl ArrivingBody,
    ) -> Result<InvokeResult, Vec<Fault>> {
        let platform = self.platform.as_ref();
        if head.target() == ObjectQuestion::Search.as_str() {
            let question = body.await.map_err(|_| object_failed())?;
            return self.search_of_turn(source, &question).await;
        }
        let Found { endpoint, route } = Found::of(head.method, head.target())?;
        let Route::Workspace(workspace, route) = route else {
            let message = "A workspace does not answer this.";
            return Err(Fault::new(ErrorCode::NotFound, message).into());
        };
        let body = match endpoint.has_body {
            true => body.await.map_err(|_| object_failed())?,
            false => Vec::new(),
        };
        let budget = &mut budget_of(platform);
        if body.len() > CHUNK_BYTES {
            platform.yield_to_others().await;
        }
        match route {
            WorkspaceRoute::Upsert => {
                let documents = parse_documents(&body)?;
                if let Ok(catalog) = source.catalog(platform).await {
                    refuse_elsewhere(platform.jurisdiction(), |it| catalog.default_resides(it))?;
                }
                let write = self.index.write(source, async |index| {
                    let documents = index.upsert(budget, &documents).await?;
                    let changed = documents.iter().any(|document| document.changed);
                    Ok((documents, changed))
                });
                Ok(InvokeResult::success(BTreeMap::from([("Documents", write.await?)])))
            }
            WorkspaceRoute::Remove(named) => {
                let write = self.index.write(source, async |index| {
                    Ok((Removal::of(index, budget, &named).await?, true))
                });
                Ok(InvokeResult::success(write.await?))
            }
            WorkspaceRoute::Search => {
                let explain = asks_for("Explain", head.target())?;
                let search = parse_search(&body)?;
                self.search(source, caller, &workspace, &search, explain).await
            }
            WorkspaceRoute::Compare => self.compare(budget, &body).await,
            WorkspaceRoute::Counts => {
                let catalog = source.catalog(platform).await.ok();
                let jurisdiction = platform.jurisdiction();
                let services = catalog.as_ref().map(|catalog| catalog.embeddings(jurisdiction));
                let service = services.and_then(|services| services.first().copied());
                let counts = self.index.chunks().counts(budget, service).await?;
                Ok(InvokeResult::success_with(counts, self.index.warnings()))
            }
            WorkspaceRoute::Erase => {
                let erased = self.index.chunks().counts(budget, None).await?;
                self.index.erase().await?;
                Ok(InvokeResult::success(erased))
            }
        }
    }

    /// `POST …/compare`: the differences between a client's list and the index.
    async fn compare<F: AsyncFn()>(
        &self,
        budget: &mut WorkBudget<F>,
        body: &[u8],
    ) -> Result<InvokeResult, Vec<Fault>> {
        budget.spend(BYTE_WORK.times(body.len())).await;
        let listed = parse_comparison(body, async || budget.spend(READING_WORK).await).await?;
        let comparison = self.index.chunks().compare(budget, &listed).await?;
        let message =
            "There are more extra documents than those listed. Remove these, and compare again.";
        let warning = comparison.more_extra.then(|| Warning::new("extra_cut", message));
        // The response is at most about as long as the body.
        budget.spend(BYTE_WORK.times(body.len())).await;
        Ok(InvokeResult::success_with(comparison, warning.into_iter().collect()))
    }

    /// `POST …/search`: the chunks that a turn of a session with the catalog's default contexts would receive.
    async fn search(
        &self,
        source: &IsolateSettings,
        ForwardedCaller { caller, grants }: &ForwardedCaller,
        workspace_id: &str,
        request: &SearchRequest,
        explain: bool,
    ) -> Result<InvokeResult, Vec<Fault>> {
        let platform = self.platform.as_ref();
        let catalog = source.catalog(platform).await?;
        refuse_elsewhere(platform.jurisdiction(), |it| catalog.default_resides(it))?;
        let id = catalog
            .goes_on_under(DEFAULT_CONTEXT)
            .map_or("", |(_, context)| context.agent_context_id.as_str());
        let agent = catalog.agent_context(id);
        let retrieval = agent.map(|agent| agent.retrieval.clone()).unwrap_or_default();
        if retrieval.source == RetrievalSource::Index {
            let search = Search {
                query: &request.query,
                scope: request.rag_scope.as_ref(),
                limit: request.limit.unwrap_or(retrieval.limit as usize),
                max_bytes: retrieval.max_bytes as usize,
                shows_unfit: false,
                vector: None,
                explain,
            };
            return self.search_index(source, id, search).await;
        }
        let asks_service = matches!(retrieval.source, RetrievalSource::Http(_));
        if asks_service && !grants.name_context(DEFAULT_CONTEXT) {
            let message = "The search service is that of the conversation context default, under which this credential may begin no session. Search with another one.";
            return Err(Fault::new(ErrorCode::ContextNotFound, message).into());
        }
        let query = RetrievalQuery {
            query: &request.query,
            rag_scope: request.rag_scope.as_ref(),
            limit: request.limit.and_then(|limit| u32::try_from(limit).ok()),
            ..RetrievalQuery::default()
        };
        let user = caller.user.as_ref();
        let target = RetrievalTarget { workspace: workspace_id, agent_context: id, user };
        let retrieved = retrieve(platform, &retrieval, target, query).await;
        let message = "The retrieval service failed; nothing could be found.";
        let warning = retrieved.failed.then(|| Warning::new("retrieval_failed", message));
        let (chunks, warnings) = (retrieved.chunks, warning.into_iter().collect());
        Ok(InvokeResult::success_with(BTreeMap::from([("Chunks", chunks)]), warnings))
    }

    /// The search of a turn, which leaves out itself what does not fit the bytes of its agent context, and traces it.
    async fn search_of_turn(
        &self,
        source: &IsolateSettings,
        question: &[u8],
    ) -> Result<InvokeResult, Vec<Fault>> {
        let (agent_context, search) = read_turn_search(question).ok_or_else(object_failed)?;
        let request = parse_search(search.as_bytes())?;
        let catalog = source.catalog(self.platform.as_ref()).await.ok();
        let agent = catalog.as_ref().and_then(|catalog| catalog.agent_context(&agent_context));
        let search = Search {
            query: &request.query,
            scope: request.rag_scope.as_ref(),
            limit: request.limit.unwrap_or(limits::CHUNKS),
            max_bytes: agent.map_or(usize::MAX, |agent| agent.retrieval.max_bytes as usize),
            shows_unfit: true,
            vector: None,
            explain: false,
        };
        self.search_index(source, &agent_context, search).await
    }

    /// Searches the workspace's own index, for a turn with that agent context, also with the vector of the query.
    async fn search_index(
        &self,
        source: &IsolateSettings,
        agent_context: &str,
        search: Search<'_>,
    ) -> Result<InvokeResult, Vec<Fault>> {
        let (vector, mut warnings) =
            self.index.question_vector(source, agent_context, search.query).await?;
        let search = Search { vector: vector.as_ref(), ..search };
        let (index, budget) = (self.index.chunks(), &mut budget_of(self.platform.as_ref()));
        let chunks = index.search(budget, search).await?;
        // A warning for each key of the scope that no document has.
        if let Some(scope) = search.scope {
            warnings.extend(index.unknown_scope_keys(budget, scope).await?);
        }
        Ok(InvokeResult::success_with(BTreeMap::from([("Chunks", chunks)]), warnings))
    }
}
