//! Layer 3, Server Tools: runs the calls of server tools, one at a time (AGN-027 §4, layer 3;
//! interface §6).
//!
//! Architecture Invariant: it knows neither the model service nor the store. It requests a mode change;
//! the reasoner applies it.

mod http_tool;
mod mode_tools;

use crate::catalog::{BuiltInTool, Catalog, OnError, ServerTool};
use crate::contract::{ErrorCode, Fault, ToolOutcome, ToolResult};
use crate::files::{FileLinks, OutputFile, keep_files};
use crate::outbound::ServiceFailure;
use crate::ports::Platform;
use http_tool::ToolFailure;

pub use http_tool::ToolInvocation;
pub use mode_tools::RequestedMode;

/// The largest result, in bytes; the model's input and the transcript hold it.
const MAX_RESULT_BYTES: usize = 1_000_000;

/// The result of a call, and its effects beside the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRun {
    /// For the model, the transcript and the final response.
    pub result: ToolResult,
    /// Files in the tool's response; the result holds references to them.
    pub files: Vec<OutputFile>,
    /// The mode that the session changes to.
    pub new_mode: Option<RequestedMode>,
}

/// Runs one server tool.
///
/// # Errors
/// `server_tool_failed` when the tool failed and its definition says that this fails the turn.
pub async fn run<P: Platform>(
    platform: &P,
    catalog: &Catalog,
    links: FileLinks<'_>,
    invocation: ToolInvocation<'_>,
) -> Result<ToolRun, Fault> {
    let started = platform.now_ms();
    let name = invocation.name;
    let mut files = Vec::new();
    let (outcome, new_mode) = match (BuiltInTool::parse(name), catalog.server_tool(name)) {
        (Some(BuiltInTool::ChangeMode), _) => {
            mode_tools::change_mode(catalog, invocation.arguments)
        }
        (Some(BuiltInTool::ListModes), _) => (mode_tools::list_modes(catalog), None),
        (None, None) => {
            (ToolOutcome::Error(format!("The tool {name} is no longer available.")), None)
        }
        (None, Some(tool)) => match call_http_tool(platform, tool, links, invocation).await {
            Ok((result, made)) => {
                files = made;
                (ToolOutcome::Result(result), None)
            }
            Err(failure)
                if tool.on_error == OnError::ReportToModel || failure == ToolFailure::Arguments =>
            {
                (ToolOutcome::Error(failure.to_string()), None)
            }
            Err(failure) => {
                let message = format!("The server tool {name} failed: {failure}");
                return Err(Fault::new(ErrorCode::ServerToolFailed, message)
                    .with("ToolName", name)
                    .with("ToolCallId", invocation.tool_call_id));
            }
        },
    };
    let execution_ms = platform.now_ms().saturating_sub(started);
    let tool_call_id = invocation.tool_call_id.to_owned();
    Ok(ToolRun { result: ToolResult { tool_call_id, execution_ms, outcome }, files, new_mode })
}

/// Calls an HTTP tool, and stores the files in its response.
async fn call_http_tool<P: Platform>(
    platform: &P,
    tool: &ServerTool,
    links: FileLinks<'_>,
    invocation: ToolInvocation<'_>,
) -> Result<(String, Vec<OutputFile>), ToolFailure> {
    let response = http_tool::call(platform, tool, invocation).await?;
    let (result, files) = keep_files(platform, links, response).await?;
    if result.len() > MAX_RESULT_BYTES {
        return Err(ServiceFailure::TooLarge(MAX_RESULT_BYTES).into());
    }
    Ok((result, files))
}
