//! The views of a session, a turn, a trace and the modes (interface §1). Times are ISO 8601, UTC.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::session_host::find_turn;
use crate::contract::{
    CallerRecord, CatalogStamp, Result, SessionId, SteerId, SteerState, ToolCall, ToolOutcome,
    TurnId, TurnStatus, Usage, shown, unreadable_outcome,
};
use crate::encoding::timestamp;
use crate::entry::page_query::TurnPage;
use crate::entry::request_context::RequestContext;
use crate::live_text::Activity;
use crate::persistence::{
    Call, CompactionRecord, ContextChange, Decision, ExportedTool, ForkParent, ModeChange, Session,
    SessionStore, Steer, SubmissionOrigin, Turn, WebhookRecord,
};
use crate::ports::Database;
use crate::reasoner::pending_calls;

shown! {
    /// `GET /sessions/{SessionId}`
    pub(super) struct SessionView {
        session_id: SessionId,
        mode_display_name: String,
        agent_context_id: String,
        conversation_context_id: String,
        /// The one that the first turn asked for, where that is another.
        asked_context_id?: Option<String>,
        /// Absent unless the session is a fork.
        parent?: Option<ForkParent>,
        created_at: String,
        updated_at: String,
        /// The number of accepted turns.
        turn_count: u64,
        /// Prompt tokens of the newest model call that reported them, calls for summaries aside; absent before
        /// the first report.
        context_tokens?: Option<u64>,
        latest_turn?: Option<TurnSummary>,
        /// The turn that runs or awaits tools; absent while the session takes a new turn.
        live_turn?: Option<TurnSummary>,
    }

    struct TurnSummary {
        turn_id: TurnId,
        status: TurnStatus,
        /// The calls that the client runs; absent unless the turn awaits tools.
        tool_calls?: Vec<ToolCall>,
    }

    /// `GET /sessions/{SessionId}/turns/{TurnId}`
    pub(super) struct TurnView {
        session_id: SessionId,
        turn_id: TurnId,
        status: TurnStatus,
        streaming: bool,
        started_at: String,
        updated_at: String,
        /// Absent while the turn runs or awaits tools.
        ended_at?: Option<String>,
        /// How often the latest submission was begun or resumed.
        attempts: u32,
        /// Model calls that gave an output.
        model_calls: u32,
        /// Summed over the model calls so far.
        usage?: Option<Usage>,
        /// The calls that the client runs.
        tool_calls?: Vec<ToolCall>,
        /// In the order of acceptance.
        steers?: Vec<SteerView>,
        /// The text up to the moment when the turn was aborted.
        text_so_far?: Option<String>,
        /// The latest `InvokeResult`; absent while the turn runs.
        outcome?: Option<Box<RawValue>>,
    }

    /// `GET /sessions/{SessionId}/turns`
    pub(super) struct TurnsView {
        session_id: SessionId,
        /// Oldest first.
        turns: Vec<TurnEntry>,
        /// There are more turns: ask again with the id of the last one as `After`.
        more: bool,
    }

    struct TurnEntry {
        turn_id: TurnId,
        status: TurnStatus,
        started_at: String,
        updated_at: String,
        /// Summed over the model calls so far.
        usage?: Option<Usage>,
    }

    /// `GET /sessions/{SessionId}/turns/{TurnId}/trace`: diagnostics, out of band (AGN-033 §3.1). Sizes,
    /// sources, ids and times, never content.
    pub(super) struct TraceView {
        session_id: SessionId,
        turn_id: TurnId,
        status: TurnStatus,
        /// How often the latest submission was begun or resumed.
        attempts: u32,
        /// The trace of its latest run, where the runtime told it.
        trace_id?: Option<String>,
        /// The trace of the client that began it, or sent the newest request about it.
        caller_trace_id?: Option<String>,
        /// The user turn first, then its tool continuations.
        submissions: Vec<TracedSubmission>,
        /// The blocks of the turn's message, and the parts that were left out (AGN-027 §7).
        composition: Box<RawValue>,
        /// One entry for each model call: request, retries, rebuild, duration, usage, fault.
        model_calls: Vec<Map<String, Value>>,
        tool_calls: Vec<TracedCall>,
        /// In the order of acceptance; absent where there are none.
        steers?: Vec<TracedSteer>,
        /// The session went on under another conversation context with this turn.
        context_changed?: Option<ContextChange>,
        /// The mode changes of this turn.
        mode_changes: Vec<ModeChange>,
        /// Oldest first.
        compactions: Vec<CompactionRecord>,
        /// The turn's messages: those that wait, and what became of the others. Absent if the turn has none.
        webhooks?: Vec<WebhookRecord>,
        /// What the turn is at; absent unless it runs.
        running?: Option<RunningStep>,
    }

    struct TracedSubmission {
        accepted_at: String,
        /// Who sent it.
        caller?: CallerRecord,
        /// What it ran under.
        catalog?: Option<CatalogStamp>,
    }

    /// What has become of a steer.
    struct SteerView {
        steer_id: SteerId,
        accepted_at: String,
        state: SteerState,
        /// The turn's model call that took it, from 0; absent until one has.
        model_call?: Option<u32>,
    }

    struct TracedSteer {
        #[serde(flatten)]
        steer: SteerView,
        /// Milliseconds from its acceptance to the model call that took it; absent until one has.
        waited_ms?: Option<u64>,
        /// A model call was dropped for it.
        interrupted: bool,
        /// Who sent it.
        caller?: CallerRecord,
    }

    struct RunningStep {
        /// The data of the step's progress event.
        #[serde(flatten)]
        progress: Map<String, Value>,
        since: String,
    }

    struct TracedCall {
        /// The turn's model call that asked for it, from 0.
        model_call: u32,
        /// The id that clients and tools get.
        tool_call_id: String,
        name: String,
        /// `server`, `client`, or `nobody` when it could not be run.
        runs_on: &'static str,
        /// Absent where no human was asked.
        approval?: Option<TracedApproval>,
        /// The time that the tool took; absent while the call is open.
        execution_ms?: Option<u64>,
        /// Whether the tool returned a result rather than an error; absent while the call is open.
        successful?: Option<bool>,
        /// The length of the result, or of the error; absent while the call is open.
        result_bytes?: Option<usize>,
        /// Calls with the same number ran at once; absent of a call that ran alone.
        parallel_group?: Option<u32>,
        /// Of a tool of an MCP server: `Server`, `Tool`, and `Era`, that of the protocol.
        mcp?: Option<Box<RawValue>>,
    }

    struct TracedApproval {
        /// Absent until somebody has decided, and when the turn ended before.
        decision?: Option<Decision>,
        /// Milliseconds from the pause to the decision.
        waited_ms?: Option<u64>,
        /// The human changed the arguments.
        edited: bool,
        /// Who sent the decision: `key:…`, `user:…` or `actor:…`.
        decided_by?: Option<String>,
    }

    /// `GET /sessions/{SessionId}/modes`
    pub(super) struct ModesView {
        session_id: SessionId,
        mode_display_name: String,
        /// Every change, oldest first.
        history: Vec<ModeChange>,
    }
}

