//! Reading a Tool Continuation (AGN-034 sections 2.2 and 5, interface section 2).
//!
//! It owns the rules of a submission's own shape. Whether the results are those of the pending
//! calls is not known here.

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::json_object::{ForbiddenMembers, ObjectShape};
use super::json_value::{full_text, integer, invalid, list, text};
use super::place::Place;
use super::violations::Violations;
use super::well_formed::not_json;
use super::{SERVER_OWNED, identifier};
use crate::contract::error_code::ErrorCode;
use crate::contract::identifiers::{SessionId, TurnId};
use crate::contract::limits;
use crate::contract::request::ToolContinuation;
use crate::contract::tool_result::{ToolOutcome, ToolResult};

const TOOL_CONTINUATION: ObjectShape = ObjectShape {
    required: &["SessionId", "TurnId", "ToolResults"],
    optional: &[],
    forbidden: &[
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
    ],
};

const TOOL_RESULT: ObjectShape = ObjectShape {
    required: &["ToolCallId", "ExecutionMs"],
    optional: &["ResultJson", "ErrorMessage"],
    forbidden: &[],
};

/// Reads the body as a Tool Continuation.
pub(super) fn tool_continuation(
    body: &str,
    violations: &mut Violations,
) -> Option<ToolContinuation> {
    let (mut session_id, mut turn_id, mut tool_results) = (None, None, None);
    TOOL_CONTINUATION.read(body, &Place::Body, violations, |name, value, at, found| match name {
        "SessionId" => session_id = identifier(SessionId::parse, value, at, found),
        "TurnId" => turn_id = identifier(TurnId::parse, value, at, found),
        _ => tool_results = results(value, at, found),
    });
    Some(ToolContinuation {
        session_id: session_id?,
        turn_id: turn_id?,
        tool_results: tool_results?,
    })
}

fn results(
    value: &RawValue,
    place: &Place<'_>,
    violations: &mut Violations,
) -> Option<Vec<ToolResult>> {
    let mut count = 0_usize;
    let results = list(limits::TOOL_RESULTS, value, place, violations, |value, place, found| {
        count += 1;
        tool_result(value, place, found)
    })?;
    if count == 0 {
        invalid(violations, place, "must hold at least one result");
    }
    Some(results)
}

fn tool_result(
    value: &RawValue,
    place: &Place<'_>,
    violations: &mut Violations,
) -> Option<ToolResult> {
    let (mut tool_call_id, mut execution_ms, mut outcome) = (None, None, None);
    // What stands there counts, right or wrong, so that one mistake is reported once.
    let mut outcomes = 0_usize;
    let is_object = value.get().starts_with('{');
    TOOL_RESULT.read(value.get(), place, violations, |name, value, at, found| match name {
        "ToolCallId" => tool_call_id = full_text(limits::TOOL_CALL_ID, value, at, found),
        "ExecutionMs" => execution_ms = integer(value, at, found),
        _ => {
            outcomes += 1;
            if outcomes > 1 {
                invalid(
                    found,
                    at,
                    "stands beside the other outcome; send exactly one of ResultJson and \
                         ErrorMessage",
                );
            } else if name == "ResultJson" {
                outcome = json_text(value, at, found).map(ToolOutcome::Result);
            } else {
                outcome =
                    full_text(limits::ERROR_MESSAGE, value, at, found).map(ToolOutcome::Error);
            }
        }
    });
    if is_object && outcomes == 0 {
        violations.report(
            ErrorCode::MissingField,
            &Place::Member(place, "ResultJson"),
            "or ErrorMessage is required; add exactly one of them",
        );
    }
    Some(ToolResult { tool_call_id: tool_call_id?, execution_ms: execution_ms?, outcome: outcome? })
}

fn json_text(value: &RawValue, place: &Place<'_>, violations: &mut Violations) -> Option<String> {
    let json = text(limits::RESULT_JSON, value, place, violations)?;
    if let Err(error) = serde_json::from_str::<IgnoredAny>(&json) {
        let problem = format!("must hold JSON; it is {}", not_json(&error));
        invalid(violations, place, &problem);
        return None;
    }
    Some(json)
}
