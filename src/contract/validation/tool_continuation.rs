//! Reading a Tool Continuation (AGN-034 §2.2 and §5, interface §2).
//!
//! It owns the rules of a submission's own shape, and does not know the pending calls.

use serde::de::IgnoredAny;

use super::reader::Reader;
use super::request_object::request_object;
use super::user_turn::forbidden_in_others;
use crate::contract::{ErrorCode, SessionId, ToolOutcome, ToolResult, TurnId, limits};
use crate::json::{ForbiddenMembers, Node, Place, not_json};

const FORBIDDEN: [ForbiddenMembers; 5] =
    forbidden_in_others("has no place beside ToolResults; send it with a user turn");

request_object! {
    /// Tool results for a waiting turn.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ToolContinuation as CONTINUATION forbidding FORBIDDEN,
    pub(super) fn tool_continuation(reader, node) {
        "SessionId" required => session_id: SessionId = identifier(SessionId::parse),
        "TurnId" required => turn_id: TurnId = identifier(TurnId::parse),
        /// One or more, in the client's order.
        "ToolResults" required => tool_results: Vec<ToolResult> =
            full_list(limits::TOOL_RESULTS, "result", Reader::tool_result),
    }
}

request_object! {
    fn result_of_call(reader, node, outcomes: &mut usize) -> ToolResult as TOOL_RESULT {
        "ToolCallId" required => tool_call_id = full_text(limits::TOOL_CALL_ID),
        "ExecutionMs" required => execution_ms = integer(),
        "ResultJson" -> result = outcome(outcomes, Reader::json_text),
        "ErrorMessage" -> error = outcome(outcomes, |reader, node| {
            reader.full_text(limits::ERROR_MESSAGE, node)
        }),
    } with {
        outcome: result.map(ToolOutcome::Result).or(error.map(ToolOutcome::Error))?,
    }
}

impl Reader {
    fn tool_result(&mut self, node: Node<'_, '_>) -> Option<ToolResult> {
        // An outcome counts, right or wrong, so that one mistake is reported once.
        let mut outcomes = 0;
        let result = self.result_of_call(node, &mut outcomes);
        if node.is_object() && outcomes == 0 {
            self.report(
                ErrorCode::MissingField,
                &Place::Member(&node.place, "ResultJson"),
                "or ErrorMessage is required; add exactly one of them",
            );
        }
        result
    }

    /// One of the two outcomes of a call. The second one is not read.
    fn outcome(
        &mut self,
        outcomes: &mut usize,
        read: fn(&mut Self, Node<'_, '_>) -> Option<String>,
        node: Node<'_, '_>,
    ) -> Option<String> {
        *outcomes += 1;
        if *outcomes == 1 {
            return read(self, node);
        }
        let problem =
            "stands beside the other outcome; send exactly one of ResultJson and ErrorMessage";
        self.refuse(node, problem)
    }

    fn json_text(&mut self, node: Node<'_, '_>) -> Option<String> {
        let json = self.text(limits::RESULT_JSON, node)?;
        match serde_json::from_str::<IgnoredAny>(&json) {
            Ok(_) => Some(json),
            Err(error) => self.refuse(node, &format!("must hold JSON; it is {}", not_json(&error))),
        }
    }
}