impl TurnView {
    /// The same without what user, model and tools have said.
    pub(super) fn without_content(self) -> Self {
        let (tool_calls, steers, text_so_far, outcome) = (Vec::new(), Vec::new(), None, None);
        Self { tool_calls, steers, text_so_far, outcome, ..self }
    }
}

/// The views of a session, out of its storage.
pub(super) struct Views<'a, D> {
    pub(super) store: &'a SessionStore<D>,
    pub(super) context: &'a RequestContext,
}

impl<D: Database> Views<'_, D> {
    pub(super) fn session(&self, session: &Session) -> Result<SessionView> {
        let summary = |turn: Turn| -> Result<_> {
            let tool_calls = pending_calls(self.store, session, &turn)?;
            Ok(TurnSummary { turn_id: turn.turn_id, status: turn.status, tool_calls })
        };
        let latest = self.store.newest_turn()?;
        let live = session.open_turn.map(|ordinal| self.store.turn_at(ordinal)).transpose()?;
        let bound = session.bound();
        Ok(SessionView {
            session_id: session.session_id.clone(),
            mode_display_name: self.mode_display_name(session),
            agent_context_id: bound.agent,
            conversation_context_id: bound.conversation,
            asked_context_id: session.asked_conversation(),
            parent: session.state.fork.as_deref().map(ForkParent::of),
            created_at: timestamp(session.created_at),
            updated_at: timestamp(session.updated_at),
            turn_count: latest.as_ref().map_or(0, |turn| turn.ordinal),
            context_tokens: session.state.context_tokens,
            latest_turn: latest.map(summary).transpose()?,
            live_turn: live.map(summary).transpose()?,
        })
    }

    pub(super) fn turn(&self, session: Session, turn: Turn) -> Result<TurnView> {
        let outcome = self.store.outcome(turn.ordinal)?;
        let outcome = outcome.map(|outcome| RawValue::from_string(outcome.body)).transpose();
        let updated_at = timestamp(turn.updated_at);
        let steers = self.store.steers(&turn)?.into_iter().map(steer_view).collect();
        Ok(TurnView {
            tool_calls: pending_calls(self.store, &session, &turn)?,
            session_id: session.session_id,
            turn_id: turn.turn_id,
            status: turn.status,
            streaming: turn.progress.streaming,
            started_at: timestamp(turn.started_at),
            ended_at: (!turn.status.is_live()).then(|| updated_at.clone()),
            updated_at,
            attempts: turn.attempts,
            model_calls: turn.progress.model_calls,
            usage: turn.progress.usage,
            steers,
            text_so_far: turn.progress.text_so_far,
            outcome: outcome.map_err(|_| unreadable_outcome())?,
        })
    }

    pub(super) fn turns(&self, session: Session, page: &TurnPage) -> Result<TurnsView> {
        let after = page.after.as_ref().map(|turn| find_turn(self.store, turn)).transpose()?;
        let mut last = after.map(|turn| turn.ordinal);
        let mut turns = Vec::new();
        let more = loop {
            let Some(turn) = self.store.turn_after(last)? else { break false };
            // One turn more than the page holds shows that there is another page.
            if turns.len() == page.limit as usize {
                break true;
            }
            last = Some(turn.ordinal);
            turns.push(TurnEntry {
                turn_id: turn.turn_id,
                status: turn.status,
                started_at: timestamp(turn.started_at),
                updated_at: timestamp(turn.updated_at),
                usage: turn.progress.usage,
            });
        };
        Ok(TurnsView { session_id: session.session_id, turns, more })
    }

    /// `running` is the step that the turn is at, where it runs in this instance.
    pub(super) fn trace(
        &self,
        session: Session,
        turn: Turn,
        running: Option<Activity>,
    ) -> Result<TraceView> {
        let running = running.map(|Activity { progress, since_ms }| RunningStep {
            progress,
            since: timestamp(since_ms),
        });
        let calls = self.store.each_call(turn.ordinal)?.map(|call| call.map(without_content));
        let (calls, lengths): (Vec<Call>, Vec<Option<usize>>) =
            calls.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let tools = match calls.is_empty() {
            true => Vec::new(),
            false => self.store.tools_on_server(&turn)?,
        };
        let groups = parallel_groups(&calls, &tools);
        let traced = |((call, result_bytes), group): ((Call, Option<usize>), Option<u32>)| {
            let tool = tools.iter().find(|tool| tool.name == call.name);
            let mcp = tool.and_then(|tool| tool.mcp.clone());
            traced(call, result_bytes, group, mcp)
        };
        let origins = self.store.submission_origins(&turn)?.into_iter();
        let submissions = origins.map(|(at_ms, SubmissionOrigin { caller, catalog })| {
            TracedSubmission { accepted_at: timestamp(at_ms), caller, catalog }
        });
        let submissions = submissions.collect();
        let caller = turn.progress.trace.caller.as_ref();
        let steers = self.store.steers(&turn)?.into_iter().map(traced_steer).collect();
        Ok(TraceView {
            session_id: session.session_id,
            turn_id: turn.turn_id,
            status: turn.status,
            attempts: turn.attempts,
            trace_id: turn.progress.trace.id,
            caller_trace_id: caller.map(|caller| caller.trace_id().to_owned()),
            submissions,
            composition: self.store.composition(turn.ordinal)?,
            model_calls: self.store.model_calls(turn.ordinal)?,
            tool_calls: calls.into_iter().zip(lengths).zip(groups).map(traced).collect(),
            steers,
            context_changed: turn.progress.context_changed,
            mode_changes: self.store.mode_history(Some(turn.ordinal))?,
            compactions: turn.progress.compactions,
            webhooks: self.store.webhooks_of(turn.ordinal)?,
            running,
        })
    }

    pub(super) fn modes(&self, session: Session) -> Result<ModesView> {
        Ok(ModesView {
            mode_display_name: self.mode_display_name(&session),
            session_id: session.session_id,
            history: self.store.mode_history(None)?,
        })
    }

    /// The mode's name in the catalog; its key while there is no valid catalog.
    fn mode_display_name(&self, session: &Session) -> String {
        let mode = session.mode.as_str();
        let catalog = self.context.catalog.as_ref();
        catalog.map_or(mode, |catalog| catalog.display_name(mode)).to_owned()
    }
}

