//! HTTP tools (interface §6): one `POST` with the call, one JSON response.
//!
//! A tool's address, headers and secrets never appear in a failure: the client may see it.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::catalog::ServerTool;
use crate::contract::{SessionId, TurnId};
use crate::files::FileFailure;
use crate::outbound::{ServiceFailure, post};
use crate::ports::Platform;

/// The largest response of a tool, in bytes: a result, and files that are stored apart from it.
const MAX_RESPONSE_BYTES: usize = 16_000_000;

/// A call of a server tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolInvocation<'a> {
    /// The session that makes the call.
    pub session_id: &'a SessionId,
    /// The turn that makes the call.
    pub turn_id: &'a TurnId,
    /// The id by which the tool knows the call.
    pub tool_call_id: &'a str,
    /// The tool's name.
    pub name: &'a str,
    /// JSON text as the model wrote it.
    pub arguments: &'a str,
}

/// Why a tool gave no result. Clients and the model may read the text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ToolFailure {
    /// The model wrote the call wrong; the tool itself did not fail.
    #[error("its arguments are not valid JSON")]
    Arguments,
    #[error(transparent)]
    Service(#[from] ServiceFailure),
    #[error(transparent)]
    Files(#[from] FileFailure),
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

/// Calls the tool and returns the JSON text of its response.
pub(super) async fn call<P: Platform>(
    platform: &P,
    tool: &ServerTool,
    invocation: ToolInvocation<'_>,
) -> Result<String, ToolFailure> {
    let arguments = match invocation.arguments.trim() {
        // Some services write no text for a call without arguments.
        "" => "{}",
        arguments => arguments,
    };
    let body = ToolRequest {
        tool_call_id: invocation.tool_call_id,
        name: invocation.name,
        arguments: serde_json::from_str(arguments).map_err(|_| ToolFailure::Arguments)?,
        session_id: invocation.session_id.as_str(),
        turn_id: invocation.turn_id.as_str(),
    };
    let body = serde_json::to_string(&body).map_err(|_| ToolFailure::Arguments)?;
    let http = &tool.http;
    Ok(post(platform, &http.url, &http.headers, http.timeout_ms, body, MAX_RESPONSE_BYTES).await?)
}
