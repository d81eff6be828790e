//! Reading a Tool Continuation (AGN-034 §2.2 and §5, interface §2).
//!
//! It owns the rules of a submission's own shape. Whether the results are those of the pending
//! calls is not known here.

use serde::de::IgnoredAny;

use super::user_turn::SERVER_OWNED;
use super::values::{full_text, identifier, integer, list, text};
use super::violations::Violations;
use crate::contract::error_code::ErrorCode;
use crate::contract::identifiers::{SessionId, TurnId};
use crate::contract::limits;
use crate::contract::request::ToolContinuation;
use crate::contract::tool_result::{ToolOutcome, ToolResult};
use crate::json::{ForbiddenMembers, Node, ObjectShape, Place, not_json};

const TOOL_CONTINUATION: ObjectShape = ObjectShape::new(
    &["SessionId", "TurnId", "ToolResults"],
    &["SessionId", "TurnId", "ToolResults"],
)
.forbidding(&[
    SERVER_OWNED,
    ForbiddenMembers {
        names: &[
            "Instruction",
            "InputArtifacts",
            "ClipboardImages",
            "RagScope",
            "SolutionContextText",
            "WorkspaceId",
            "Repo",
            "Language",
            "Streaming",
            "AgentContextId",
            "ConversationContextId",
            "ToolsJson",
            "ToolChoiceName",
        ],
        problem: "has no place beside ToolResults; send it with a user turn",
        null_is_absent: true,
    },
]);

const TOOL_RESULT: ObjectShape = ObjectShape::new(
    &["ToolCallId", "ExecutionMs", "ResultJson", "ErrorMessage"],
    &["ToolCallId", "ExecutionMs"],
);

/// Reads the body as a Tool Continuation.
pub(super) fn tool_continuation(body: &str, found: &mut Violations) -> Option<ToolContinuation> {
    let (mut session_id, mut turn_id, mut tool_results) = (None, None, None);
    TOOL_CONTINUATION.read(Node::root(body), found, |name, node, found| match name {
        "SessionId" => session_id = identifier(SessionId::parse, node, found),
        "TurnId" => turn_id = identifier(TurnId::parse, node, found),
        _ => tool_results = results(node, found),
    });
    Some(ToolContinuation {
        session_id: session_id?,
        turn_id: turn_id?,
        tool_results: tool_results?,
    })
}

fn results(node: Node<'_, '_>, found: &mut Violations) -> Option<Vec<ToolResult>> {
    let mut count = 0_usize;
    let results = list(limits::TOOL_RESULTS, node, found, |node, found| {
        count += 1;
        tool_result(node, found)
    })?;
    if count == 0 {
        found.invalid(node, "must hold at least one result");
    }
    Some(results)
}

fn tool_result(node: Node<'_, '_>, found: &mut Violations) -> Option<ToolResult> {
    let (mut tool_call_id, mut execution_ms, mut outcome) = (None, None, None);
    // What stands there counts, right or wrong, so that one mistake is reported once.
    let mut outcomes = 0_usize;
    TOOL_RESULT.read(node, found, |name, node, found| match name {
        "ToolCallId" => tool_call_id = full_text(limits::TOOL_CALL_ID, node, found),
        "ExecutionMs" => execution_ms = integer(node, found),
        _ => {
            outcomes += 1;
            if outcomes > 1 {
                found.invalid(
                    node,
                    "stands beside the other outcome; send exactly one of ResultJson and \
                     ErrorMessage",
                );
            } else if name == "ResultJson" {
                outcome = json_text(node, found).map(ToolOutcome::Result);
            } else {
                outcome = full_text(limits::ERROR_MESSAGE, node, found).map(ToolOutcome::Error);
            }
        }
    });
    if node.is_object() && outcomes == 0 {
        found.report(
            ErrorCode::MissingField,
            &Place::Member(&node.place, "ResultJson"),
            "or ErrorMessage is required; add exactly one of them",
        );
    }
    Some(ToolResult { tool_call_id: tool_call_id?, execution_ms: execution_ms?, outcome: outcome? })
}

fn json_text(node: Node<'_, '_>, found: &mut Violations) -> Option<String> {
    let json = text(limits::RESULT_JSON, node, found)?;
    if let Err(error) = serde_json::from_str::<IgnoredAny>(&json) {
        found.invalid(node, &format!("must hold JSON; it is {}", not_json(&error)));
        return None;
    }
    Some(json)
}
