//! The loop: after the retrieval that the turn may owe, while calls are open it runs them, otherwise it calls the model, until the turn ends or
//! waits for its client.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{AbortRegistration, Abortable, Aborted, Either, select};

use super::model_call::Transcript;
use super::run_report::RunReport;
use crate::catalog::{AgentContext, Catalog, Continuation, ConversationContext};
use crate::composition::{ToolList, prompt_cache_key};
use crate::contract::{ErrorCode, Fault, Progress};
use crate::json::from_str;
use crate::live_text::{LiveText, Outcome};
use crate::mcp::Connection;
use crate::persistence::{Session, SessionStore, StoredOutcome, Turn};
use crate::ports::{Database, Deployment, Platform};

/// The session's connections to MCP servers, by the fingerprints of the servers' definitions. They are in memory
/// alone: without, a server is only greeted once more.
pub(crate) type Connections = RefCell<Vec<(String, Connection)>>;

/// Runs the turns of one session (AGN-027 E).
#[derive(Debug)]
pub struct Reasoner<P, D> {
    pub(super) platform: Rc<P>,
    pub(super) store: Rc<SessionStore<D>>,
    pub(super) catalog: Rc<Catalog>,
    pub(super) deployment: Rc<Deployment>,
    pub(super) connections: Rc<Connections>,
    pub(crate) report: RefCell<RunReport>,
    /// The model call that is under way; it outlives a run that is cut off.
    pub(super) under_way: RefCell<Option<Transcript>>,
    /// The number of the newest model call, which may not be recorded yet.
    pub(super) newest_call: Cell<u64>,
}

/// A running turn: its rows as the last durable step left them, and its surroundings.
#[derive(Debug)]
pub(super) struct RunningTurn<'a> {
    pub(super) session: Session,
    pub(super) turn: Turn,
    pub(super) tools: ToolList,
    pub(super) agent: &'a AgentContext,
    pub(super) conversation: &'a ConversationContext,
    /// The bytes of the results that the turn's server tools gave; `None` until a run that goes on with a turn
    /// has summed up the stored ones.
    pub(super) result_bytes: Option<usize>,
    /// When the run times out, in milliseconds since the epoch.
    pub(super) deadline_ms: u64,
    pub(super) live_text: &'a LiveText,
    /// `None` where the agent context wants none.
    pub(super) prompt_cache_key: Option<String>,
}

impl RunningTurn<'_> {
    /// Whether the model service keeps the responses of the session, so that each call continues the one
    /// before.
    pub(super) fn is_chained(&self) -> bool {
        self.agent.continuation == Continuation::Stored && self.session.state.chain.ended.is_none()
    }

    /// Whether calls ask for reasoning that can be sent back, because the service does not keep it.
    pub(super) fn wants_reasoning(&self) -> bool {
        !self.is_chained() && !self.session.state.reasoning_refused
    }
}

impl<P: Platform, D: Database> Reasoner<P, D> {
    /// A reasoner for one run, under the catalog at the time when the submission was accepted.
    pub(crate) fn new(
        platform: Rc<P>,
        store: Rc<SessionStore<D>>,
        catalog: Rc<Catalog>,
        deployment: Rc<Deployment>,
        connections: Rc<Connections>,
    ) -> Self {
        let (report, under_way, newest_call) = Default::default();
        Self { platform, store, catalog, deployment, connections, report, under_way, newest_call }
    }

    /// Runs a turn that is stored as `running` until it ends or waits for its client, and stores the
    /// outcome. `live_text` receives the text while it arrives.
    pub(crate) async fn run(
        &self,
        ordinal: u64,
        live_text: &LiveText,
        cancellation: AbortRegistration,
    ) -> Outcome {
        let stored = self
            .run_in_time(ordinal, live_text, cancellation)
            .await
            .unwrap_or_else(|fault| self.fail(ordinal, fault, live_text));
        let timings = self.report.borrow().timings;
        Outcome { http_status: stored.http_status, body: stored.body.into(), timings }
    }

