//! The first step of a turn that searches its workspace: it retrieves, and stores the turn's message with
//! what was found. A crash before that step is complete repeats the retrieval, one after it does not.

use serde_json::value::RawValue;

use super::running_turn::{Reasoner, RunningTurn};
use crate::catalog::{AgentContext, RetrievalSource};
use crate::composition::{ChunksEnd, RecomposedMessage, RetrievedMaterial, add_retrieved};
use crate::contract::{Fault, UserTurn};
use crate::persistence::{EntryKind, OwedRetrieval};
use crate::ports::{Database, Platform};
use crate::retrieval::{RetrievalQuery, RetrievalTarget, query_of, retrieve};

/// The retrieval that a new turn owes its message; `None` without a workspace or an instruction, and
/// where the agent context retrieves from nowhere.
pub(super) fn owed_retrieval(
    agent: Option<&AgentContext>,
    request: &UserTurn,
    chunks_end: ChunksEnd,
) -> Option<OwedRetrieval> {
    agent.filter(|agent| agent.retrieval.source != RetrievalSource::None)?;
    let (workspace, query) = query_of(request)?;
    Some(OwedRetrieval {
        workspace_id: workspace.to_owned(),
        query: query.query.to_owned(),
        rag_scope: query.rag_scope.cloned(),
        repo: query.repo.map(str::to_owned),
        language: query.language.map(str::to_owned),
        chunks: chunks_end.chunks,
        blocks: chunks_end.blocks,
    })
}

impl<P: Platform, D: Database> Reasoner<P, D> {
    /// Retrieves for the turn's message.
    pub(super) async fn retrieve(
        &self,
        running: &mut RunningTurn<'_>,
        owed: &OwedRetrieval,
    ) -> Result<(), Fault> {
        let since = self.platform.now_ms();
        let query = RetrievalQuery {
            query: &owed.query,
            rag_scope: owed.rag_scope.as_ref(),
            repo: owed.repo.as_deref(),
            language: owed.language.as_deref(),
            ..RetrievalQuery::default()
        };
        let retrieval = &running.agent.retrieval;
        let platform = self.platform.as_ref();
        let target = RetrievalTarget {
            workspace: &owed.workspace_id,
            agent_context: &running.session.agent_context,
        };
        let retrieved = retrieve(platform, retrieval, target, query).await;
        let duration_ms = self.since(since);
        self.report.borrow_mut().timings.retrieve += duration_ms;

        // The message was added when the turn began or was resumed, and no model call has sent it.
        let unsent = self.store.entries_after(running.session.acknowledged)?;
        let ordinal = running.turn.ordinal;
        let lost = || Fault::internal("The session's storage lost the turn's message.");
        let message = unsent
            .iter()
            .rfind(|entry| entry.turn == ordinal && entry.kind == EntryKind::User)
            .ok_or_else(lost)?;
        let items = self.store.items(&[message])?;
        let items = items.first().ok_or_else(lost)?;
        let [user]: [&RawValue; 1] = serde_json::from_str(items).map_err(|_| lost())?;
        let composition = self.store.composition(ordinal)?;
        let RecomposedMessage { user, trace, user_warning } = add_retrieved(&RetrievedMaterial {
            user,
            trace: &composition,
            chunks_end: ChunksEnd { chunks: owed.chunks, blocks: owed.blocks },
            source: &retrieval.source,
            retrieved: &retrieved,
            duration_ms,
        })?;
        let turn = &mut running.turn;
        turn.progress.user_warnings.extend(user_warning.map(str::to_owned));
        let items = user.map(|user| serde_json::to_string(&[user])).transpose();
        let items = items.map_err(|_| Fault::unwritable("A message to the model"))?;
        let items = items.as_deref().map(|items| (message.seq, items));
        self.store.record_retrieval(turn, items, trace.get(), self.platform.now_ms())
    }
}