fn steer_view(steer: Steer) -> SteerView {
    SteerView {
        steer_id: steer.steer_id,
        accepted_at: timestamp(steer.accepted_at),
        state: steer.state,
        model_call: steer.delivered.map(|(_, model_call)| model_call),
    }
}

fn traced_steer(mut steer: Steer) -> TracedSteer {
    let waited_ms = steer.delivered.map(|(at, _)| at.saturating_sub(steer.accepted_at));
    let caller = std::mem::take(&mut steer.caller);
    TracedSteer { waited_ms, interrupted: steer.interrupted, caller, steer: steer_view(steer) }
}

/// Of each call of a turn the number of those that ran at once with it, counted from 1 through the turn. Behind a call of
/// its response that the server has still to run, none has begun.
fn parallel_groups(calls: &[Call], tools: &[ExportedTool]) -> Vec<Option<u32>> {
    let is_parallel = |name: &str| tools.iter().any(|tool| tool.name == name && tool.parallel);
    let (mut groups, mut newest) = (Vec::with_capacity(calls.len()), 0);
    for of_response in calls.chunk_by(|call, next| call.model_call == next.model_call) {
        let mut waits = false;
        for run in of_response.chunk_by(|call, next| call.runs_beside(next, is_parallel)) {
            let ran_at_once = run.len() > 1 && !waits;
            newest += u32::from(ran_at_once);
            groups.extend(run.iter().map(|_| ran_at_once.then_some(newest)));
            waits |= run.iter().any(Call::awaits_server);
        }
    }
    groups
}

/// A call without its arguments and without the text of its result, and the length of that text.
fn without_content(mut call: Call) -> (Call, Option<usize>) {
    call.arguments = String::new();
    let length = call.result.as_mut().map(|result| match &mut result.outcome {
        ToolOutcome::Result(text) | ToolOutcome::Error(text) => std::mem::take(text).len(),
    });
    (call, length)
}

fn traced(
    call: Call,
    result_bytes: Option<usize>,
    parallel_group: Option<u32>,
    mcp: Option<Box<RawValue>>,
) -> TracedCall {
    let result = call.result.as_ref();
    TracedCall {
        model_call: call.model_call,
        tool_call_id: call.tool_call_id,
        name: call.name,
        runs_on: call.runs_on.as_str(),
        approval: call.approval.map(|approval| TracedApproval {
            decision: approval.decision,
            waited_ms: approval.waited_ms,
            edited: approval.arguments_json.is_some(),
            decided_by: approval.decided_by,
        }),
        execution_ms: result.map(|result| result.execution_ms),
        successful: result.map(|result| result.outcome.is_result()),
        result_bytes,
        parallel_group,
        mcp,
    }
}
