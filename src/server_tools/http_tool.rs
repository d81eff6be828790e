//! HTTP tools (interface §6): one `POST` with the call, one JSON response.
//!
//! A tool's address, headers and secrets never appear in a failure: the client may see it.

use std::borrow::Cow;

use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::catalog::ServerTool;
use crate::contract::{SessionId, TraceContext, TurnId, UserId};
use crate::files::FileFailure;
use crate::mcp::McpFailure;
use crate::outbound::{ServiceFailure, post};
use crate::ports::{Platform, TRACE_PARENT, TRACE_STATE};

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
    #[error(
        "its result names a file of the model service by its file_id, which its entry permits with \"FileIds\": true"
    )]
    FileId,
    /// The limit, in bytes.
    #[error("The turn's tools have given more than {0} bytes.")]
    TurnTooLarge(usize),
}

impl ToolFailure {
    /// Whether the model wrote the call wrong, and the tool itself did not fail.
    pub(super) fn is_of_the_model(&self) -> bool {
        matches!(self, Self::Arguments | Self::Mcp(McpFailure::Arguments))
    }

    /// What it is, in one word, or the status of the service.
    pub(super) fn error_type(&self) -> Cow<'static, str> {
        match self {
            Self::Arguments | Self::Mcp(McpFailure::Arguments) => "arguments".into(),
            Self::Service(failure) | Self::Mcp(McpFailure::Service(failure)) => {
                failure.error_type()
            }
            Self::Files(_) => "files".into(),
            Self::Mcp(McpFailure::Refused { code, .. }) => code.to_string().into(),
            Self::Mcp(
                McpFailure::NoResult
                | McpFailure::TooManyMessages(_)
                | McpFailure::NeedsInput
                | McpFailure::UnknownVersion,
            ) => "protocol".into(),
            Self::FileHost => "file_host".into(),
            Self::FileId => "file_id".into(),
            Self::TurnTooLarge(_) => "too_large".into(),
        }
    }

    /// The code of an error of MCP.
    pub(super) fn mcp_code(&self) -> Option<i64> {
        match self {
            Self::Mcp(McpFailure::Refused { code, .. }) => Some(*code),
            _ => None,
        }
    }
}

/// Calls the tool and returns the JSON text of its response. `trace` is handed on in headers.
pub(super) async fn call<P: Platform>(
    platform: &P,
    tool: &ServerTool,
    invocation: ToolInvocation<'_>,
    trace: Option<&TraceContext>,
) -> Result<String, ToolFailure> {
    let body = serde_json::to_string(&invocation).map_err(|_| ToolFailure::Arguments)?;
    let parent = trace.map(|trace| (TRACE_PARENT.to_owned(), trace.parent.clone()));
    let state = trace.and_then(|trace| Some((TRACE_STATE.to_owned(), trace.state.clone()?)));
    let own = parent.into_iter().chain(state).collect();
    let user = platform.user().map(UserId::as_str);
    Ok(post(platform, user, &tool.http, own, body, MAX_RESPONSE_BYTES).await?)
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
