//! Reading a Tool Continuation (AGN-034 §2.2 and §5, interface §2).
//!
//! It owns the rules of a submission's own shape, and does not know the pending calls.

use serde::de::IgnoredAny;

use super::reader::Reader;
use super::user_turn;
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
.forbidding(&FORBIDDEN);

const FORBIDDEN: [ForbiddenMembers; 5] = {
    let [mode, conversation_id, people, others] = user_turn::SERVER_OWNED;
    // A known member is never forbidden: the last group forbids the members that only a User Turn has.
    let of_user_turns = ForbiddenMembers {
        names: user_turn::MEMBERS,
        problem: "has no place beside ToolResults; send it with a user turn",
        unset_is_absent: true,
    };
    [mode, conversation_id, people, others, of_user_turns]
};

const TOOL_RESULT: ObjectShape = ObjectShape::new(
    &["ToolCallId", "ExecutionMs", "ResultJson", "ErrorMessage"],
    &["ToolCallId", "ExecutionMs"],
);

/// Reads the body as a Tool Continuation.
pub(super) fn tool_continuation(body: &str, reader: &mut Reader) -> Option<ToolContinuation> {
    let (mut session_id, mut turn_id, mut tool_results) = (None, None, None);
    TOOL_CONTINUATION.read(Node::root(body), reader, |name, node, reader| match name {
        "SessionId" => session_id = reader.identifier(SessionId::parse, node),
        "TurnId" => turn_id = reader.identifier(TurnId::parse, node),
        "ToolResults" => {
            tool_results = reader.full_list(limits::TOOL_RESULTS, "result", node, tool_result);
        }
        _ => {}
    });
    Some(ToolContinuation {
        session_id: session_id?,
        turn_id: turn_id?,
        tool_results: tool_results?,
    })
}

fn tool_result(node: Node<'_, '_>, reader: &mut Reader) -> Option<ToolResult> {
    let (mut tool_call_id, mut execution_ms, mut outcome) = (None, None, None);
    // An outcome counts, right or wrong, so that one mistake is reported once.
    let mut outcomes = 0_usize;
    TOOL_RESULT.read(node, reader, |name, node, reader| match name {
        "ToolCallId" => tool_call_id = reader.full_text(limits::TOOL_CALL_ID, node),
        "ExecutionMs" => execution_ms = reader.integer(node),
        _ => {
            outcomes += 1;
            if outcomes > 1 {
                reader.invalid(
                    node,
                    "stands beside the other outcome; send exactly one of ResultJson and \
                     ErrorMessage",
                );
            } else if name == "ResultJson" {
                outcome = json_text(node, reader).map(ToolOutcome::Result);
            } else {
                outcome = reader.full_text(limits::ERROR_MESSAGE, node).map(ToolOutcome::Error);
            }
        }
    });
    if node.is_object() && outcomes == 0 {
        reader.report(
            ErrorCode::MissingField,
            &Place::Member(&node.place, "ResultJson"),
            "or ErrorMessage is required; add exactly one of them",
        );
    }
    Some(ToolResult { tool_call_id: tool_call_id?, execution_ms: execution_ms?, outcome: outcome? })
}

fn json_text(node: Node<'_, '_>, reader: &mut Reader) -> Option<String> {
    let json = reader.text(limits::RESULT_JSON, node)?;
    match serde_json::from_str::<IgnoredAny>(&json) {
        Ok(_) => Some(json),
        Err(error) => reader.refuse(node, &format!("must hold JSON; it is {}", not_json(&error))),
    }
}
