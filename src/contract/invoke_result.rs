//! The envelope of every JSON response (AGN-033 §2.1; interface §1, InvokeResult).
//!
//! An `InvokeResult` is built nowhere else. The envelope decides nothing about content: a success
//! wraps a given result, a failure lists given faults.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::fault::{Fault, Result, Warning};
use super::identifiers::SessionId;
use crate::json::first_member;

/// `Successful`, `Result` (absent when not successful), `Errors`, `Warnings`,
/// always in this order.
///
/// A result becomes JSON when the envelope is built, so a result without a JSON form is a failure
/// in the status as well as in the text.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct InvokeResult {
    successful: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    errors: Vec<Fault>,
    warnings: Vec<Warning>,
}

/// The text for an envelope that has no JSON form itself; no known value leads here.
const UNWRITABLE: &str = concat!(
    r#"{"Successful":false,"Errors":[{"ErrorCode":"internal","#,
    r#""Message":"The answer could not be written as JSON.","SystemError":true}],"Warnings":[]}"#
);

impl InvokeResult {
    /// A successful invocation.
    pub fn success(result: impl Serialize) -> Self {
        Self::success_with(result, Vec::new())
    }

    /// The same with warnings, which never make it unsuccessful.
    pub fn success_with(result: impl Serialize, warnings: Vec<Warning>) -> Self {
        match to_raw_value(&result) {
            Ok(result) => {
                Self { successful: true, result: Some(result), errors: Vec::new(), warnings }
            }
            Err(_) => Self::from(Fault::unwritable("The result")),
        }
    }

    /// The text before and after the result of a success without warnings, for a result that is sent
    /// in pieces.
    pub fn around_success() -> (&'static str, &'static str) {
        (r#"{"Successful":true,"Result":"#, r#","Errors":[],"Warnings":[]}"#)
    }

    /// A failed invocation with all its faults. A failure without a fault gets an `internal` one.
    pub fn failure(faults: Vec<Fault>) -> Self {
        Self::failure_with(faults, Vec::new())
    }

    /// The same with warnings.
    pub fn failure_with(faults: Vec<Fault>, warnings: Vec<Warning>) -> Self {
        let errors = if faults.is_empty() {
            vec![Fault::internal("The invocation failed without naming a fault.")]
        } else {
            faults
        };
        Self { successful: false, result: None, errors, warnings }
    }

    /// 200, or the status of the first fault.
    pub fn http_status(&self) -> u16 {
        self.errors.first().map_or(200, Fault::http_status)
    }

    /// The envelope as compact JSON. JSON delivery and the stream's `result` event send this same
    /// text, byte for byte.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| UNWRITABLE.to_owned())
    }
}

/// What the service itself reads of an `InvokeResult` that it has stored for a turn.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ReadOutcome {
    pub result: Option<ReadResult>,
    pub errors: Vec<Fault>,
}

/// What a stored `Result` says, as far as somebody asks for it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ReadResult {
    pub kind: Option<String>,
    pub primary_output_text: Option<String>,
    pub tool_continuation_message: Option<String>,
    #[serde(default)]
    pub tool_calls: Vec<WaitingCall>,
}

/// A call that waits for the client, without its arguments.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct WaitingCall {
    pub tool_call_id: String,
    pub name: String,
}

impl ReadOutcome {
    /// # Errors
    /// `internal` for a text that is no `InvokeResult`.
    pub fn of(body: &str) -> Result<Self> {
        serde_json::from_str(body).map_err(|_| unreadable_outcome())
    }
}

/// `internal`, of a stored text that is no `InvokeResult`.
pub fn unreadable_outcome() -> Fault {
    Fault::internal("The session's storage holds an unreadable outcome.")
}

/// A stored `InvokeResult` as it is in another session: its `Result` names that one, and every other byte stays. One
/// whose result names no session stays as it is.
pub fn outcome_in_session(outcome: String, session: &SessionId) -> String {
    let named =
        first_member(&outcome, "Result").and_then(|result| first_member(result, "SessionId"));
    // The member is a slice of the outcome.
    let place = named.map(|named| (named.as_ptr().addr() - outcome.as_ptr().addr(), named.len()));
    let Some((start, length)) = place else { return outcome };
    let Ok(name) = serde_json::to_string(session) else { return outcome };
    let mut moved = outcome;
    moved.replace_range(start..start + length, &name);
    moved
}

impl From<Fault> for InvokeResult {
    fn from(fault: Fault) -> Self {
        Self::failure(vec![fault])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::contract::ErrorCode;

    #[test]
    fn a_success_keeps_its_warnings_and_the_order_of_members() {
        let result = InvokeResult::success_with(
            BTreeMap::from([("Deleted", true)]),
            vec![Warning::new("late", "Late.")],
        );
        assert_eq!(result.http_status(), 200);
        assert_eq!(
            result.to_json(),
            concat!(
                r#"{"Successful":true,"Result":{"Deleted":true},"Errors":[],"Warnings":"#,
                r#"[{"ErrorCode":"late","Message":"Late.","SystemError":false}]}"#
            )
        );
    }

    #[test]
    fn an_outcome_in_another_session_differs_in_its_name_alone() {
        let session = SessionId::parse("new").unwrap();
        let outcome = |id: &str| {
            format!(
                r#"{{"Successful":true,"Result":{{"Kind":"ok","SessionId":"{id}","TurnId":"old","Usage":1.50,"PrimaryOutputText":"\"SessionId\":\"old\""}},"Errors":[],"Warnings":[]}}"#
            )
        };
        assert_eq!(outcome_in_session(outcome("old"), &session), outcome("new"));
        let failure = InvokeResult::from(Fault::new(ErrorCode::TurnAborted, "SessionId")).to_json();
        assert_eq!(outcome_in_session(failure.clone(), &session), failure);
    }

    #[test]
    fn a_success_in_pieces_is_the_same_as_in_one() {
        let (opening, ending) = InvokeResult::around_success();
        assert_eq!(format!("{opening}[1]{ending}"), InvokeResult::success([1]).to_json());
    }

    #[test]
    fn a_failure_has_no_result_and_the_status_of_its_first_fault() {
        let result = InvokeResult::failure(vec![
            Fault::new(ErrorCode::TurnConflict, "Used."),
            Fault::new(ErrorCode::Internal, "Odd."),
        ]);
        assert_eq!(result.http_status(), 409);
        assert_eq!(
            result.to_json(),
            concat!(
                r#"{"Successful":false,"Errors":[{"ErrorCode":"turn_conflict","Message":"Used.","SystemError":false},"#,
                r#"{"ErrorCode":"internal","Message":"Odd.","SystemError":true}],"Warnings":[]}"#
            )
        );
    }

    #[test]
    fn what_cannot_be_written_is_an_internal_failure_in_status_and_text() {
        // A map whose keys are not strings has no JSON form.
        let unwritable = BTreeMap::from([(vec![1], 1)]);
        let result = InvokeResult::success(&unwritable);
        assert_eq!((result.successful, result.http_status()), (false, 500));
        assert_eq!(InvokeResult::failure(Vec::new()).http_status(), 500);
        let fallback: serde_json::Value = serde_json::from_str(UNWRITABLE).unwrap();
        assert_eq!(fallback["Errors"][0]["ErrorCode"], "internal");
    }
}