    async fn run_in_time(
        &self,
        ordinal: u64,
        live_text: &LiveText,
        cancellation: AbortRegistration,
    ) -> Result<StoredOutcome, Fault> {
        // Dropping the loop at an await aborts what it waits for, and never cuts a durable step.
        // A cancelled turn is not polled again, so it sends no further request.
        let timed_out = pin!(self.platform.sleep(self.deployment.turn_timeout_ms));
        let advancing = pin!(self.advance(ordinal, live_text));
        match Abortable::new(select(timed_out, advancing), cancellation).await {
            Err(Aborted) => Err(Fault::new(ErrorCode::TurnAborted, "The turn was cancelled.")),
            Ok(Either::Left(_)) => Err(Fault::new(
                ErrorCode::UpstreamTimeout,
                format!("The turn did not end within {} ms.", self.deployment.turn_timeout_ms),
            )),
            Ok(Either::Right((outcome, _))) => outcome,
        }
    }

    async fn advance(&self, ordinal: u64, live_text: &LiveText) -> Result<StoredOutcome, Fault> {
        let mut running = self.load(ordinal, live_text)?;
        if let Some(owed) = running.turn.progress.retrieval.take() {
            self.retrieve(&mut running, &owed).await?;
        }
        loop {
            if let Some(open) = running.session.open_calls_of(running.turn.ordinal) {
                if let Some(outcome) = self.run_calls(&mut running, open).await? {
                    return Ok(outcome);
                }
            } else if let Some(outcome) = self.call_model(&mut running).await? {
                return Ok(outcome);
            }
        }
    }

    fn load<'a>(&'a self, ordinal: u64, live_text: &'a LiveText) -> Result<RunningTurn<'a>, Fault> {
        let session = self.stored_session()?;
        let turn = self.store.turn_at(ordinal)?;
        let tools = tools_of(&self.store, &turn)?;
        let (agent, conversation) = (&session.agent_context, &session.conversation_context);
        // Admission and recovery let no turn run without its contexts.
        let gone = || Fault::internal("The turn's contexts are not in its catalog.");
        let agent = self.catalog.agent_context(agent).ok_or_else(gone)?;
        let conversation = self.catalog.conversation_context(conversation).ok_or_else(gone)?;
        let deadline_ms = self.platform.now_ms().saturating_add(self.deployment.turn_timeout_ms);
        let tenant = self.platform.tenant().filter(|_| agent.prompt_cache_key);
        let prompt_cache_key =
            tenant.map(|tenant| prompt_cache_key(tenant, session.session_id.as_str()));
        let result_bytes = (turn.progress.model_calls == 0).then_some(0);
        Ok(RunningTurn {
            session,
            turn,
            tools,
            agent,
            conversation,
            result_bytes,
            deadline_ms,
            live_text,
            prompt_cache_key,
        })
    }

    pub(super) fn stored_session(&self) -> Result<Session, Fault> {
        let session = self.store.session()?;
        session.ok_or_else(|| Fault::internal("The session's storage lost the session."))
    }

    /// Shows what the turn is at from here on: to the watchers that asked for it, and in its trace.
    pub(super) fn step(&self, running: &RunningTurn<'_>, progress: Progress<'_>) {
        running.live_text.step(progress, self.platform.now_ms());
    }

    /// Milliseconds since `earlier`.
    pub(super) fn since(&self, earlier: u64) -> u64 {
        self.platform.now_ms().saturating_sub(earlier)
    }
}

/// The tools that a turn offers.
pub(super) fn tools_of<D: Database>(
    store: &SessionStore<D>,
    turn: &Turn,
) -> Result<ToolList, Fault> {
    from_str(&store.text(&turn.tools)?)
        .map_err(|_| Fault::internal("The turn's tool list is unreadable."))
}
