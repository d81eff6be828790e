//! Closes the open calls that will never get a result, because the model's chain goes on only after
//! every call has an output.

use super::running_turn::tools_of;
use super::steering::place_waiting_steers;
use crate::composition::{Abandonment, NoResult, missing_outcome, tool_outputs};
use crate::contract::{Fault, Result, ToolResult};
use crate::persistence::{Call, OpenCalls, Session, SessionStore};
use crate::ports::Database;

/// Gives each open call a result that says why it has none, and adds the outputs of all calls to the
/// conversation, and behind them the steers that waited for that. Does nothing when no call is open.
pub(super) fn settle_open_calls<D: Database>(
    store: &SessionStore<D>,
    session: &mut Session,
    why: Abandonment,
) -> Result<()> {
    let begun = |open: OpenCalls, calls: &[Call]| begun_calls(store, open, calls);
    let result_of = |call: &Call, may_have_run: bool| {
        missing_result(&call.tool_call_id, NoResult::Abandoned { may_have_run, why })
    };
    store.settle_open_calls(session, begun, result_of, outputs_of)?;
    place_waiting_steers(store, session)
}

/// The places of the open calls that may have begun: the first on the server that has no result, and those that run at
/// once with it. Others wait for that.
fn begun_calls<D: Database>(
    store: &SessionStore<D>,
    open: OpenCalls,
    calls: &[Call],
) -> Result<Vec<u32>> {
    let may_have_begun = |call: &&Call| call.result.is_none() && call.may_have_begun();
    let mut begun: Vec<u32> =
        calls.iter().filter(may_have_begun).map(|call| call.position).collect();
    let Some(first) = begun.first().copied() else { return Ok(begun) };
    if begun.len() > 1 {
        let tools = tools_of(store, &store.turn_at(open.turn)?)?;
        let runs =
            calls.chunk_by(|call, next| call.runs_beside(next, |name| tools.is_parallel(name)));
        let mut runs = runs.map(|run| run.iter().map(|call| call.position).collect::<Vec<_>>());
        let run = runs.find(|run| run.contains(&first)).unwrap_or_default();
        begun.retain(|position| run.contains(position));
    }
    Ok(begun)
}

/// The outputs of calls that all have a result, in the model's order: a JSON array of items.
pub(super) fn outputs_of(calls: &[Call]) -> Result<String> {
    let outcomes: Option<Vec<_>> = calls
        .iter()
        .map(|call| Some((call.call_id.as_str(), &call.result.as_ref()?.outcome)))
        .collect();
    let missing = || Fault::internal("A call has no result.");
    tool_outputs(outcomes.ok_or_else(missing)?)
}

/// The result of a call that has none of its tool.
pub(super) fn missing_result(tool_call_id: &str, why: NoResult<'_>) -> ToolResult {
    ToolResult {
        tool_call_id: tool_call_id.to_owned(),
        execution_ms: 0,
        outcome: missing_outcome(why),
    }
}

/// Whether a result says that the server did not execute the call: another turn came before the repeat of its own one.
pub(super) fn was_not_executed(result: &ToolResult) -> bool {
    [Abandonment::Ended, Abandonment::Overtaken].into_iter().any(|why| {
        let settled = NoResult::Abandoned { may_have_run: false, why };
        *result == missing_result(&result.tool_call_id, settled)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persistence::RunsOn;

    #[test]
    fn a_call_without_a_result_has_no_output() {
        let open = Call {
            model_call: 0,
            position: 0,
            call_id: "call_a".to_owned(),
            tool_call_id: "call_a".to_owned(),
            name: "ddr_document".to_owned(),
            arguments: "{}".to_owned(),
            runs_on: RunsOn::Client,
            approval: None,
            result: None,
        };
        assert_eq!(outputs_of(&[open]).unwrap_err().message, "A call has no result.");
    }
}
