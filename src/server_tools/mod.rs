//! Layer 3, Server Tools: runs what the server runs, one call at a time, and says what each call's
//! output is to the model (AGN-027 §4, layer 3; the interface, section 5).
//!
//! Architecture Invariant: it knows neither the model service nor the store; a mode change is asked
//! for here and applied by the reasoner.

mod http_tool;
mod mode_tools;

use serde_json::value::{RawValue, to_raw_value};

use crate::catalog::{AGENT_CHANGE_MODE, AGENT_LIST_MODES, Catalog, Mode, OnError, ServerTool};
use crate::contract::{ErrorCode, Fault, SessionId, ToolOutcome, ToolResult, TurnId};
use crate::files::{FileLinks, OutputFile, keep_files};
use crate::outbound::ServiceFailure;
use crate::ports::Platform;
use crate::responses_api::FunctionTool;
use http_tool::{MAX_RESULT_BYTES, ToolFailure};

/// A call of a server tool, and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct ToolInvocation<'a> {
    /// The session.
    pub session_id: &'a SessionId,
    /// The turn.
    pub turn_id: &'a TurnId,
    /// The model's id for the call.
    pub call_id: &'a str,
    /// Tool name.
    pub name: &'a str,
    /// JSON text as the model wrote it.
    pub arguments: &'a str,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRun {
    /// For the model, the transcript and the final response.
    pub result: ToolResult,
    /// Files that the tool answered with; the result holds references to them.
    pub files: Vec<OutputFile>,
    /// A mode that the session is to change to.
    pub new_mode: Option<RequestedMode>,
}

/// A mode change that the model asked for, and that is possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedMode {
    /// Mode key.
    pub key: String,
    /// The model's reason.
    pub reason: String,
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
    let mut files = Vec::new();
    let (outcome, new_mode) = match invocation.name {
        AGENT_CHANGE_MODE => mode_tools::change_mode(catalog, invocation.arguments),
        AGENT_LIST_MODES => (mode_tools::list_modes(catalog), None),
        name => match catalog.server_tool(name) {
            None => {
                let gone = format!("The tool {name} is no longer available.");
                (ToolOutcome::Error(gone), None)
            }
            Some(tool) => match answered(platform, tool, links, invocation).await {
                Ok((result, made)) => {
                    files = made;
                    (ToolOutcome::Result(result), None)
                }
                Err(failure)
                    if tool.on_error == OnError::ReportToModel || failure.models_fault() =>
                {
                    (ToolOutcome::Error(failure.to_string()), None)
                }
                Err(failure) => {
                    return Err(Fault::new(
                        ErrorCode::ServerToolFailed,
                        format!("The server tool {name} failed: {failure}"),
                    )
                    .with("ToolName", name)
                    .with("ToolCallId", invocation.call_id));
                }
            },
        },
    };
    Ok(ToolRun {
        result: ToolResult {
            tool_call_id: invocation.call_id.to_owned(),
            execution_ms: platform.now_ms().saturating_sub(started),
            outcome,
        },
        files,
        new_mode,
    })
}

async fn answered<P: Platform>(
    platform: &P,
    tool: &ServerTool,
    links: FileLinks<'_>,
    invocation: ToolInvocation<'_>,
) -> Result<(String, Vec<OutputFile>), ToolFailure> {
    let answer = http_tool::call(platform, tool, invocation).await?;
    let (result, files) = keep_files(platform, links, answer).await?;
    if result.len() > MAX_RESULT_BYTES {
        return Err(ServiceFailure::TooLarge(MAX_RESULT_BYTES).into());
    }
    Ok((result, files))
}

/// The definitions of a mode's server tools, in the mode's order; `agent_change_mode` always, last
/// unless the mode places it.
///
/// # Errors
/// `internal` if a definition cannot be written as JSON.
pub fn definitions(catalog: &Catalog, mode: &Mode) -> Result<Vec<(String, Box<RawValue>)>, Fault> {
    let names = mode.tools.iter().map(String::as_str);
    let always =
        (!mode.tools.iter().any(|name| name == AGENT_CHANGE_MODE)).then_some(AGENT_CHANGE_MODE);
    let mut definitions = Vec::new();
    for name in names.chain(always) {
        let definition = match name {
            AGENT_CHANGE_MODE => mode_tools::change_mode_definition(catalog),
            AGENT_LIST_MODES => mode_tools::list_modes_definition(),
            _ => match catalog.server_tool(name) {
                // The catalog was checked as a whole: a mode names known tools only.
                None => continue,
                Some(tool) => to_raw_value(&tool.parameters).and_then(|parameters| {
                    to_raw_value(&FunctionTool {
                        name: &tool.name,
                        description: Some(&tool.description),
                        parameters: &parameters,
                        strict: tool.strict,
                    })
                }),
            },
        };
        let definition = definition.map_err(|_| Fault::unwritable("A tool definition"))?;
        definitions.push((name.to_owned(), definition));
    }
    Ok(definitions)
}

/// What a call's output is to the model: the result as it is, an error as `{"error":"…"}`.
pub fn output_text(outcome: &ToolOutcome) -> String {
    match outcome {
        ToolOutcome::Result(json) => json.clone(),
        ToolOutcome::Error(message) => serde_json::json!({ "error": message }).to_string(),
    }
}
