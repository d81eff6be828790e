//! One step of the loop: the open calls of a model call. Server tools run one after the other, but for neighbours whose
//! tools the catalog lets run at once; the other calls wait for the client, and so do those that a human must approve
//! first (interface §5).

use std::cell::Cell;
use std::collections::VecDeque;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::pictures::MAX_FILES;
use super::running_turn::{Reasoner, RunningTurn};
use super::settlement::outputs_of;
use crate::catalog::{BuiltInTool, McpServer, OnError};
use crate::composition::ToolList;
use crate::contract::{
    ErrorCode, Fault, Progress, Result, SessionId, ToolOutcome, ToolState, TraceContext, TurnId,
    UserId, Warning,
};
use crate::files::{FileLinks, keep_part_contents};
use crate::live_text::LiveText;
use crate::mcp::{Connection, ProtocolEra, ToolRef};
use crate::persistence::{Call, Decision, NewMode, OpenCalls, StoredOutcome, TurnProgress};
use crate::ports::{Database, Platform, TraceSpan, within};
use crate::server_tools::{self, McpCall, RequestedMode, ToolInvocation, ToolRun};
use crate::tracing::{ToolExecution, ToolExecutionEnd};

/// The most calls that run at once.
const MOST_AT_ONCE: usize = 6;

