//! Tool results: the calls that a turn waits for, and the check of the results that a client sends.

use serde_json::{Value, json};

use super::approval::{ResultIntake, tool_call};
use crate::contract::{
    ErrorCode, Fault, Result, ToolCall, ToolContinuation, ToolOutcome, ToolResult, TurnStatus,
    as_report,
};
use crate::persistence::{Call, Session, SessionStore, Turn};
use crate::ports::Database;
use crate::server_tools::{FileSources, ForeignFile};

/// The calls that a paused turn waits for, as clients see them; none for a turn that is not paused.
pub(crate) fn pending_calls<D: Database>(
    store: &SessionStore<D>,
    session: &Session,
    turn: &Turn,
) -> Result<Vec<ToolCall>> {
    match session.open_calls_of(turn.ordinal) {
        Some(open) if turn.status == TurnStatus::AwaitingTools => {
            Ok(store.calls(open)?.iter().filter(|call| call.is_pending()).map(tool_call).collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// Takes each result in its call and returns those calls. The results must match the pending calls in
/// count, ids and order (AGN-033 §3.3), each decision must be one, and no result may name a file beside `sources`.
pub(super) fn match_results(
    calls: &mut [Call],
    results: &[ToolResult],
    intake: &ResultIntake,
    sources: Option<FileSources<'_>>,
) -> Result<Vec<Call>, Vec<Fault>> {
    let mut pending: Vec<&mut Call> = calls.iter_mut().filter(|call| call.is_pending()).collect();
    let expected: Vec<String> = pending.iter().filter_map(|call| call.client_id()).collect();
    let given: Vec<&str> = results.iter().map(|result| result.tool_call_id.as_str()).collect();
    if !expected.iter().map(String::as_str).eq(given.iter().copied()) {
        let difference = |position: usize| {
            let expected = expected.get(position).map(String::as_str);
            let given = given.get(position).copied();
            let difference = json!({ "Position": position, "Expected": expected, "Given": given });
            (expected != given).then_some(difference)
        };
        let most = expected.len().max(given.len());
        let differences: Vec<Value> = (0..most).filter_map(difference).collect();
        let message = "The tool results must match the pending calls in count, ids and order. Nothing was accepted.";
        return Err(Fault::new(ErrorCode::ToolResultsMismatch, message)
            .at("/ToolResults")
            .with("Differences", differences)
            .with("Expected", expected)
            .into());
    }
    let mut faults = Vec::new();
    for (place, (call, result)) in pending.iter_mut().zip(results).enumerate() {
        let taken = check_files(result, sources).and_then(|()| intake.accept(call, result));
        if let Err(problem) = taken {
            let message = format!("ToolResults[{place}].ResultJson {problem}.");
            let fault = Fault::new(ErrorCode::InvalidField, message);
            faults.push(fault.at(format!("/ToolResults/{place}/ResultJson")));
        }
    }
    match faults.is_empty() {
        true => Ok(pending.into_iter().map(|call| call.clone()).collect()),
        false => Err(as_report(faults)),
    }
}

/// What is wrong with a result that names a file beside these sources.
fn check_files(given: &ToolResult, sources: Option<FileSources<'_>>) -> Result<(), String> {
    let (Some(sources), ToolOutcome::Result(json)) = (sources, &given.outcome) else {
        return Ok(());
    };
    let what = match sources.foreign_file(json) {
        None => return Ok(()),
        Some(ForeignFile::Host) => {
            "names a picture or a file at a host that FileHosts of the agent context does not list"
        }
        Some(ForeignFile::Id) => "names a file by its file_id, which takes an API key",
    };
    Err(format!("{what}; send it as a data: URL"))
}

/// The fault of results for a turn that awaits none: `turn_conflict` where the turn awaited them before.
pub(crate) fn not_awaiting<D: Database>(
    store: &SessionStore<D>,
    turn: &Turn,
    request: &ToolContinuation,
) -> Result<Fault> {
    let client_id = |call: Call| Some((call.model_call, call.client_id()?));
    let asked = store.named_calls(turn.ordinal)?.into_iter().filter_map(client_id);
    let asked: Vec<(u32, String)> = asked.collect();
    let pauses = asked.chunk_by(|(call, _), (next, _)| call == next);
    // Each continuation has ended one.
    let mut ended = pauses.take(turn.progress.submission as usize);
    let given = || request.tool_results.iter().map(|result| result.tool_call_id.as_str());
    if ended.any(|asked| asked.iter().map(|(_, id)| id.as_str()).eq(given())) {
        // A new TurnId, as of a user turn, would name a turn that awaits nothing.
        let message = "These calls have had other results already. Repeat those unchanged; the turn takes no others.";
        let fault = Fault::new(ErrorCode::TurnConflict, message);
        return Ok(fault.with("TurnId", turn.turn_id.as_str()));
    }
    let message = format!("The turn is {} and waits for no tool results.", turn.status.as_str());
    let fault = Fault::new(ErrorCode::TurnNotAwaitingTools, message);
    Ok(fault.with("TurnId", turn.turn_id.as_str()))
}

/// The fault of a user turn that uses a `TurnId` again with other content.
pub(crate) fn conflict(turn_id: &str) -> Fault {
    let message = "This TurnId was used with other content. Use a new TurnId, or repeat the request unchanged.";
    Fault::new(ErrorCode::TurnConflict, message).with("TurnId", turn_id)
}
