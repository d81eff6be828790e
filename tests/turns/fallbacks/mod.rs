//! Fall-backs of model services (interface §4): a turn goes on with another service, with everything that it has, and
//! without anything that only the first one understands.

mod crashes;
mod failures;
mod handed_over;
mod recorded;
mod rests;
mod returns;
mod rungs;
mod told;

use super::replays::assert_replays;
use super::watched;
use bed::*;
use serde_json::{Value, json};

/// A session whose agent context falls back to `spare`, and from there to `third`.
pub(super) fn with_fallbacks() -> Bed {
    with_fallbacks_to_crash(None)
}

/// The same; the first instance ends at `crash`.
fn with_fallbacks_to_crash(crash: Option<Crash>) -> Bed {
    let bed = Bed::with_crash(crash);
    bed.configure(add_fallbacks);
    bed
}

pub(super) fn add_fallbacks(catalog: &mut Value) {
    let agents = &mut catalog["AgentContexts"];
    let of = |host: &str| {
        json!({ "BaseUrl": format!("https://{host}.example/v1"), "Model": host,
            "ApiKeySecret": "OPENAI_API_KEY" })
    };
    (agents["spare"], agents["third"]) = (of("spare"), of("third"));
    for context in ["default", "replay", "frugal"] {
        agents[context]["Fallbacks"] = json!(["spare", "third"]);
    }
}

/// A service that is down: each request gets this until it is mended.
pub(super) fn down() -> Reply {
    http_error(503, json!({ "type": "server_error" }), &[])
}

fn trace(bed: &Bed, turn: &str) -> Value {
    bed.asked("GET", &format!("/sessions/s/turns/{turn}/trace"), "").result().clone()
}

/// The model calls of a turn's trace.
fn model_calls(bed: &Bed, turn: &str) -> Vec<Value> {
    trace(bed, turn)["ModelCalls"].as_array().unwrap().clone()
}

/// The services of a turn's model calls, and in brackets those of their retries.
fn services(bed: &Bed, turn: &str) -> Vec<String> {
    let name = |of: &Value| of["Service"].as_str().unwrap_or("none").to_owned();
    let of_call = |call: &Value| {
        let retries: Vec<String> = call["Retries"].as_array().unwrap().iter().map(name).collect();
        match retries.is_empty() {
            true => name(call),
            false => format!("{} [{}]", name(call), retries.join(" ")),
        }
    };
    model_calls(bed, turn).iter().map(of_call).collect()
}

/// The codes of a result's warnings.
fn warnings(heard: &Heard) -> Vec<&str> {
    let warnings = heard.body["Warnings"].as_array().unwrap();
    warnings.iter().map(|warning| warning["ErrorCode"].as_str().unwrap()).collect()
}

/// Asserts that a body holds the whole conversation, and nothing that only another service knows.
fn assert_whole(body: &Value) {
    assert_eq!(body["previous_response_id"], Value::Null, "{body}");
    let input = body["input"].as_array().unwrap();
    assert_eq!(input[0]["role"], "system", "{body}");
    for item in input {
        assert_eq!((&item["id"], &item["encrypted_content"]), (&Value::Null, &Value::Null));
        assert_ne!(item["type"], "reasoning");
    }
    let of = |kind: &str| -> Vec<&Value> {
        input.iter().filter(|item| item["type"] == kind).map(|item| &item["call_id"]).collect()
    };
    assert_eq!(of("function_call"), of("function_call_output"), "{body}");
}
