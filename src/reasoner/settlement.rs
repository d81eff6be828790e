//! Closing calls that nobody will answer any more, so that the model's chain never waits for them.

use serde_json::value::RawValue;

use super::not_executed;
use crate::contract::{ErrorCode, Fault};
use crate::persistence::{Call, Database, Session, SessionStore};
use crate::responses_api::function_call_output;
use crate::server_tools::output_text;

/// Gives every call that is still open an output which says that it was not executed, and hands
/// all of them back to the conversation. Does nothing when no call is open.
///
/// # Errors
/// `internal` when the storage fails.
pub fn settle_open_calls<D: Database>(
    store: &SessionStore<D>,
    session: &mut Session,
    why: &str,
) -> Result<(), Fault> {
    let Some(open) = session.open_calls else { return Ok(()) };
    let mut calls = store.calls(open)?;
    let mut closed = Vec::new();
    for call in &mut calls {
        if call.answer.is_none() {
            *call = not_executed(call, &format!("The tool was not executed: {why}."));
            closed.push(call.clone());
        }
    }
    store.hand_back(session, open, &closed, &outputs_of(&calls)?)
}

/// The outputs of answered calls, in the model's order, as a JSON array of `function_call_output`.
///
/// # Errors
/// `internal` when a call has no answer, or an output cannot be written as JSON.
pub fn outputs_of(calls: &[Call]) -> Result<String, Fault> {
    let outputs: Result<Vec<Box<RawValue>>, Fault> = calls
        .iter()
        .map(|call| {
            let answer = call.answer.as_ref().ok_or_else(|| {
                Fault::new(ErrorCode::Internal, "A call was handed back without an answer.")
            })?;
            function_call_output(&call.call_id, &output_text(&answer.outcome)).map_err(unwritable)
        })
        .collect();
    serde_json::to_string(&outputs?).map_err(unwritable)
}

fn unwritable(_: serde_json::Error) -> Fault {
    Fault::new(ErrorCode::Internal, "A tool output could not be written as JSON.")
}
