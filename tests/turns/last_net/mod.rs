//! A refusal that nobody understands (interface §4): the call is made again with less of the conversation, rung by rung,
//! and no session is ever spoiled.

mod bounds;
mod forks;
mod hidden_rules;
mod rungs;

use bed::*;
use serde_json::{Value, json};

use super::replays::assert_replays;

/// An item of a kind that nobody offered.
fn unasked(id: &str) -> Item {
    Item::Hosted(json!({ "type": "custom_tool_call", "call_id": id, "name": "n", "input": "i" }))
}

fn searched() -> Item {
    let action = json!({ "type": "search", "query": "q" });
    Item::Hosted(json!({ "type": "web_search_call", "status": "completed", "action": action }))
}

/// A turn in a context of the bed's catalog.
fn turn_in(context: &str, id: &str, words: &str) -> Value {
    with(turn(id, words), json!({ "ConversationContextId": context }))
}

fn model_calls(bed: &Bed, turn: &str) -> Vec<Value> {
    let trace = bed.asked("GET", &format!("/sessions/s/turns/{turn}/trace"), "");
    trace.result()["ModelCalls"].as_array().unwrap().clone()
}

/// What each model call of a turn was reduced to.
fn reduced(bed: &Bed, turn: &str) -> Vec<String> {
    let calls = model_calls(bed, turn);
    calls.iter().map(|call| call["Reduced"].as_str().unwrap_or("-").to_owned()).collect()
}

/// The rung and the code of each line of the log about a rung.
fn logged(bed: &Bed) -> Vec<(String, Value)> {
    let log = bed.world.log.borrow();
    let lines = log.iter().filter(|line| line["event"] == "conversation_reduced");
    lines.map(|line| (line["rung"].as_str().unwrap().to_owned(), line["code"].clone())).collect()
}

/// A refusal in words that say nothing.
fn refusal() -> Reply {
    http_error(400, json!({ "message": "Bad request.", "code": "odd_request" }), &[])
}

/// Has the service refuse each conversation of which this holds.
fn refuse(bed: &Bed, breaks: impl Fn(&[ConversationItem]) -> bool + 'static) {
    bed.world.model.rules.refuse_by(move |_, items| breaks(items).then(refusal));
}

fn of_kind(items: &[ConversationItem], kind: &str) -> bool {
    items.iter().any(|item| item["type"] == kind)
}
