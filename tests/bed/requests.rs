//! Client requests, all to the one session of the bed.

use serde_json::{Value, json};

/// A user turn.
pub fn turn(id: &str, instruction: &str) -> Value {
    json!({ "SessionId": "s", "TurnId": id, "Instruction": instruction })
}

/// A tool continuation with pairs of call id and result.
pub fn results(id: &str, given: &[(&str, Value)]) -> Value {
    let results: Vec<Value> = given
        .iter()
        .map(|(call, result)| {
            json!({ "ToolCallId": call, "ExecutionMs": 3, "ResultJson": result.to_string() })
        })
        .collect();
    json!({ "SessionId": "s", "TurnId": id, "ToolResults": results })
}

/// A steer with an instruction.
pub fn steer(id: &str, instruction: &str) -> Value {
    json!({ "SteerId": id, "Instruction": instruction })
}

/// `InputArtifacts` of so many bytes in all, in files of 900,000.
pub fn artifacts(bytes: usize) -> Value {
    let artifact = |number: usize| {
        let name = format!("{number}.txt");
        let contents = "x".repeat(900_000);
        json!({ "RelativePath": name, "FileName": name, "Origin": "ide", "Contents": contents })
    };
    (0..bytes / 900_000).map(artifact).collect()
}

/// Adds or replaces members of a request.
pub fn with(mut request: Value, members: Value) -> Value {
    for (name, value) in members.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}
