//! Progress events, and the trace of a running turn (interface §2, Delivery; §1).

use serde_json::{Value, json};

use super::watched;
use bed::*;

const EXECUTE: &str = "/execute?Progress=true";
const STREAM: &str = "/sessions/s/turns/t1/stream?Progress=true";

fn streamed(instruction: &str) -> Value {
    with(turn("t1", instruction), json!({ "Streaming": true }))
}

/// The progress among the events of a stream.
fn progress(heard: &Heard) -> Vec<Value> {
    let frames = heard.frames.as_ref().unwrap().split_terminator("\n\n");
    let data = frames.filter_map(|frame| frame.strip_prefix("event: progress\ndata: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// A response with two summaries of reasoning, and a text.
fn reasoned() -> Reply {
    let event = |event: Value| format!("data: {event}\n\n");
    let summary = |part: u64, text: &str| {
        event(json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0,
            "summary_index": part, "delta": text }))
    };
    let message = json!({ "type": "message", "role": "assistant",
        "content": [{ "type": "output_text", "text": "Found." }] });
    raw(&[
        &summary(0, "**Plan"),
        &summary(0, "**"),
        &summary(1, "**Do**"),
        &event(json!({ "type": "response.completed",
            "response": { "id": "resp_x", "status": "completed", "output": [message] } })),
    ])
}

#[test]
fn who_asks_for_it_hears_what_a_running_turn_is_at_and_nobody_else_does() {
    let bed = Bed::new();
    let script = || {
        let items = vec![
            Item::Commentary(vec!["Let me ".to_owned(), "look.".to_owned()]),
            call("lookup", json!({})),
            call("agent_change_mode", json!({ "mode": "ddr", "branch": false, "reason": "r" })),
            call("fragile", json!({})),
        ];
        let busy = http_error(503, json!({}), &[("retry-after", "1")]);
        [busy, says(items).in_chunks_of(50).into(), reasoned()]
    };
    bed.world.model.script(script());
    bed.world.tools.script([ToolAnswer::Json(json!(1)), ToolAnswer::Status(500)]);
    let asked = bed.ask("POST", EXECUTE, &[], &streamed("Look").to_string());
    bed.run_until(|bed| bed.world.model.requests() > 0, "the model is called");
    let quiet = bed.attach("t1", None);
    let heard = bed.wait(&asked).unwrap();
    let tool = |id: &str, name: &str, state: &str| json!({ "Kind": "server_tool", "ToolCallId": id, "Name": name, "State": state });
    let ended = |id: &str, name: &str, successful: bool| {
        with(tool(id, name, "finished"), json!({ "Successful": successful, "ExecutionMs": 0 }))
    };
    let mut told = progress(&heard);
    // What the service asks for, and up to a quarter more.
    let wait = told[1]["AfterMs"].take().as_u64().unwrap();
    assert!((1000..=1250).contains(&wait), "{wait}");
    let ids: Vec<&str> = told.iter().filter_map(|told| told["ToolCallId"].as_str()).collect();
    let (lookup, fragile) = (ids[0], ids[2]);
    assert_eq!(
        told,
        [
            json!({ "Kind": "model_call", "Iteration": 1 }),
            json!({ "Kind": "retry", "AfterMs": null }),
            json!({ "Kind": "commentary", "Text": "Let me " }),
            json!({ "Kind": "commentary", "Text": "look." }),
            tool(lookup, "lookup", "started"),
            ended(lookup, "lookup", true),
            json!({ "Kind": "mode", "ModeDisplayName": "Records" }),
            tool(fragile, "fragile", "started"),
            ended(fragile, "fragile", false),
            json!({ "Kind": "model_call", "Iteration": 2 }),
            json!({ "Kind": "reasoning", "Text": "**Plan" }),
            json!({ "Kind": "reasoning", "Text": "**" }),
            json!({ "Kind": "reasoning", "Text": "\n\n**Do**" }),
        ]
    );
    // The order of the members is part of the promise.
    assert!(heard.frames.as_ref().unwrap().contains(&format!(
        r#"{{"Kind":"server_tool","ToolCallId":"{lookup}","Name":"lookup","State":"finished","Successful":true,"ExecutionMs":0}}"#
    )));
    let (text, result) = watched(heard.frames.as_ref().unwrap());
    assert_eq!((text.as_str(), &result), (heard.final_text(), &heard.body));

    let quiet = bed.wait(&quiet).unwrap();
    assert_eq!((progress(&quiet), &quiet.text), (vec![], &heard.text));
    assert_eq!(watched(quiet.frames.as_ref().unwrap()), (text, result));
    // It is live only.
    let late = bed.asked("GET", STREAM, "");
    assert_eq!((progress(&late), &late.text), (vec![], &heard.text));
}

#[test]
fn a_watcher_that_comes_later_hears_what_is_new() {
    let bed = Bed::new();
    bed.world.tools.script([ToolAnswer::Never]);
    bed.deploy("TURN_TIMEOUT_MS", "60000");
    bed.send(&streamed("Look [plan: fragile]"));
    bed.run_at_once();
    let trace = || bed.asked("GET", "/sessions/s/turns/t1/trace", "").result().clone();
    let running = trace();
    assert_eq!(running["Status"], "running");
    assert_eq!(running["ModelCalls"].as_array().unwrap().len(), 1);
    let id = running["ToolCalls"][0]["ToolCallId"].clone();
    assert_eq!(
        running["Running"],
        json!({ "Kind": "server_tool", "ToolCallId": id, "Name": "fragile", "State": "started",
            "Since": "2026-01-02T03:04:05.678Z" })
    );
    let heard = bed.wait(&bed.ask("GET", STREAM, &[], "")).unwrap();
    let kinds: Vec<Value> = progress(&heard).iter().map(|told| told["Kind"].clone()).collect();
    assert_eq!(kinds, ["server_tool", "model_call"]);
    assert_eq!(progress(&heard)[0]["ExecutionMs"], 30_000);
    assert_eq!(trace().get("Running"), None);
}

#[test]
fn progress_is_true_or_false_or_refused_before_anything_happens() {
    let bed = Bed::new();
    let body = streamed("Look").to_string();
    for value in ["", "1", "TRUE", "%FF"] {
        let heard = bed.asked("POST", &format!("/execute?Progress={value}"), &body);
        assert_eq!(heard.failure(), (400, "invalid_field"), "{value}");
    }
    assert_eq!((bed.disk.writes.get(), bed.world.model.requests()), (0, 0));
    let heard = bed.asked("POST", "/execute?Progress=false", &body);
    assert_eq!((progress(&heard), heard.final_text()), (vec![], "Answer to Look."));
    let heard = bed.asked("GET", "/sessions/s/turns/t1/stream?Progress=x", "");
    assert_eq!(heard.body["Errors"][0]["Path"], "/Progress");
    // JSON delivery has no events.
    let plain = bed.asked("POST", EXECUTE, &turn("t2", "Look").to_string());
    assert_eq!((plain.frames.is_none(), plain.final_text()), (true, "Answer to Look."));
}
