//! Approvals: a human is asked before a call runs, through the client (interface §12).
//!
//! The question is a client tool call beside the client's own. The decision is its result: it is checked before
//! anything is stored, and then kept with the call, so that what runs is what was approved.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::running_turn::tools_of;
use super::settlement::missing_result;
use crate::catalog::{APPROVE_TOOL, Approval, Approvers};
use crate::composition::{NoResult, ToolList};
use crate::contract::{Operation, Result, ToolCall, ToolOutcome, ToolResult};
use crate::identity::{ForwardedCaller, Subject};
use crate::json::{Node, any_text, canonical_json, from_object, is_ambiguous, schema_problem};
use crate::persistence::{Call, CallApproval, Decision, RunsOn, Session, SessionStore, Turn};
use crate::ports::Database;
use crate::responses_api::FunctionCall;

const DECISIONS: &str = "must hold {\"Approved\":true}, with Arguments at most where AllowEdit is true, or {\"Approved\":false,\"Reason\":\"…\"}, and nothing else";
const NO_EDIT: &str =
    "must leave Arguments out: this call runs as it is, or not at all; approve or refuse it";

/// The arguments of `agent_approve_tool`.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ApprovalRequest<'a> {
    tool_call_id: &'a str,
    name: &'a str,
    arguments: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    allow_edit: bool,
}

/// A decision, as the client's result for the question holds it.
enum DecisionBody<'a> {
    /// The call runs, with these arguments or else its own.
    Approved(Option<&'a str>),
    /// The call does not run, for this reason, which may be empty.
    Refused(String),
}

/// Puts the results that a client sends into the calls of a turn.
pub(super) struct ResultIntake {
    /// The turn's tools, if a decision is waited for.
    tools: ToolList,
    /// Who sends the results.
    decided_by: Option<String>,
    waited_ms: u64,
}

/// The question that a call has to wait for, as its tool was frozen.
pub(super) fn question(approval: &Approval) -> CallApproval {
    let Approval { allow_edit, message, by: _ } = approval;
    CallApproval { allow_edit: *allow_edit, message: message.clone(), ..CallApproval::default() }
}

/// Whether the model makes a refused call again: the same tool, and equal arguments as JSON, for which 1 and 1.0 are the
/// same number.
pub(super) fn is_made_again((name, known): &(String, String), made: &FunctionCall) -> bool {
    let read =
        |arguments| serde_json::from_str(or_empty_object(arguments)).ok().map(canonical_json);
    let again = &made.arguments;
    *name == made.name
        && (known == again || read(known).is_some_and(|known| Some(known) == read(again)))
}

/// A pending call as the client sees it: its own one, or the question about one of the server's.
pub(super) fn tool_call(call: &Call) -> ToolCall {
    let tool_call_id = call.client_id().unwrap_or_default();
    let arguments = or_empty_object(&call.arguments);
    let Some(approval) = &call.approval else {
        let arguments_json = arguments.to_owned();
        return ToolCall { tool_call_id, name: call.name.clone(), arguments_json };
    };
    let request = ApprovalRequest {
        tool_call_id: &call.tool_call_id,
        name: &call.name,
        // Nobody is asked about a call whose arguments are no JSON.
        arguments: serde_json::from_str(arguments).unwrap_or(RawValue::NULL),
        message: approval.message.as_deref(),
        allow_edit: approval.allow_edit,
    };
    // JSON text and plain members can always be written.
    let arguments_json = serde_json::to_string(&request).unwrap_or_default();
    ToolCall { tool_call_id, name: APPROVE_TOOL.to_owned(), arguments_json }
}

/// The arguments of a call. Some services write no text for a call without any.
fn or_empty_object(arguments: &str) -> &str {
    if arguments.trim().is_empty() { "{}" } else { arguments }
}

