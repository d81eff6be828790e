//! HTTP tools (interface §6): one `POST` with the call, one JSON response.
//!
//! A tool's address, headers and secrets never appear in a failure: the client may see it.

use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::catalog::ServerTool;
use crate::contract::{SessionId, TurnId, UserId};
use crate::files::FileFailure;
use crate::mcp::McpFailure;
use crate::outbound::{ServiceFailure, post};
use crate::ports::Platform;

/// The largest response of a tool, in bytes: a result, and files that are stored apart from it.
const MAX_RESPONSE_BYTES: usize = 16_000_000;

/// A call of a server tool, as its service receives it.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ToolInvocation<'a> {
    /// The id by which the tool knows the call.
    pub tool_call_id: &'a str,
    pub name: &'a str,
    /// JSON text as the model wrote it.
    #[serde(serialize_with = "as_json")]
    pub arguments: &'a str,
    /// The session that makes the call.
    pub session_id: &'a SessionId,
    /// The turn that makes the call.
    pub turn_id: &'a TurnId,
    /// The user whose session it is; a `SessionId` names no session by itself then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<&'a UserId>,
    /// Who sent the submission, where the client's credential says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<&'a UserId>,
}

/// Why a tool gave no result. Clients and the model may read the text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ToolFailure {
    #[error("its arguments are not valid JSON")]
    Arguments,
    #[error(transparent)]
    Service(#[from] ServiceFailure),
    #[error(transparent)]
    Files(#[from] FileFailure),
    #[error(transparent)]
    Mcp(#[from] McpFailure),
    #[error(
        "its result hands the model a picture or a file at a host that FileHosts of its entry does not list"
    )]
    FileHost,
    /// The limit, in bytes.
    #[error("The turn's tools have given more than {0} bytes.")]
    TurnTooLarge(usize),
}

impl ToolFailure {
    /// Whether the model wrote the call wrong, and the tool itself did not fail.
    pub(super) fn is_of_the_model(&self) -> bool {
        matches!(self, Self::Arguments | Self::Mcp(McpFailure::Arguments))
    }
}

/// Calls the tool and returns the JSON text of its response.
pub(super) async fn call<P: Platform>(
    platform: &P,
    tool: &ServerTool,
    invocation: ToolInvocation<'_>,
) -> Result<String, ToolFailure> {
    let body = serde_json::to_string(&invocation).map_err(|_| ToolFailure::Arguments)?;
    Ok(post(platform, &tool.http, body, MAX_RESPONSE_BYTES).await?)
}

fn as_json<S: Serializer>(text: &&str, serializer: S) -> Result<S::Ok, S::Error> {
    let json: &RawValue = match text.trim() {
        // Some services write no text for a call without arguments.
        "" => serde_json::from_str("{}"),
        text => serde_json::from_str(text),
    }
    .map_err(S::Error::custom)?;
    json.serialize(serializer)
}
