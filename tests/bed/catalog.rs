//! The catalog of the test bed: a context for each kind of continuation, modes with and without a
//! welcome message, and tools for each kind of failure.

use serde_json::{Value, json};

pub fn document() -> Value {
    let tool = |name: &str, on_error: &str| {
        json!({
            "Name": name, "Description": "A tool.", "Parameters": {}, "OnError": on_error,
            "Http": { "Url": format!("https://tools.example/{name}"), "TimeoutMs": 30_000 },
        })
    };
    let ask = json!({ "type": "function", "name": "ask", "parameters": { "type": "object", "properties": {} } });
    let conversation =
        |agent: &str| json!({ "AgentContextId": agent, "BootPrompt": "Boot.", "Tools": [ask] });
    json!({
        "AgentContexts": {
            "default": { "ApiKeySecret": "OPENAI_API_KEY", "Model": "m" },
            "replay": { "ApiKeySecret": "OPENAI_API_KEY", "Model": "m", "Continuation": "replay" },
            "frugal": { "ApiKeySecret": "OPENAI_API_KEY", "Model": "m", "ResendTools": false },
        },
        "ConversationContexts": {
            "default": conversation("default"),
            "replay": conversation("replay"),
            "frugal": conversation("frugal"),
        },
        "Modes": [
            { "Key": "general", "DisplayName": "General", "WhenToUse": "w", "WelcomeMessage": "", "Instructions": "",
              "Tools": ["lookup", "fragile", "agent_list_modes"], "IsDefault": true },
            { "Key": "ddr", "DisplayName": "Records", "WhenToUse": "w", "WelcomeMessage": "Welcome to records.",
              "Instructions": "Write records.", "Tools": ["file_record"] },
            { "Key": "plain", "DisplayName": "Plain", "WhenToUse": "w", "WelcomeMessage": "", "Instructions": "Be plain.",
              "Tools": [] },
        ],
        "ServerTools": [
            tool("lookup", "FailTurn"), tool("fragile", "ReportToModel"), tool("file_record", "FailTurn"),
        ],
    })
}