impl ResultIntake {
    /// For the calls of a paused turn; `now` is the time at which the results came. Refuses a caller without the rights for
    /// the results of the pending calls: `Answer` for those of the client's tools, `Approve` for the decisions of a human,
    /// by whom the operator wants to decide. The stored calls say which they are.
    pub(super) fn new<D: Database>(
        store: &SessionStore<D>,
        turn: &Turn,
        calls: &[Call],
        sent: &ForwardedCaller,
        now: u64,
    ) -> Result<Self> {
        let tools = match calls.iter().any(Call::is_undecided) {
            true => tools_of(store, turn)?,
            false => ToolList::default(),
        };
        let next = turn.progress.submission + 1;
        for call in calls.iter().filter(|call| call.is_pending()) {
            match call.is_undecided() {
                true => refuse_other_decider(store, turn, next, &tools, call, sent)?,
                false => sent.grants.permit(&[&[Operation::Answer]], Subject::Nothing)?,
            }
        }
        let (decided_by, waited_ms) = (sent.caller.decider(), now.saturating_sub(turn.updated_at));
        Ok(Self { tools, decided_by, waited_ms })
    }

    /// Puts a result into its pending call: the client's own result, or the decision of a human. The
    /// error is what is wrong with a decision; the call is then as before.
    pub(super) fn accept(&self, call: &mut Call, given: &ToolResult) -> Result<(), String> {
        let Some(approval) = &mut call.approval else {
            call.result = Some(given.clone());
            return Ok(());
        };
        let schema = |tool: &str| {
            let parameters = self.tools.get(tool)?.parameters().ok()?;
            serde_json::from_str(parameters.get()).ok()
        };
        match read_decision(&given.outcome, approval.allow_edit, || schema(&call.name))? {
            DecisionBody::Approved(arguments) => {
                approval.arguments_json = arguments.map(str::to_owned);
                approval.decision = Some(Decision::Approved);
            }
            DecisionBody::Refused(reason) => {
                approval.decision = Some(Decision::Refused);
                call.runs_on = RunsOn::Nobody;
                let why = NoResult::RefusedByUser(&reason);
                call.result = Some(missing_result(&call.tool_call_id, why));
            }
        }
        approval.decided_by.clone_from(&self.decided_by);
        approval.waited_ms = Some(self.waited_ms);
        Ok(())
    }
}

/// Refuses a caller whose repeat of a turn's latest submission would run approved calls, and who may not decide on them.
pub(crate) fn refuse_other_repeater<D: Database>(
    store: &SessionStore<D>,
    session: &Session,
    turn: &Turn,
    sent: &ForwardedCaller,
) -> Result<()> {
    let Some(open) = session.open_calls_of(turn.ordinal) else { return Ok(()) };
    let mut calls = store.calls(open)?;
    calls.retain(Call::is_approved_without_result);
    if calls.is_empty() {
        return Ok(());
    }
    let tools = tools_of(store, turn)?;
    let decided = turn.progress.submission;
    calls.iter().try_for_each(|call| refuse_other_decider(store, turn, decided, &tools, call, sent))
}

/// Refuses a caller who may not decide on a call, where the turn's submission of that number does.
fn refuse_other_decider<D: Database>(
    store: &SessionStore<D>,
    turn: &Turn,
    submission: u32,
    tools: &ToolList,
    call: &Call,
    sent: &ForwardedCaller,
) -> Result<()> {
    let by = tools.get(&call.name).and_then(|tool| tool.approval.as_ref());
    let by = by.map_or(Approvers::Anyone, |approval| approval.by);
    sent.permit_decision(&call.name, by, || {
        let senders = store.senders_of_words(turn, submission)?;
        Ok(senders.iter().any(|sender| sender.actor == sent.caller.actor))
    })
}

/// A decision on the wire. Serialisers write null for a member that is not set.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct SentDecision<'a> {
    approved: bool,
    reason: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// Reads a decision. An error is a refusal: a client that lacks the tool for questions sends one.
