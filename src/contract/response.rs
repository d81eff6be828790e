//! The result of a turn, as a client sees it (AGN-033; interface §2, The result).
//!
//! It owns the two kinds of response. The forbidden states of AGN-033 §3.4 cannot be represented:
//! a final response has no room for tool calls, a continuation none for text, results, files,
//! warnings or usage, and an empty bucket is absent. It holds nothing of the model service and
//! never signals a failure.

use serde::{Deserialize, Serialize};

use super::identifiers::{SessionId, TurnId};
use super::tool_result::ToolResult;
use crate::encoding::{Usage, sparse_object};

/// `AgentExecuteResponse`, tagged by `Kind`, which comes first on the wire.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "Kind")]
pub enum AgentExecuteResponse {
    /// The turn has ended.
    #[serde(rename = "final")]
    Final(FinalResponse),
    /// The client must run tools and send their results.
    #[serde(rename = "client_tool_continuation")]
    ClientToolContinuation(ToolContinuationResponse),
}

sparse_object! {
    /// A completed turn, as the user sees it.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    #[serde(rename_all = "PascalCase")]
    pub struct FinalResponse {
        pub session_id: SessionId,
        pub turn_id: TurnId,
        /// For display only; clients must not branch on it.
        pub mode_display_name: String,
        /// The final text, in Markdown; possibly empty.
        pub primary_output_text: String,
        /// Files by reference; contents are never embedded.
        pub files?: Vec<FileRef>,
        /// Results of the tools that the server ran, in the shape of a client's.
        pub tool_results?: Vec<ToolResult>,
        /// Sentences for the user that ask for no action.
        pub user_warnings?: Vec<String>,
        /// Tokens, summed over the turn's model calls; absent when none was reported.
        pub usage?: Option<Usage>,
    }

    /// A turn that waits for the client's tools.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    #[serde(rename_all = "PascalCase")]
    pub struct ToolContinuationResponse {
        pub session_id: SessionId,
        pub turn_id: TurnId,
        /// For display only; clients must not branch on it.
        pub mode_display_name: String,
        /// The exact, ordered set of calls whose results must come back.
        pub tool_calls: ToolCalls,
        /// Informational; a client may suppress it.
        pub tool_continuation_message?: Option<String>,
    }
}

/// One tool call for the client to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ToolCall {
    /// Names the call; its result carries the same id.
    pub tool_call_id: String,
    pub name: String,
    /// The arguments, as the model wrote them: JSON text.
    pub arguments_json: String,
}

/// One or more tool calls, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolCalls(Vec<ToolCall>);

sparse_object! {
    /// A file by reference (AGN-033 §6.3).
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "PascalCase", deny_unknown_fields)]
    pub struct FileRef {
        pub name: String,
        pub mime_type: String,
        /// Where to get it.
        pub url: String,
        /// Its size in bytes.
        pub size_bytes: u64,
        /// The hash of its content.
        pub content_hash: String,
        /// A sentence about the file.
        pub description?: Option<String>,
        /// When the link expires, ISO 8601; absent when it does not.
        pub content_expires?: Option<String>,
    }
}

impl ToolCalls {
    /// The calls; `None` without any, because a continuation has at least one.
    pub fn new(calls: Vec<ToolCall>) -> Option<Self> {
        (!calls.is_empty()).then_some(Self(calls))
    }
}
