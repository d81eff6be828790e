//! HTTP tools (interface §6): one `POST` with the call, one JSON response.
//!
//! A tool's address, headers and secrets never appear in a failure: the client may see it.

use serde::Serialize;
use serde_json::value::RawValue;

use super::invocation::ToolInvocation;
use crate::catalog::ServerTool;
use crate::files::FileFailure;
use crate::outbound::{ServiceFailure, post};
use crate::ports::Platform;

/// The largest response of a tool, in bytes: a result, and files that are kept apart from it.
const MAX_RESPONSE_BYTES: usize = 16_000_000;

/// Why a tool gave no result. The client and the model may read the text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ToolFailure {
    #[error("its arguments are not valid JSON")]
    Arguments,
    #[error(transparent)]
    Service(#[from] ServiceFailure),
    #[error(transparent)]
    Files(#[from] FileFailure),
}

impl ToolFailure {
    /// The model called wrongly; the tool itself did not fail.
    pub(super) fn caused_by_model(&self) -> bool {
        matches!(self, Self::Arguments)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ToolRequest<'a> {
    tool_call_id: &'a str,
    name: &'a str,
    arguments: &'a RawValue,
    session_id: &'a str,
    turn_id: &'a str,
}

/// Calls the tool and gives the JSON text of its response.
pub(super) async fn call<P: Platform>(
    platform: &P,
    tool: &ServerTool,
    invocation: ToolInvocation<'_>,
) -> Result<String, ToolFailure> {
    let body = body(invocation)?;
    Ok(post(platform, &tool.http, body, MAX_RESPONSE_BYTES).await?)
}

fn body(invocation: ToolInvocation<'_>) -> Result<String, ToolFailure> {
    let arguments = match invocation.arguments.trim() {
        // Some services write nothing for a call without arguments.
        "" => "{}",
        arguments => arguments,
    };
    serde_json::to_string(&ToolRequest {
        tool_call_id: invocation.call_id,
        name: invocation.name,
        arguments: serde_json::from_str(arguments).map_err(|_| ToolFailure::Arguments)?,
        session_id: invocation.session_id.as_str(),
        turn_id: invocation.turn_id.as_str(),
    })
    .map_err(|_| ToolFailure::Arguments)
}
