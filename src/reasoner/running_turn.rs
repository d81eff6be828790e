//! What runs a session's turns, and one turn while it runs: the data that each step of the loop works on.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::model_call::{FailedServices, Interruption, RestingServices, Services, Transcript};
use super::run_summary::RunSummary;
use crate::catalog::{AgentContext, Catalog, Continuation, ConversationContext};
use crate::composition::{OutputFormat, ToolList};
use crate::contract::{ErrorCode, Fault, Progress, Result, TraceContext, UserId};
use crate::live_text::LiveText;
use crate::mcp::Connection;
use crate::persistence::{Lease, Session, SessionStore, Turn};
use crate::ports::{Database, Deployment, Platform, TraceSpan};
use crate::tracing::{note_error, traced_id};

/// The session's connections to MCP servers, by the fingerprints of the servers' definitions. They are in memory
/// alone: without, a server is only greeted once more.
pub(crate) type Connections = RefCell<Vec<(String, Connection)>>;

/// The most segments that an attempt shows between two durable steps: the text of a model call, its
/// replacements (after a late phase, and at the end), and the text beside calls once more without a
/// mode's welcome and with the commentary.
pub(super) const SEGMENTS_OF_AN_ATTEMPT: u32 = 4;

/// What a run knows of tracing.
#[derive(Debug, Default)]
pub(crate) struct RunTrace {
    /// Somebody listens to the run's span, inside of which the run is polled.
    pub(crate) is_traced: bool,
    /// The trace that the run is a part of, where the runtime tells.
    pub(crate) id: Option<String>,
    /// The place in its client's trace of the newest request about the turn that named one.
    pub(crate) caller: Rc<RefCell<Option<TraceContext>>>,
}

/// A span of a run's step. A run that is stopped in the middle of the step notes by what.
pub(super) struct StepSpan<'a, S: TraceSpan> {
    span: Option<S>,
    stopped_by: &'a Cell<Option<ErrorCode>>,
}

impl<S: TraceSpan> StepSpan<'_, S> {
    /// The span; `None` where nobody listens.
    pub(super) fn open(&self) -> Option<&S> {
        self.span.as_ref()
    }
}

impl<S: TraceSpan> Drop for StepSpan<'_, S> {
    fn drop(&mut self) {
        if let (Some(span), Some(code)) = (&self.span, self.stopped_by.get()) {
            note_error(span, code.as_str());
        }
    }
}

/// Runs one turn of a session (AGN-027 E), under the catalog at the time when the submission was accepted.
pub struct Reasoner<P, D> {
    pub(crate) platform: Rc<P>,
    pub(crate) store: Rc<SessionStore<D>>,
    pub(crate) catalog: Rc<Catalog>,
    pub(crate) deployment: Rc<Deployment>,
    pub(crate) connections: Rc<Connections>,
    /// Shared by all sessions of the isolate.
    pub(crate) resting: Rc<RestingServices>,
    pub(crate) interruption: Rc<Interruption>,
    /// Begins to attempt what the run makes owed.
    pub(crate) start_tasks: Box<dyn Fn() -> Result<()>>,
    pub(crate) trace: RunTrace,
    pub(crate) run: RunMemory,
}

/// What a run knows of itself beside its turn's rows. It outlives a run that is cut off.
#[derive(Debug, Default)]
pub(crate) struct RunMemory {
    pub(crate) report: RefCell<RunSummary>,
    /// The model call that is under way.
    pub(super) under_way: RefCell<Option<Transcript>>,
    /// The calls that have ended and are not recorded yet.
    pub(super) unrecorded: RefCell<Vec<Transcript>>,
    /// The call that the present one takes over, with all its attempts: no service has given it an output.
    pub(super) taken_over: RefCell<Option<Transcript>>,
    /// The lease that the run has taken last, which may not be stored yet.
    pub(super) leased: Cell<Option<Lease>>,
    /// The number of the newest model call, which may not be recorded yet.
    pub(super) newest_call: Cell<u64>,
    /// The run has been cancelled or is out of time; its model call may go on until the response's id is known.
    pub(super) stopped_by: Cell<Option<ErrorCode>>,
}

/// A turn that is stored as `running`, and that nobody runs yet.
pub(crate) struct StartedTurn {
    pub(crate) turn: Turn,
    /// As it was just composed; `None` for a turn that goes on.
    pub(super) tools: Option<ToolList>,
    /// How long the turn waited for the tool results that let it go on, in milliseconds.
    pub(crate) waited_ms: Option<u64>,
}

