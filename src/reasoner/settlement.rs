//! Closing what stays open, so that the model's chain never waits for it: calls that nobody will
//! answer any more, and outputs that the model service refused.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::without_result;
use crate::contract::{ErrorCode, Fault, ToolOutcome, TurnStatus};
use crate::persistence::{Call, RunsOn, Session, SessionStore, StoredOutcome, Turn};
use crate::ports::Database;
use crate::responses_api::function_call_output;
use crate::server_tools::output_text;

/// Ends a turn as aborted, and closes the calls that it made.
///
/// # Errors
/// `internal` when the storage fails; then nothing was written.
pub fn abort<D: Database>(
    store: &SessionStore<D>,
    session: &mut Session,
    turn: &mut Turn,
    outcome: &StoredOutcome,
    now: u64,
) -> Result<(), Fault> {
    turn.status = TurnStatus::Aborted;
    store.step(|| {
        settle_open_calls(store, session, "the turn was cancelled")?;
        store.end(session, turn, None, outcome, now)
    })
}

/// Gives every call that is still open an output which says that there is no result, and hands all
/// of them back to the conversation. Does nothing when no call is open.
///
/// # Errors
/// `internal` when the storage fails.
pub fn settle_open_calls<D: Database>(
    store: &SessionStore<D>,
    session: &mut Session,
    why: &str,
) -> Result<(), Fault> {
    let result_of = |call: &Call| {
        // A server tool may have been at work when its turn was cut off.
        let what = match call.runs_on {
            RunsOn::Server => "It is not known whether the tool was executed",
            RunsOn::Client | RunsOn::Nobody => "The tool was not executed",
        };
        without_result(&call.tool_call_id, &format!("{what}: {why}."))
    };
    store.settle_open_calls(session, result_of, outputs_of)
}

/// The outputs of answered calls, in the model's order, as a JSON array of `function_call_output`.
///
/// # Errors
/// `internal` when a call has no answer, or an output cannot be written as JSON.
pub fn outputs_of(calls: &[Call]) -> Result<String, Fault> {
    let outputs: Result<Vec<Box<RawValue>>, Fault> = calls
        .iter()
        .map(|call| {
            let result = call.result.as_ref().ok_or_else(|| {
                Fault::new(ErrorCode::Internal, "A call was handed back without an answer.")
            })?;
            function_call_output(&call.call_id, &output_text(&result.outcome))
                .map_err(|_| Fault::unwritable("A tool output"))
        })
        .collect();
    serde_json::to_string(&outputs?).map_err(|_| Fault::unwritable("A tool output"))
}

/// What stands for an output that the model service refused: the call has to be answered.
pub(super) fn refused_output(output: &RawValue) -> Result<Box<RawValue>, Fault> {
    #[derive(Deserialize)]
    struct Answered {
        call_id: String,
    }
    let Answered { call_id } = serde_json::from_str(output.get())
        .map_err(|_| Fault::new(ErrorCode::Internal, "A stored tool output is unreadable."))?;
    let why = ToolOutcome::Error("The model service refused the tool's result.".to_owned());
    function_call_output(&call_id, &output_text(&why))
        .map_err(|_| Fault::unwritable("A tool output"))
}
