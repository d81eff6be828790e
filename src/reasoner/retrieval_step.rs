//! The first step of a turn that searches its workspace: it retrieves, and stores the turn's message with
//! what was found. A crash before that step is complete repeats the retrieval, one after it does not.

use std::pin::pin;

use serde_json::value::RawValue;

use super::running_turn::{Reasoner, RunningTurn};
use crate::catalog::{AgentContext, RetrievalSource};
use crate::composition::{ChunksEnd, RecomposedMessage, RetrievedMaterial, add_retrieved};
use crate::contract::{Fault, Result, UserTurn};
use crate::persistence::{EntryKind, PendingRetrieval};
use crate::ports::{Database, Platform, within};
use crate::retrieval::{RetrievalQuery, RetrievalTarget, retrieve};
use crate::tracing::TurnRetrieval;

/// The retrieval that a new turn's message waits for; `None` without a workspace or an instruction, and
/// where the agent context retrieves from nowhere.
pub(super) fn pending_retrieval(
    agent: Option<&AgentContext>,
    request: &UserTurn,
    chunks_end: ChunksEnd,
) -> Option<PendingRetrieval> {
    agent.filter(|agent| agent.retrieval.source != RetrievalSource::None)?;
    Some(PendingRetrieval {
        workspace_id: request.workspace_id.clone()?,
        query: request.instruction.clone()?,
        rag_scope: request.rag_scope.clone(),
        repo: request.repo.clone(),
        language: request.language.clone(),
        chunks: chunks_end.chunks,
        blocks: chunks_end.blocks,
    })
}

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Retrieves for the turn's message.
    pub(super) async fn retrieve(
        &self,
        running: &mut RunningTurn<'_>,
        pending: &PendingRetrieval,
    ) -> Result<()> {
        let since = self.platform.now_ms();
        let query = RetrievalQuery {
            query: &pending.query,
            rag_scope: pending.rag_scope.as_ref(),
            repo: pending.repo.as_deref(),
            language: pending.language.as_deref(),
            ..RetrievalQuery::default()
        };
        let retrieval = &running.agent.retrieval;
        let platform = self.platform.as_ref();
        let target = RetrievalTarget {
            workspace: &pending.workspace_id,
            agent_context: &running.session.agent_context,
            user: platform.user(),
        };
        let span = self.step_span(|| TurnRetrieval::NAME.to_owned());
        let retrieving = pin!(retrieve(platform, retrieval, target, query));
        let retrieved = within(span.open(), retrieving).await;
        if let Some(open) = span.open() {
            let workspace = self.traced_id(None, &pending.workspace_id);
            let record = TurnRetrieval {
                workspace: workspace.as_deref(),
                limit: retrieval.limit,
                chunks: retrieved.chunks.len(),
                failed: retrieved.failed,
            };
            record.describe(open);
        }
        drop(span);
        let duration_ms = self.since(since);
        self.run.report.borrow_mut().timings.retrieve += duration_ms;

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
            chunks_end: ChunksEnd { chunks: pending.chunks, blocks: pending.blocks },
            source: &retrieval.source,
            retrieved: &retrieved,
            duration_ms,
        })?;
        let turn = &mut running.turn;
        turn.progress.user_warnings.extend(user_warning.map(|warning| warning.to_string()));
        turn.progress.warnings.extend(retrieved.warnings);
        let message = user.map(|user| (message.seq, Box::<str>::from(user).into()));
        self.store.record_retrieval(turn, message, trace.get(), self.platform.now_ms())
    }
}
