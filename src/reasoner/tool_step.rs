//! One step of the loop: the open calls of a model call. Server tools run one after the other; the
//! other calls wait for the client, and so do those that a human must approve first.

use super::pictures::MAX_FILES;
use super::running_turn::{Reasoner, RunningTurn};
use super::settlement::outputs_of;
use crate::catalog::{BuiltInTool, McpServer};
use crate::contract::{ErrorCode, Fault, Progress, ToolOutcome, ToolState, TraceContext, Warning};
use crate::files::{FileLinks, keep_part_contents};
use crate::mcp::{Connection, ProtocolEra, ToolRef};
use crate::persistence::{Call, Decision, NewMode, OpenCalls, RunsOn, StoredOutcome, TurnProgress};
use crate::ports::{Database, Platform, TraceSpan, within};
use crate::server_tools::{self, McpCall, RequestedMode, ToolInvocation, ToolRun};
use crate::tracing::{McpExchange, ToolExecution, ToolExecutionEnd};

/// How the run of a tool ended.
#[derive(Clone, Copy)]
struct ToolEnd {
    successful: bool,
    duration_ms: u64,
}

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Runs the server's open calls in the model's order, and stores each result before the next call
    /// runs. `None` when the outputs are in the conversation, so that the model is called next.
    pub(super) async fn run_calls(
        &self,
        running: &mut RunningTurn<'_>,
        open: OpenCalls,
    ) -> Result<Option<StoredOutcome>, Fault> {
        let mut calls = self.store.calls(open)?;
        for call in &mut calls {
            if call.runs_on != RunsOn::Server || call.result.is_some() || call.is_undecided() {
                continue;
            }
            let started_at = self.platform.now_ms();
            let links = FileLinks {
                origin: &running.turn.progress.origin,
                ttl_s: self.deployment.file_ttl_s,
            };
            let invocation = ToolInvocation {
                session_id: &running.session.session_id,
                turn_id: &running.turn.turn_id,
                tool_call_id: &call.tool_call_id,
                name: &call.name,
                arguments: call.arguments_to_run(),
                user: self.platform.user(),
                actor: running.turn.progress.caller.actor.as_ref(),
            };
            self.show_tool_run(running, call, None);
            let given = match running.result_bytes {
                Some(bytes) => bytes,
                None => self.store.result_bytes(open.turn)?,
            };
            self.report.borrow_mut().begin_tool(started_at);
            let run = self.traced_call(running, links, given, call, invocation).await;
            let duration_ms = self.since(started_at);
            self.report.borrow_mut().end_tool(started_at + duration_ms);
            running.turn.progress.spent = self.report.borrow().spent;
            let successful = run.as_ref().is_ok_and(|run| run.result.outcome.is_result());
            self.show_tool_run(running, call, Some(ToolEnd { successful, duration_ms }));
            let mut run = run?;
            if running.turn.progress.files.len() + run.files.len() > MAX_FILES {
                let message = format!("The turn's tools have made more than {MAX_FILES} files.");
                return Err(Fault::new(ErrorCode::ServerToolFailed, message)
                    .with("ToolName", call.name.as_str())
                    .with("ToolCallId", call.tool_call_id.as_str()));
            }
            let made = running.turn.progress.files.len() + run.files.len();
            if let ToolOutcome::Result(json) = &run.result.outcome {
                let (platform, most) = (self.platform.as_ref(), MAX_FILES.saturating_sub(made));
                run.files.extend(keep_part_contents(platform, links, json, made, most).await);
            }
            running.result_bytes = Some(given + run.result.outcome.text().len());
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
        }
        if calls.iter().any(|call| call.result.is_none()) {
            return self.pause(running, &calls).map(Some);
        }
        self.store.add_tool_outputs(&mut running.session, open, &outputs_of(&calls)?)?;
        Ok(None)
    }

    /// Runs one call, inside of a span where the run is traced.
    async fn traced_call(
        &self,
        running: &RunningTurn<'_>,
        links: FileLinks<'_>,
        given: usize,
        call: &Call,
        invocation: ToolInvocation<'_>,
    ) -> Result<ToolRun, Fault> {
        let span = self.step_span(|| ToolExecution::name(invocation.name));
        let trace = self.handed_on(running, invocation.name, span.open());
        let trace = trace.as_ref();
        let Some(open) = span.open() else {
            return self.run_call(running, links, given, invocation, trace).await.0;
        };
        let server = self.mcp_server(running, invocation.name);
        let decision = call.approval.as_ref().and_then(|approval| approval.decision);
        let begun = ToolExecution {
            name: invocation.name,
            tool_call_id: invocation.tool_call_id,
            approval: decision.map(Decision::as_str),
            mcp_url: server.map(|server| server.http.url.as_str()),
        };
        begun.describe(open);
        let running_call = self.run_call(running, links, given, invocation, trace);
        let (run, version) = within(Some(open), running_call).await;
        let error_code = run.as_ref().ok().and_then(|run| run.mcp_code);
        let ended = ToolExecutionEnd {
            result_bytes: run.as_ref().ok().map(|run| run.result.outcome.text().len()),
            error: match &run {
                Ok(run) => run.error_type.as_deref(),
                Err(fault) => Some(fault.code.as_str()),
            },
            mcp: server.map(|_| McpExchange { version, error_code }),
        };
        ended.describe(open);
        run
    }

    /// The server of an MCP tool that the turn offers.
    fn mcp_server(&self, running: &RunningTurn<'_>, tool: &str) -> Option<&McpServer> {
        self.catalog.mcp_server(&running.tools.get(tool)?.mcp.as_ref()?.server)
    }

    /// The place in a trace that is handed on to a tool whose entry asks for it: the client's, else the call's own span.
    fn handed_on(
        &self,
        running: &RunningTurn<'_>,
        tool: &str,
        span: Option<&P::Span>,
    ) -> Option<TraceContext> {
        let server = self.mcp_server(running, tool);
        let asks = match server {
            Some(server) => server.trace_context,
            None => self.catalog.server_tool(tool).is_some_and(|tool| tool.trace_context),
        };
        let caller = self.trace.caller.borrow().clone().filter(|_| asks);
        caller.or_else(|| span.filter(|_| asks)?.context())
    }

    /// Runs one call; that of an MCP server's tool over the session's own connection, whose version comes with the
    /// result. `given` are the bytes of the turn's results so far.
    async fn run_call(
        &self,
        running: &RunningTurn<'_>,
        links: FileLinks<'_>,
        given: usize,
        invocation: ToolInvocation<'_>,
        trace: Option<&TraceContext>,
    ) -> (Result<ToolRun, Fault>, Option<&'static str>) {
        let (platform, catalog) = (self.platform.as_ref(), &self.catalog);
        let offered = running.tools.get(invocation.name);
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
        self.connections.borrow_mut().push((known.to_owned(), connection));
        (run, version)
    }

    /// Takes a connection of the session out of its memory, or begins one with a server of that era.
    fn connection(&self, known: &str, era: &str) -> Connection {
        let mut connections = self.connections.borrow_mut();
        let place = connections.iter().position(|(name, _)| name == known);
        let connection = place.map(|place| connections.swap_remove(place).1);
        connection.unwrap_or_else(|| Connection::of_era(ProtocolEra::parse(era)))
    }

    /// Shows that a server tool begins, or how it has ended. Clients see of the product's own tools only what
    /// they change.
    fn show_tool_run(&self, running: &RunningTurn<'_>, call: &Call, end: Option<ToolEnd>) {
        if BuiltInTool::parse(&call.name).is_some() {
            return;
        }
        let progress = Progress::ServerTool {
            tool_call_id: &call.tool_call_id,
            name: &call.name,
            state: if end.is_some() { ToolState::Finished } else { ToolState::Started },
            successful: end.map(|end| end.successful),
            execution_ms: end.map(|end| end.duration_ms),
        };
        self.show_activity(running, progress);
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

/// Warns once that the model asked for more than one mode change in the turn.
pub(super) fn warn_of_mode_changes(progress: &mut TurnProgress) {
    const CODE: &str = "several_mode_changes";
    if !progress.warnings.iter().any(|warning| warning.code == CODE) {
        let message = "The model asked for more than one mode change in this turn; the last one that is possible holds.";
        progress.warnings.push(Warning::new(CODE, message));
    }
}
