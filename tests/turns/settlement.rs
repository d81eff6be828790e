//! Open calls and their settlement in persistence.

use aptix_edge::contract::{ErrorCode, Fault, ToolOutcome, ToolResult};
use aptix_edge::persistence::{Call, EntryKind, OpenCalls, SessionStore};

use super::*;

fn closed(call: &Call, _may_have_run: bool) -> ToolResult {
    ToolResult {
        tool_call_id: call.tool_call_id.clone(),
        execution_ms: 0,
        outcome: ToolOutcome::Error("closed".to_owned()),
    }
}

fn ids(calls: &[Call]) -> Result<String, Fault> {
    Ok(serde_json::to_string(&calls.iter().map(|call| &call.call_id).collect::<Vec<_>>()).unwrap())
}

#[test]
fn open_calls_are_closed_and_all_outputs_handed_back_at_once_or_not_at_all() {
    let bed = Bed::new();
    bed.post(&turn("t", "Hello [plan: mixed]")).calls();
    let store = SessionStore::new(bed.disk.database());
    let mut session = store.session().unwrap().unwrap();
    let open = session.open_calls.unwrap();
    let before = store.calls(open).unwrap();
    assert!(before.iter().any(|call| call.result.is_some()), "the server has run its own");

    let no_outputs = |_: &[Call]| Err(Fault::new(ErrorCode::Internal, "no"));
    let none_begun = |_: OpenCalls, _: &[Call]| Ok(Vec::new());
    store.settle_open_calls(&mut session, none_begun, closed, no_outputs).unwrap_err();
    assert_eq!(store.calls(open).unwrap(), before);
    assert_eq!(store.session().unwrap().unwrap(), session);

    store.settle_open_calls(&mut session, none_begun, closed, ids).unwrap();
    let mut settled = before;
    for call in settled.iter_mut().filter(|call| call.result.is_none()) {
        call.result = Some(closed(call, false));
    }
    assert_eq!(store.calls(open).unwrap(), settled);
    // The caller's copy does not count the writes.
    session.state.writes += 1;
    assert_eq!((session.open_calls, store.session().unwrap().as_ref()), (None, Some(&session)));
    let owed = store.entries_after(session.acknowledged).unwrap();
    assert_eq!(owed.iter().map(|entry| entry.kind).collect::<Vec<_>>(), [EntryKind::ToolOutputs]);
    assert_eq!(store.items(&[&owed[0]]).unwrap(), [ids(&settled).unwrap()]);

    let writes = bed.disk.writes.get();
    store.settle_open_calls(&mut session, none_begun, closed, ids).unwrap();
    assert_eq!(bed.disk.writes.get(), writes, "there is no open call");
}