/// What calls need of their turn while they run. The turn itself changes with each result that is stored meanwhile.
struct Setting<'a> {
    session_id: SessionId,
    turn_id: TurnId,
    tools: Rc<ToolList>,
    /// Who sent the latest submission, where that is not the user.
    actor: Option<UserId>,
    /// Where links to files begin.
    origin: String,
    /// The bytes of the turn's results so far.
    result_bytes: Cell<usize>,
    live_text: &'a LiveText,
}

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Runs the server's open calls in the model's order, and stores each result before a call runs that does not run
    /// beside it. `None` when the outputs are in the conversation, so that the model is called next.
    pub(super) async fn run_calls(
        &self,
        running: &mut RunningTurn<'_>,
        open: OpenCalls,
    ) -> Result<Option<StoredOutcome>> {
        let mut calls = self.store.calls(open)?;
        let tools = Rc::clone(&running.tools);
        let is_parallel = |name: &str| tools.is_parallel(name);
        for calls in calls.chunk_by_mut(|call, next| call.runs_beside(next, is_parallel)) {
            self.run_at_once(running, calls).await?;
        }
        if calls.iter().any(|call| call.result.is_none()) {
            return self.pause(running, &calls).map(Some);
        }
        self.store.add_tool_outputs(&mut running.session, open, &outputs_of(&calls)?)?;
        Ok(None)
    }

    /// Runs those of the calls at once that are the server's and have no result, and stores each result when it comes.
    /// After a failure no further call begins; those under way are heard to their end. The first failure in the model's
    /// order counts.
    async fn run_at_once(&self, running: &mut RunningTurn<'_>, calls: &mut [Call]) -> Result<()> {
        let mut waiting = calls.iter_mut().filter(|call| call.awaits_server()).peekable();
        if waiting.peek().is_none() {
            return Ok(());
        }
        let given = match running.result_bytes {
            Some(bytes) => bytes,
            None => self.store.result_bytes(running.turn.ordinal)?,
        };
        let progress = &running.turn.progress;
        let setting = Setting {
            session_id: running.session.session_id.clone(),
            turn_id: running.turn.turn_id.clone(),
            tools: Rc::clone(&running.tools),
            actor: progress.caller.actor.clone(),
            origin: progress.origin.clone(),
            result_bytes: Cell::new(given),
            live_text: running.live_text,
        };
        let (mut under_way, mut ended) = (FuturesUnordered::new(), VecDeque::new());
        let mut failure: Option<(u32, Fault)> = None;
        loop {
            while failure.is_none()
                && under_way.len() + ended.len() < MOST_AT_ONCE
                && let Some(call) = waiting.next()
            {
                under_way.push(self.shown_call(&setting, call));
            }
            let next = match ended.pop_front() {
                None => under_way.next().await,
                next => next,
            };
            let Some((call, run)) = next else { break };
            running.result_bytes = Some(setting.result_bytes.get());
            running.turn.progress.spent = self.run.report.borrow().spent;
            let stored = match run {
                Ok(run) => {
                    let storing = self.store_run(running, &setting, call, run);
                    heard_beside(storing, &mut under_way, &mut ended).await
                }
                Err(fault) => Err(fault),
            };
            if let Err(fault) = stored
                && failure.as_ref().is_none_or(|(first, _)| call.position < *first)
            {
                failure = Some((call.position, fault));
            }
        }
        failure.map_or(Ok(()), |(_, fault)| Err(fault))
    }

    /// Runs one call, and shows that it begins and how it ends.
    async fn shown_call<'c>(
        &self,
        setting: &Setting<'_>,
        call: &'c mut Call,
    ) -> (&'c mut Call, Result<ToolRun>) {
        let started_at = self.platform.now_ms();
        self.show_tool_run(setting, call, None);
        self.run.report.borrow_mut().begin_tool(started_at);
        let run = self.traced_call(setting, call).await;
        let duration_ms = self.since(started_at);
        self.run.report.borrow_mut().end_tools(1, started_at + duration_ms);
        let successful = run.as_ref().is_ok_and(|run| run.result.outcome.is_result());
        self.show_tool_run(setting, call, Some((successful, duration_ms)));
        (call, run)
    }

    /// Stores the result of a call, with its files and its mode change.
    async fn store_run(
        &self,
        running: &mut RunningTurn<'_>,
        setting: &Setting<'_>,
        call: &mut Call,
        mut run: ToolRun,
    ) -> Result<()> {
        let made = running.turn.progress.files.len() + run.files.len();
        if made > MAX_FILES {
            let message = format!("The turn's tools have made more than {MAX_FILES} files.");
            let on_error = self.catalog.server_tool(&call.name).map(|tool| tool.on_error);
            if on_error != Some(OnError::ReportToModel) {
                return Err(Fault::new(ErrorCode::ServerToolFailed, message)
                    .with("ToolName", call.name.as_str())
                    .with("ToolCallId", call.tool_call_id.as_str()));
            }
            run.files.clear();
            run.result.outcome = ToolOutcome::Error(message);
        }
        if let ToolOutcome::Result(json) = &run.result.outcome {
            let (platform, most) = (self.platform.as_ref(), MAX_FILES.saturating_sub(made));
            let links = self.links(setting);
            run.files.extend(keep_part_contents(platform, links, json, made, most).await);
        }
        call.result = Some(run.result);
        let new_mode = run.new_mode.and_then(|requested| self.change_mode(running, requested));
        let now = self.platform.now_ms();
        let changes_mode = new_mode.is_some();
        let RunningTurn { session, turn, .. } = &mut *running;
        self.store.record_tool_result(session, turn, call, run.files, new_mode, now)?;
        if changes_mode {
            let mode_display_name = self.catalog.display_name(&running.session.mode);
            self.show_activity(running, Progress::Mode { mode_display_name });
        }
        Ok(())
    }

    fn links<'s>(&self, setting: &'s Setting<'_>) -> FileLinks<'s> {
        FileLinks { origin: &setting.origin, ttl_s: self.deployment.file_ttl_s }
    }

    /// Runs one call, inside of a span where the run is traced.
    async fn traced_call(&self, setting: &Setting<'_>, call: &Call) -> Result<ToolRun> {
        let invocation = ToolInvocation {
            session_id: &setting.session_id,
            turn_id: &setting.turn_id,
            tool_call_id: &call.tool_call_id,
            name: &call.name,
            arguments: call.arguments_to_run(),
            user: self.platform.user(),
            actor: setting.actor.as_ref(),
        };
        let span = self.step_span(|| ToolExecution::name(invocation.name));
        let trace = self.handed_on(setting, invocation.name, span.open());
        let trace = trace.as_ref();
        let Some(open) = span.open() else {
            return self.run_call(setting, invocation, trace).await.0;
        };
        let server = self.mcp_server(setting, invocation.name);
        let decision = call.approval.as_ref().and_then(|approval| approval.decision);
        let begun = ToolExecution {
            name: invocation.name,
            tool_call_id: invocation.tool_call_id,
            approval: decision.map(Decision::as_str),
            mcp_url: server.map(|server| server.http.url.as_str()),
        };
        begun.describe(open);
        let running_call = self.run_call(setting, invocation, trace);
        let (run, version) = within(Some(open), pin!(running_call)).await;
        let ended = ToolExecutionEnd {
            result_bytes: run.as_ref().ok().map(|run| run.result.outcome.text().len()),
            error: match &run {
                Ok(run) => run.error_type.as_deref(),
                Err(fault) => Some(fault.code.as_str()),
            },
            mcp_version: version.filter(|_| server.is_some()),
            mcp_code: run.as_ref().ok().and_then(|run| run.mcp_code),
        };
        ended.describe(open);
        run
    }

    /// The server of an MCP tool that the turn offers.
    fn mcp_server(&self, setting: &Setting<'_>, tool: &str) -> Option<&McpServer> {
        self.catalog.mcp_server(&setting.tools.get(tool)?.mcp.as_ref()?.server)
    }

    /// The place in a trace that is handed on to a tool whose entry asks for it: the client's, else the call's own span.
    fn handed_on(
        &self,
        setting: &Setting<'_>,
        tool: &str,
        span: Option<&P::Span>,
    ) -> Option<TraceContext> {
        let server = self.mcp_server(setting, tool);
        let asks = match server {
            Some(server) => server.trace_context,
            None => self.catalog.server_tool(tool).is_some_and(|tool| tool.trace_context),
        };
        let caller = self.trace.caller.borrow().clone().filter(|_| asks);
        caller.or_else(|| span.filter(|_| asks)?.context())
    }

    /// Runs one call; that of an MCP server's tool over the session's own connection, whose version comes with the
    /// result.
    async fn run_call(
        &self,
        setting: &Setting<'_>,
        invocation: ToolInvocation<'_>,
        trace: Option<&TraceContext>,
    ) -> (Result<ToolRun>, Option<&'static str>) {
        let (platform, catalog) = (self.platform.as_ref(), &self.catalog);
        let (links, given) = (self.links(setting), &setting.result_bytes);
        let offered = setting.tools.get(invocation.name);
        let Some((offered, mcp)) = offered.and_then(|tool| Some((tool, tool.mcp.as_ref()?))) else {
            let run = server_tools::run(platform, catalog, links, given, invocation, None, trace);
            return (run.await, None);
        };
        let server = catalog.mcp_server(&mcp.server);
        // What was learnt under another definition of the server does not count.
        let known = server.map_or("", |server| &server.fingerprint);
        let mut connection = self.connection(known, &mcp.era);
        let input_schema = match offered.parameters() {
            Ok(schema) => schema,
            Err(fault) => return (Err(fault), None),
        };
        let tool = ToolRef { name: &mcp.tool, input_schema };
        let call = Some(McpCall { server, tool, connection: &mut connection });
        let run = server_tools::run(platform, catalog, links, given, invocation, call, trace).await;
        let version = connection.spoken_version();
        let mut connections = self.connections.borrow_mut();
        connections.retain(|(name, _)| name != known);
        connections.push((known.to_owned(), connection));
        (run, version)
    }

    /// The session's connection to a server, or the beginning of one with a server of that era. Calls that run at once
    /// share it as it was before them, and the last to end leaves what it has learnt.
    fn connection(&self, known: &str, era: &str) -> Connection {
        let connections = self.connections.borrow();
        let connection = connections.iter().find(|(name, _)| name == known);
        connection.map_or_else(
            || Connection::of_era(ProtocolEra::parse(era)),
            |(_, connection)| connection.clone(),
        )
    }

    /// Shows that a server tool begins, or whether it has ended well, and after how many milliseconds. Clients see of the
    /// product's own tools only what they change.
    fn show_tool_run(&self, setting: &Setting<'_>, call: &Call, end: Option<(bool, u64)>) {
        if BuiltInTool::parse(&call.name).is_some() {
            return;
        }
        let progress = Progress::ServerTool {
            tool_call_id: &call.tool_call_id,
            name: &call.name,
            state: if end.is_some() { ToolState::Finished } else { ToolState::Started },
            successful: end.map(|(successful, _)| successful),
            execution_ms: end.map(|(_, duration_ms)| duration_ms),
        };
        setting.live_text.begin_activity(progress, self.platform.now_ms());
    }

    /// Applies a mode change (AGN-011 §5.3): the last successful one wins.
    fn change_mode(
        &self,
        running: &mut RunningTurn<'_>,
        RequestedMode { key, reason, branch }: RequestedMode,
    ) -> Option<NewMode> {
        if key == running.session.mode {
            return None;
        }
        let mode = self.catalog.mode(&key).filter(|mode| !mode.welcome_message.is_empty());
        let progress = &mut running.turn.progress;
        progress.welcome = mode.map(|mode| mode.key.clone());
        if std::mem::replace(&mut progress.mode_changed, true) {
            warn_of_mode_changes(progress);
        }
        Some(NewMode { key, reason, branch })
    }
}

/// Waits for work while calls are heard: one that nobody listens to may be past its time although it was answered.
async fn heard_beside<T, C: Future>(
    work: impl Future<Output = T>,
    calls: &mut FuturesUnordered<C>,
    ended: &mut VecDeque<C::Output>,
) -> T {
    let mut work = pin!(work);
    loop {
        match select(work.as_mut(), calls.next()).await {
            Either::Left((done, _)) => return done,
            Either::Right((Some(call), _)) => ended.push_back(call),
            Either::Right((None, _)) => return work.await,
        }
    }
}

/// Warns once that the model asked for more than one mode change in the turn.
pub(super) fn warn_of_mode_changes(progress: &mut TurnProgress) {
    const CODE: &str = "several_mode_changes";
    if !progress.warnings.iter().any(|warning| warning.code == CODE) {
        let message = "The model asked for more than one mode change in this turn; the last one that is possible holds.";
        progress.warnings.push(Warning::new(CODE, message));
    }
}
