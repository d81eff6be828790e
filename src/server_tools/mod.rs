//! Layer 3, Server Tools: runs one call of a server tool (AGN-027 §4, layer 3; interface §6).
//! Which calls run at once, the reasoner decides.
//!
//! Architecture Invariant: it knows neither the model service nor the store. It requests a mode change;
//! the reasoner applies it.

mod file_hosts;
mod http_tool;
mod mode_tools;

use std::borrow::Cow;
use std::cell::Cell;

use crate::catalog::{BuiltInTool, Catalog, McpServer, OnError, ServerTool};
use crate::contract::{ErrorCode, Fault, Result, ToolOutcome, ToolResult, TraceContext};
use crate::files::{FileLinks, OutputFile, keep_files};
use crate::mcp::{Connection, ToolRef, call_tool};
use crate::outbound::ServiceFailure;
use crate::ports::Platform;
use http_tool::ToolFailure;

pub use file_hosts::{FileSources, ForeignFile};
pub use http_tool::ToolInvocation;
pub use mode_tools::RequestedMode;

/// The largest result, in bytes; the model's input and the transcript hold it.
const MAX_RESULT_BYTES: usize = 1_000_000;

/// The most bytes of the results of a turn: the turn's end and a call without a chain hold them all, each
/// several times, and an isolate has 128 MB.
const MAX_TURN_BYTES: usize = 8_000_000;

/// A tool of an MCP server, for a call.
pub struct McpCall<'a> {
    /// `None` when the catalog no longer has it.
    pub server: Option<&'a McpServer>,
    /// As the server lists it.
    pub tool: ToolRef<'a>,
    /// The session's own.
    pub connection: &'a mut Connection,
}

/// The result of a call, and its effects beside the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRun {
    /// For the model, the transcript and the final response.
    pub result: ToolResult,
    /// Files in the tool's response; the result holds references to them.
    pub files: Vec<OutputFile>,
    /// The mode that the session changes to.
    pub new_mode: Option<RequestedMode>,
    /// What the tool failed by, in one word or as a status, where the model gets an error.
    pub error_type: Option<Cow<'static, str>>,
    /// The code by which an MCP server refused the call.
    pub mcp_code: Option<i64>,
}

/// Runs one server tool. `mcp` is given for a tool of an MCP server; `given` are the bytes of the turn's
/// results so far, to which it adds its own; `trace` is handed on to the tool.
///
/// # Errors
/// `server_tool_failed` when the tool failed and its definition says that this fails the turn.
pub async fn run<P: Platform>(
    platform: &P,
    catalog: &Catalog,
    links: FileLinks<'_>,
    given: &Cell<usize>,
    invocation: ToolInvocation<'_>,
    mcp: Option<McpCall<'_>>,
    trace: Option<&TraceContext>,
) -> Result<ToolRun> {
    let started = platform.now_ms();
    let name = invocation.name;
    let (mut files, mut new_mode) = (Vec::new(), None);
    // This, and what the product's own tools say, is a failure only where the turn has no room for it.
    let gone = || Ok(ToolOutcome::Error(format!("The tool {name} is no longer available.")));
    let (outcome, on_error) = match (mcp, BuiltInTool::parse(name), catalog.server_tool(name)) {
        (Some(McpCall { server: Some(server), tool, connection }), ..) => {
            let arguments = invocation.arguments;
            let called = call_tool(platform, &server.http, connection, tool, arguments, trace);
            let outcome = called.await;
            (outcome.map_err(ToolFailure::from), server.on_error)
        }
        (None, Some(BuiltInTool::ChangeMode), _) => {
            let (outcome, requested) = mode_tools::change_mode(catalog, invocation.arguments);
            new_mode = requested;
            (Ok(outcome), OnError::ReportToModel)
        }
        (None, Some(BuiltInTool::ListModes), _) => {
            (Ok(mode_tools::list_modes(catalog)), OnError::ReportToModel)
        }
        (None, None, Some(tool)) => {
            let called = call_http_tool(platform, tool, links, invocation, trace).await;
            let outcome = called.map(|(result, made)| {
                files = made;
                ToolOutcome::Result(result)
            });
            (outcome, tool.on_error)
        }
        (Some(McpCall { server: None, .. }), ..) => (gone(), OnError::ReportToModel),
        (None, None, None) => (gone(), OnError::ReportToModel),
    };
    let outcome = match outcome {
        Ok(outcome) if given.get().saturating_add(outcome.text().len()) > MAX_TURN_BYTES => {
            (files, new_mode) = (Vec::new(), None);
            Err(ToolFailure::TurnTooLarge(MAX_TURN_BYTES))
        }
        outcome => outcome,
    };
    let (mut error_type, mut mcp_code) = (None, None);
    if let Err(failure) = &outcome {
        (error_type, mcp_code) = (Some(failure.error_type()), failure.mcp_code());
    }
    let outcome = match outcome {
        Ok(outcome) => {
            error_type = (!outcome.is_result()).then_some("tool_error".into());
            outcome
        }
        Err(failure) if on_error == OnError::ReportToModel || failure.is_of_the_model() => {
            ToolOutcome::Error(failure.to_string())
        }
        Err(failure) => {
            let message = format!("The server tool {name} failed: {failure}");
            return Err(Fault::new(ErrorCode::ServerToolFailed, message)
                .with("ToolName", name)
                .with("ToolCallId", invocation.tool_call_id));
        }
    };
    given.set(given.get().saturating_add(outcome.text().len()));
    let execution_ms = platform.now_ms().saturating_sub(started);
    let tool_call_id = invocation.tool_call_id.to_owned();
    let result = ToolResult { tool_call_id, execution_ms, outcome };
    Ok(ToolRun { result, files, new_mode, error_type, mcp_code })
}

/// Calls an HTTP tool, and stores the files in its response.
async fn call_http_tool<P: Platform>(
    platform: &P,
    tool: &ServerTool,
    links: FileLinks<'_>,
    invocation: ToolInvocation<'_>,
    trace: Option<&TraceContext>,
) -> Result<(String, Vec<OutputFile>), ToolFailure> {
    let response = http_tool::call(platform, tool, invocation, trace).await?;
    let (result, files) = keep_files(platform, links, response).await?;
    if result.len() > MAX_RESULT_BYTES {
        return Err(ServiceFailure::TooLarge(MAX_RESULT_BYTES).into());
    }
    let sources = FileSources { hosts: &tool.file_hosts, ids: tool.file_ids };
    match sources.foreign_file(&result) {
        None => Ok((result, files)),
        Some(ForeignFile::Host) => Err(ToolFailure::FileHost),
        Some(ForeignFile::Id) => Err(ToolFailure::FileId),
    }
}