/// A running turn: its rows as the last durable step left them, and its surroundings.
pub(crate) struct RunningTurn<'a> {
    pub(super) session: Session,
    pub(super) turn: Turn,
    pub(super) tools: Rc<ToolList>,
    /// The session's own agent context. What concerns the service that is called is in [`Self::service`].
    pub(super) agent: &'a AgentContext,
    pub(super) services: Services<'a>,
    /// What the services that have failed the present call so far have failed with.
    pub(super) failed_services: Option<FailedServices>,
    /// The service was changed, and has answered no call since.
    pub(super) comes_anew: bool,
    /// The turn's tools without those that the model service runs by itself, where the present service gets none.
    pub(super) own_tools: Option<ToolList>,
    pub(super) conversation: &'a ConversationContext,
    /// The form of the turn's answer, where its request asks for one.
    pub(super) output_format: Option<OutputFormat>,
    /// The bytes of the results that the turn's server tools gave; `None` until a run that goes on with a turn
    /// has summed up the stored ones.
    pub(super) result_bytes: Option<usize>,
    /// When the run times out, in milliseconds since the epoch.
    pub(super) deadline_ms: u64,
    pub(super) live_text: &'a LiveText,
    /// SHA-256 of the bodies that the model service has refused in this step of the loop.
    pub(super) refused_bodies: Vec<String>,
    /// The next call tries another rung, so a conflict is not waited for.
    pub(super) tries_rung: bool,
}

impl<'a> RunningTurn<'a> {
    /// The agent context of the model service that calls go to.
    pub(super) fn service(&self) -> &'a AgentContext {
        self.services.present().agent
    }

    /// The tools that the model service is offered.
    pub(super) fn offered_tools(&self) -> &ToolList {
        self.own_tools.as_ref().unwrap_or(&self.tools)
    }

    /// The hash of the turn's tools, where the model service is offered all of them.
    pub(super) fn whole_tools(&self) -> Option<&String> {
        let is_whole = self.offered_tools().0.len() == self.tools.0.len();
        Some(&self.turn.tools).filter(|_| is_whole)
    }

    /// Whether the model service keeps the responses of the session, so that each call continues the one
    /// before.
    pub(super) fn is_chained(&self) -> bool {
        self.service().continuation == Continuation::Stored
            && self.session.state.chain.ended.is_none()
    }

    /// Whether a call continues the response before it.
    pub(super) fn continues_chain(&self) -> bool {
        self.is_chained() && self.session.state.window.rung.is_none()
    }

    /// Whether calls ask for responses in the background.
    pub(super) fn asks_background(&self) -> bool {
        self.service().background && self.is_chained() && !self.session.state.background_refused
    }

    /// Whether the model service has refused to make responses in the background.
    pub(super) fn lacks_background(&self) -> bool {
        self.service().background && self.is_chained() && self.session.state.background_refused
    }

    /// Whether calls ask for reasoning that can be sent back, because the service does not keep it.
    pub(super) fn wants_reasoning(&self) -> bool {
        !self.is_chained() && !self.session.state.reasoning_refused
    }
}

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Opens the span of a step, where the run is traced.
    pub(super) fn step_span(&self, name: impl FnOnce() -> String) -> StepSpan<'_, P::Span> {
        let span = if self.trace.is_traced { self.platform.span(&name()) } else { None };
        StepSpan { span, stopped_by: &self.run.stopped_by }
    }

    /// What stands in traces for the id of a workspace, or of a session of the user's.
    pub(super) fn traced_id<'i>(&self, user: Option<&UserId>, id: &'i str) -> Option<Cow<'i, str>> {
        let tenant = self.platform.tenant().unwrap_or_default();
        traced_id(&self.deployment.trace_session_id, tenant, user, id)
    }

    /// Has a turn's row say where the run stands in traces, from its next durable step on.
    pub(super) fn note_trace(&self, turn: &mut Turn) {
        let known = &mut turn.progress.trace;
        known.caller.clone_from(&self.trace.caller.borrow());
        if self.trace.id.is_some() {
            known.id.clone_from(&self.trace.id);
        }
    }

    /// Shows what the turn is at from here on: to the watchers that asked for it, and in its trace.
    pub(super) fn show_activity(&self, running: &RunningTurn<'_>, progress: Progress<'_>) {
        running.live_text.begin_activity(progress, self.platform.now_ms());
    }

    /// Milliseconds since `earlier`.
    pub(super) fn since(&self, earlier: u64) -> u64 {
        self.platform.now_ms().saturating_sub(earlier)
    }
}

/// The tools that a turn offers.
pub(super) fn tools_of<D: Database>(store: &SessionStore<D>, turn: &Turn) -> Result<ToolList> {
    serde_json::from_str(&store.text(&turn.tools)?)
        .map_err(|_| Fault::internal("The turn's tool list is unreadable."))
}
