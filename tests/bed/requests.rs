//! Requests as a client writes them, all for the one session of the bed.

use serde_json::{Value, json};

/// A user turn with an instruction.
pub fn turn(id: &str, instruction: &str) -> Value {
    json!({ "SessionId": "s", "TurnId": id, "Instruction": instruction })
}

/// A tool continuation: call ids and the results of the client's tools.
pub fn results(id: &str, given: &[(&str, Value)]) -> Value {
    let results: Vec<Value> = given
        .iter()
        .map(|(call, result)| {
            json!({ "ToolCallId": call, "ExecutionMs": 3, "ResultJson": result.to_string() })
        })
        .collect();
    json!({ "SessionId": "s", "TurnId": id, "ToolResults": results })
}

/// The same request with additional members.
pub fn with(mut request: Value, members: Value) -> Value {
    for (name, value) in members.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}