fn read_decision(
    outcome: &ToolOutcome,
    allow_edit: bool,
    schema: impl FnOnce() -> Option<Value>,
) -> Result<DecisionBody<'_>, String> {
    let json = match outcome {
        ToolOutcome::Error(message) => return Ok(DecisionBody::Refused(message.clone())),
        ToolOutcome::Result(json) => json,
    };
    let sent: SentDecision<'_> = from_object(json).map_err(|_| DECISIONS.to_owned())?;
    match (sent.approved, sent.reason, sent.arguments.map(RawValue::get)) {
        (true, None, Some(_)) if !allow_edit => Err(NO_EDIT.to_owned()),
        (true, None, arguments) => {
            arguments.map_or(Ok(()), |arguments| check(arguments, schema()))?;
            Ok(DecisionBody::Approved(arguments))
        }
        (false, reason, None) => Ok(DecisionBody::Refused(reason.unwrap_or_default())),
        _ => Err(DECISIONS.to_owned()),
    }
}

/// Checks a human's arguments against the tool's schema, as far as [`schema_problem`] knows schemas.
fn check(arguments: &str, schema: Option<Value>) -> Result<(), String> {
    let is_readable = Node::root(arguments).is_object()
        && any_text(arguments, |_| false).is_ok()
        && !is_ambiguous(arguments);
    if !is_readable {
        return Err("must hold Arguments as an object, less than 128 levels deep, with no member named twice and no number that a double cannot hold".to_owned());
    }
    match schema.and_then(|schema| schema_problem(arguments, &schema, "Arguments")) {
        Some(problem) => Err(format!("does not fit the tool: {problem}; change it, or refuse")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `approved`, the arguments, or the reason; `None` for what is no decision.
    fn decided(json: &str, allow_edit: bool) -> Option<String> {
        let schema = || Some(json!({ "properties": { "n": { "type": "integer" } } }));
        match read_decision(&ToolOutcome::Result(json.to_owned()), allow_edit, schema).ok()? {
            DecisionBody::Approved(arguments) => Some(arguments.unwrap_or("approved").to_owned()),
            DecisionBody::Refused(reason) => Some(format!("refused {reason}")),
        }
    }

    #[test]
    fn only_the_documented_decisions_are_decisions() {
        for (json, meaning) in [
            (r#"{"Approved":true}"#, Some("approved")),
            (r#" { "Approved" : true , "Reason" : null } "#, Some("approved")),
            (r#"{"Approved":false}"#, Some("refused ")),
            (r#"{"Reason":"wr\u006fng","Approved":false}"#, Some("refused wrong")),
            (r#"{"Approved":true,"Reason":"fine"}"#, None),
            (r#"{"Approved":false,"Reason":1}"#, None),
            (r#"{"Approved":false,"Arguments":{}}"#, None),
            (r#"{"Approved":true,"Approved":false}"#, None),
            (r#"{"Approved":true,"Approve":true}"#, None),
            (r#"{"Approved":1}"#, None),
            (r#"{"Approved":"true"}"#, None),
            (r#"{"Reason":"x"}"#, None),
            ("{}", None),
            ("true", None),
            (r#"[{"Approved":true}]"#, None),
        ] {
            for allow_edit in [false, true] {
                assert_eq!(decided(json, allow_edit).as_deref(), meaning, "{json}");
            }
        }
        let edited = r#"{"Approved":true,"Arguments":{"n": 1e0, "m": 0.10}}"#;
        assert_eq!(decided(edited, true).as_deref(), Some(r#"{"n": 1e0, "m": 0.10}"#));
        assert_eq!(decided(edited, false), None);
        for arguments in [
            r#"{"n":"1"}"#,
            "[]",
            "7",
            &"[".repeat(200),
            r#"{"n":1e999}"#,
            r#"{"n":9007199254740993}"#,
            r#"{"m":12345678901234567890}"#,
            r#"{"m":[{"o":1,"o":1}]}"#,
        ] {
            let json = format!(r#"{{"Approved":true,"Arguments":{arguments}}}"#);
            assert_eq!(decided(&json, true), None, "{arguments}");
        }
    }
}
