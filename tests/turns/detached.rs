//! Detached turns (interface §2): `Prefer: respond-async` gives 202 once a submission is durable.

use bed::*;
use serde_json::{Value, json};

const ASYNC: [(&str, &str); 1] = [("Prefer", "respond-async")];

fn detach(bed: &Bed, request: &Value) -> Heard {
    bed.wait(&bed.ask("POST", "/execute", &ASYNC, &request.to_string())).unwrap()
}

fn assert_accepted(heard: &Heard, turn: &str) {
    assert_eq!(heard.status, 202, "{}", heard.text);
    assert_eq!(heard.result(), &json!({ "SessionId": "s", "TurnId": turn, "Status": "running" }));
    let header = |name: &str| heard.headers.get(name).map(String::as_str);
    assert_eq!(header("Location"), Some(format!("/sessions/s/turns/{turn}").as_str()));
    assert_eq!(header("Preference-Applied"), Some("respond-async"));
    assert!(!heard.replayed && heard.frames.is_none());
}

#[test]
fn a_detached_turn_is_accepted_at_once_and_ends_without_its_client() {
    for streaming in [false, true] {
        let bed = Bed::new();
        let request = with(turn("t1", "One"), json!({ "Streaming": streaming }));
        assert_accepted(&detach(&bed, &request), "t1");
        bed.settle();
        assert_eq!(bed.status("t1"), "completed");
        // A repeat of a turn that has ended gives its outcome, as JSON.
        let again = detach(&bed, &request);
        assert!(again.replayed && again.frames.is_none());
        assert_eq!(again.final_text(), "Answer to One.");
        assert!(!again.headers.contains_key("Preference-Applied"));
        // The header is no part of what makes two submissions the same.
        assert_eq!(bed.post(&request).final_text(), "Answer to One.");
    }
}

#[test]
fn a_detached_repeat_of_a_running_turn_is_accepted_and_a_client_that_waits_gets_the_same_turn() {
    let bed = Bed::new();
    bed.world.model.script([Reply::Silence]);
    assert_accepted(&detach(&bed, &turn("t1", "One")), "t1");
    assert_accepted(&detach(&bed, &turn("t1", "One")), "t1");
    let waiting = bed.send(&turn("t1", "One"));
    bed.try_cancel("t1").unwrap();
    assert_eq!(bed.wait(&waiting).unwrap().failure(), (409, "turn_aborted"));
    assert_eq!(bed.disk.read("SELECT 1 FROM turns").len(), 1);
}

#[test]
fn a_detached_continuation_is_accepted_and_a_failed_turn_that_is_repeated_runs_again() {
    let bed = Bed::new();
    assert_accepted(&detach(&bed, &turn("t1", "One [plan: client]")), "t1");
    bed.settle();
    let paused = bed.turn("t1");
    let call = paused.result()["ToolCalls"][0]["ToolCallId"].as_str().unwrap();
    let answer = results("t1", &[(call, json!(1))]);
    bed.world.model.spoil_once_after(0, error_event("unknown", true));
    assert_accepted(&detach(&bed, &answer), "t1");
    bed.settle();
    assert_eq!(bed.status("t1"), "failed");
    assert_accepted(&detach(&bed, &answer), "t1");
    bed.settle();
    assert_eq!(bed.status("t1"), "completed");
}

#[test]
fn a_refusal_of_a_detached_submission_comes_as_always() {
    let bed = Bed::new();
    bed.post(&turn("t1", "One")).final_text();
    assert_eq!(detach(&bed, &turn("t1", "Other words")).failure(), (409, "turn_conflict"));
    assert_eq!(detach(&bed, &json!({ "SessionId": "s", "TurnId": "t2" })).status, 400);
}

#[test]
fn a_turn_whose_202_was_sent_survives_the_loss_of_its_instance() {
    let bed = Bed::new();
    bed.world.model.script([Reply::Silence]);
    assert_accepted(&detach(&bed, &turn("t1", "One")), "t1");
    bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
    bed.restart();
    bed.alarm();
    bed.settle();
    assert_eq!(bed.status("t1"), "completed");
}
