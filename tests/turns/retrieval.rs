//! A turn exists from the moment it is accepted: while its workspace is still searched, every request
//! sees it, and it can be cancelled, erased and resumed.

use bed::*;
use serde_json::{Value, json};

const CHUNK: &str = "Path: docs/a.md";

/// A session whose workspaces are searched by a service that gives one chunk.
fn searched() -> Bed {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Retrieval"] =
            json!({ "Http": { "Url": "https://search.example/q" } });
    });
    bed.world.tools.think(|_| found());
    bed
}

fn found() -> ToolAnswer {
    ToolAnswer::Json(json!({ "Chunks": [
        { "Path": "docs/a.md", "StartLine": 1, "EndLine": 2, "Text": "alpha" },
    ] }))
}

fn asking(id: &str, words: &str) -> Value {
    with(turn(id, words), json!({ "WorkspaceId": "w" }))
}

/// Sends a turn whose retrieval does not end.
fn send_retrieving(bed: &Bed, request: &Value) -> Pending {
    let calls = bed.world.tools.calls().len() + 1;
    bed.world.tools.script([ToolAnswer::Never]);
    let pending = bed.send(request);
    bed.run_until(|bed| bed.world.tools.calls().len() == calls, "the service is asked");
    bed.run_at_once();
    pending
}

fn heard_of(bed: &Bed, words: &str) -> usize {
    bed.world.model.conversation().heard(words)
}

#[test]
fn a_turn_that_retrieves_is_seen_by_every_request_and_can_be_cancelled() {
    let bed = searched();
    let request = asking("t1", "Alpha");
    let posted = send_retrieving(&bed, &request);
    assert_eq!(bed.status("t1"), "running");
    assert_eq!(bed.session().result()["LiveTurn"]["TurnId"], "t1");
    let trace = bed.asked("GET", "/sessions/s/turns/t1/trace", "");
    assert!(!trace.result()["Composition"].to_string().contains("Retrieval"), "{}", trace.text);
    assert_eq!(bed.post(&turn("t2", "Other")).failure(), (409, "turn_in_progress"));
    let streamed = bed.send(&with(request.clone(), json!({ "Streaming": true })));
    let (watching, attached) = (bed.attach("t1", None), bed.send(&request));
    bed.run_at_once();

    assert_eq!(bed.try_cancel("t1").unwrap().result()["Status"], "aborted");
    for pending in [posted, streamed, watching, attached] {
        assert_eq!(bed.wait(&pending).unwrap().failure(), (409, "turn_aborted"));
    }
    bed.settle();
    assert_eq!((bed.world.tools.calls().len(), bed.world.model.requests()), (1, 0));

    // What the user had said is known to the model from the next turn on.
    bed.post(&turn("t2", "Other")).final_text();
    assert_eq!((heard_of(&bed, "[INSTRUCTION]\nAlpha"), heard_of(&bed, CHUNK)), (1, 0));
    bed.assert_chain_held();
}

#[test]
fn a_turn_that_retrieves_is_erased_and_does_not_come_back() {
    let bed = searched();
    let posted = send_retrieving(&bed, &asking("t1", "Alpha"));
    assert_eq!(bed.try_erase().unwrap().result()["Turns"], 1);
    assert_eq!(bed.wait(&posted).unwrap().failure(), (409, "turn_aborted"));
    bed.settle();
    bed.try_alarm().unwrap();
    assert_eq!(bed.session().failure(), (404, "session_not_found"));
    assert_eq!(bed.disk.read("SELECT name FROM sqlite_master").len(), 0);
    assert_eq!(bed.world.model.requests(), 0);
}

#[test]
fn a_retrieval_is_within_the_time_of_its_turn_and_a_repeat_retrieves_for_it() {
    let bed = searched();
    bed.deploy("TURN_TIMEOUT_MS", "1000");
    let request = asking("t1", "Alpha");
    let posted = send_retrieving(&bed, &request);
    assert_eq!(bed.wait(&posted).unwrap().failure(), (504, "upstream_timeout"));

    // Another turn tells the model what was said, without what was to be retrieved.
    bed.post(&turn("t2", "Other")).final_text();
    assert_eq!((heard_of(&bed, "[INSTRUCTION]\nAlpha"), heard_of(&bed, CHUNK)), (1, 0));
    bed.world.model.spoil_once_after(0, error_event("unknown", true));
    assert_eq!(bed.post(&request).failure(), (502, "upstream_failed"));
    bed.post(&turn("t3", "Third")).final_text();
    bed.post(&request).final_text();
    // Each later saying has the chunk, and the service was asked for it once more.
    assert_eq!((heard_of(&bed, "[INSTRUCTION]\nAlpha"), heard_of(&bed, CHUNK)), (3, 2));
    assert_eq!(bed.world.tools.calls().len(), 2);
    bed.assert_chain_held();
}

#[test]
fn a_crash_while_a_turn_retrieves_repeats_the_retrieval_alone() {
    let bed = searched();
    let request = asking("t1", "Alpha");
    send_retrieving(&bed, &request);
    bed.restart();
    assert!(bed.alarm());
    bed.settle();
    assert_eq!(bed.status("t1"), "completed");
    assert_eq!((heard_of(&bed, "[INSTRUCTION]\nAlpha"), heard_of(&bed, CHUNK)), (1, 1));
    assert_eq!((bed.world.tools.calls().len(), bed.world.model.requests()), (2, 1));
    let trace = bed.asked("GET", "/sessions/s/turns/t1/trace", "").result()["Composition"].clone();
    let blocks = trace.as_array().unwrap();
    let retrievals: Vec<&Value> =
        blocks.iter().filter(|block| block["Block"] == "retrieval").collect();
    assert_eq!(
        retrievals,
        [&json!({ "Block": "retrieval", "Source": "AgentContext.Retrieval.Http", "Bytes": 5,
            "DurationMs": 0 })]
    );
    assert!(bed.post(&request).replayed);
}

#[test]
fn a_long_message_is_kept_once_with_its_chunks() {
    let bed = searched();
    let image = "A".repeat(1_400_000);
    let images = json!([{ "Id": "i", "MimeType": "image/png", "DataBase64": image }]);
    bed.post(&with(asking("t1", "Alpha"), json!({ "ClipboardImages": images }))).final_text();
    let kept =
        "SELECT SUM(LENGTH(text)) > 1400000 AND SUM(LENGTH(text)) < 1500000 AS once FROM texts";
    assert_eq!(bed.disk.read(kept)[0]["once"], 1);
    let body = bed.world.model.bodies().pop().unwrap();
    assert!(body.to_string().contains("docs/a.md") && body.to_string().len() > 1_400_000);
    // The message is read again, whole.
    bed.world.model.forget();
    bed.post(&turn("t2", "Other")).final_text();
    assert_eq!((heard_of(&bed, "[INSTRUCTION]\nAlpha"), heard_of(&bed, CHUNK)), (1, 1));
}
