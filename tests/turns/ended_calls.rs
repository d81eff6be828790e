//! Model calls that the caller's side ends are counted by an estimate (interface §2, Usage): cancel and interrupt free
//! nobody from a budget.

use bed::*;
use serde_json::{Value, json};

const TEXT: &str = "A whole text which the client reads to its end before it cancels.";

/// A response of which all comes but its last event, the only one that names what it has cost.
fn unended(text: &str) -> Reply {
    let deltas = text.split_inclusive(' ').count();
    say(text).silent_after(2 + 2 + deltas + 3).into()
}

/// A watched turn, of whose model call everything has come but the end.
fn watched(bed: &Bed, id: &str, words: &str, reply: Reply) -> Pending {
    bed.world.model.script([reply]);
    let calls = bed.world.model.requests();
    let pending = bed.send(&with(turn(id, words), json!({ "Streaming": true })));
    bed.run_until(|bed| bed.world.model.requests() > calls, "the model is called");
    let until = bed.world.executor.now_ms() + 2_000;
    while bed.world.executor.now_ms() < until {
        assert!(bed.step());
    }
    pending
}

fn usage(bed: &Bed, id: &str) -> Value {
    bed.turn(id).result()["Usage"].clone()
}

fn count(usage: &Value, member: &str) -> u64 {
    usage[member].as_u64().unwrap()
}

fn model_calls(bed: &Bed, id: &str) -> Vec<Value> {
    let trace = bed.asked("GET", &format!("/sessions/s/turns/{id}/trace"), "");
    trace.result()["ModelCalls"].as_array().unwrap().clone()
}

#[test]
fn a_cancelled_call_counts_its_input_and_what_came_of_its_output() {
    for in_background in [false, true] {
        let bed = Bed::new();
        if in_background {
            bed.configure(|catalog| {
                catalog["AgentContexts"]["default"]["Background"] = json!("Always");
            });
        }
        bed.world.metered.replace(Some(Vec::new()));
        watched(&bed, "t1", &"Words ".repeat(200), unended(TEXT));
        let body = bed.world.model.latest_body().len() as u64;
        bed.try_cancel("t1").unwrap().result();
        let first = usage(&bed, "t1");
        assert_eq!(count(&first, "CompletionTokens"), TEXT.len() as u64 / 4, "{first}");
        let prompt = count(&first, "PromptTokens");
        assert!((body / 4 - 100..=body / 4).contains(&prompt), "{prompt} of {body} bytes");
        assert_eq!(count(&first, "TotalTokens"), prompt + TEXT.len() as u64 / 4);
        assert_eq!(first["Estimated"], true);
        assert_eq!(model_calls(&bed, "t1")[0]["Usage"], first);
        let log = bed.world.log.borrow().clone();
        let line = log.iter().rfind(|line| line["event"] == "submission").unwrap();
        assert_eq!(line["report"]["usage"], first);
        let points = serde_json::to_value(&*bed.world.metered.borrow()).unwrap();
        assert_eq!(points[0]["doubles"][4].as_f64(), first["TotalTokens"].as_f64());

        // What a call has reported is what the next estimate begins with.
        bed.post(&turn("t2", "Again")).final_text();
        assert_eq!(usage(&bed, "t2").get("Estimated"), None);
        watched(&bed, "t3", &"Words ".repeat(1_000), unended(TEXT));
        bed.try_cancel("t3").unwrap().result();
        let third = usage(&bed, "t3");
        let added = count(&third, "PromptTokens") - 100;
        assert!((1_500..1_700).contains(&added), "{third}");
        bed.assert_chain_held();
    }
}

#[test]
fn a_call_that_runs_out_of_the_turn_s_time_and_one_of_arguments_count_too() {
    let bed = Bed::new();
    bed.deploy("TURN_TIMEOUT_MS", "5000");
    let arguments = json!({ "of": "x".repeat(400) });
    let called = says(vec![call("lookup", arguments.clone())]).silent_after(4);
    bed.world.model.script([called.into()]);
    let failed = bed.post(&turn("t1", "Words"));
    assert_eq!(failed.failure(), (504, "upstream_timeout"));
    let usage = usage(&bed, "t1");
    assert_eq!(usage["Estimated"], true);
    let whole = arguments.to_string().len() as u64;
    let name = "lookup".len() as u64;
    assert_eq!(count(&usage, "CompletionTokens"), (whole + name) / 4, "{usage}");
}

#[test]
fn what_the_service_or_the_network_ends_and_what_never_went_out_counts_nothing() {
    let bed = Bed::new();
    let broken = say(TEXT).breaks_after(9);
    bed.world.model.script([broken.into()]);
    let streamed = bed.post(&with(turn("t1", "Words"), json!({ "Streaming": true })));
    assert_eq!(streamed.status, 502, "{}", streamed.text);
    assert_eq!(bed.turn("t1").result().get("Usage"), None);

    // Between two attempts nothing is under way.
    let busy = http_error(503, json!({}), &[("retry-after", "30")]);
    bed.world.model.script([busy]);
    let calls = bed.world.model.requests();
    let waits = bed.send(&turn("t2", "Words"));
    bed.run_until(|bed| bed.world.model.requests() > calls, "the model is called");
    bed.run_at_once();
    bed.try_cancel("t2").unwrap().result();
    assert_eq!(bed.wait(&waits).unwrap().failure().1, "turn_aborted");
    assert_eq!(bed.turn("t2").result().get("Usage"), None);
}

#[test]
fn interrupts_end_where_the_budget_does() {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Budget"] = json!({ "TurnTokens": 1_000 });
    });
    bed.world.model.think(|_| unended(TEXT));
    let pending = watched(&bed, "t1", "Words", unended(TEXT));
    let mut steers = 0;
    while pending.heard().is_none() {
        steers += 1;
        assert!(steers < 20, "interrupts are free");
        let body = with(steer(&format!("s{steers}"), "More."), json!({ "Interrupt": true }));
        let status = bed.steer("t1", &body).status;
        let until = bed.world.executor.now_ms() + 2_000;
        while status == 202 && pending.heard().is_none() && bed.world.executor.now_ms() < until {
            assert!(bed.step());
        }
    }
    let heard = pending.heard().unwrap();
    assert_eq!(heard.failure().1, "budget_exceeded", "{}", heard.text);
    let spent = usage(&bed, "t1");
    assert!(count(&spent, "TotalTokens") >= 1_000, "{spent}");
    let calls = model_calls(&bed, "t1");
    assert!(calls.len() > 2);
    for call in &calls {
        assert_eq!(
            (&call["Interrupted"], &call["Usage"]["Estimated"]),
            (&json!(true), &json!(true))
        );
    }
}

#[test]
fn a_call_that_has_ended_and_is_not_recorded_yet_counts_what_it_reported() {
    let bed = Bed::new();
    bed.post(&turn("t1", &"Words ".repeat(2_000))).final_text();
    bed.post(&turn("t2", "More")).final_text();
    // The third turn does not fit, and the summary that makes room is cancelled under way.
    let mut long = say("Half an ");
    long.ending = Ending::Failed("context_length_exceeded");
    long.failing_usage = true;
    long.usage = [5_000, 0, 7, 0];
    bed.world.model.script([long.into(), Reply::Silence]);
    let pending = bed.send(&turn("t3", "Third"));
    bed.run_until(|bed| bed.world.model.requests() == 4, "a summary is asked for");
    bed.try_cancel("t3").unwrap().result();
    assert_eq!(bed.wait(&pending).unwrap().failure().1, "turn_aborted");
    let calls = model_calls(&bed, "t3");
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert_eq!(
        (&calls[0]["Usage"]["TotalTokens"], calls[0]["Usage"].get("Estimated")),
        (&json!(5_007), None)
    );
    assert_eq!(
        (&calls[1]["Summary"], &calls[1]["Usage"]["Estimated"]),
        (&json!(true), &json!(true))
    );
    let sum: u64 = calls.iter().map(|call| count(&call["Usage"], "TotalTokens")).sum();
    assert_eq!(count(&usage(&bed, "t3"), "TotalTokens"), sum);
    assert!(sum > 5_007 + 500, "{sum}");
}

#[test]
fn a_background_response_that_is_cancelled_after_its_instance_was_lost_counts_too() {
    let bed = Bed::new();
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["Background"] = json!("Always"));
    watched(&bed, "t1", &"Words ".repeat(200), unended(TEXT));
    bed.restart();
    bed.spoil_catalog();
    bed.try_cancel("t1").unwrap().result();
    let spent = usage(&bed, "t1");
    assert_eq!(spent["Estimated"], true);
    assert!(count(&spent, "PromptTokens") >= 300, "{spent}");
}
