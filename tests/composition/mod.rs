//! The requests that the model service receives (interface §4): one golden body for each variant,
//! composed through the public functions from a client's request.

mod calls;
mod golden;
mod messages;
mod tools;

use std::sync::LazyLock;

use aptix_edge::catalog::{Catalog, Mode};
use aptix_edge::composition::{
    Block, CallParameters, ComposedMessages, ModelRequest, ToolList, TurnMaterial, compose_request,
    compose_turn,
};
use aptix_edge::contract::{ExecuteRequest, UserTurn, parse};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use golden::assert_golden;

/// A user turn with those members and the required ones.
fn user_turn(mut members: Value) -> UserTurn {
    members["SessionId"] = json!("s");
    members["TurnId"] = json!("t");
    match parse(members.to_string().as_bytes()) {
        Ok(ExecuteRequest::UserTurn(turn)) => *turn,
        other => panic!("{other:?}"),
    }
}

fn instruction(text: &str) -> UserTurn {
    user_turn(json!({ "Instruction": text }))
}

fn artifact(path: &str, name: &str, contents: &str) -> Value {
    json!({ "RelativePath": path, "FileName": name, "Contents": contents, "Origin": "ide" })
}

static CATALOG: LazyLock<Catalog> = LazyLock::new(catalog);

/// The material of a later turn of a session in general mode: only the request has content.
fn later() -> TurnMaterial<'static> {
    TurnMaterial {
        tools_by_server: Box::leak(Box::default()),
        catalog: &CATALOG,
        conversation: CATALOG.conversation_context("default").unwrap(),
        mode: mode("general"),
        is_first: false,
        latched_tools: None,
        solution_context: None,
    }
}

fn mode(key: &str) -> &'static Mode {
    CATALOG.mode(key).unwrap()
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn composed(turn: &UserTurn, material: &TurnMaterial<'_>) -> ComposedMessages {
    compose_turn(turn, material).unwrap().messages
}

/// A call that continues a chain, without tools or instructions.
fn continued() -> ModelRequest<'static> {
    ModelRequest {
        model: "gpt-5.1",
        instructions: "",
        tools: None,
        tool_choice: None,
        previous_response_id: Some("resp_1"),
        store: true,
        background: false,
        wants_reasoning: false,
        prompt_cache_key: None,
        safety_identifier: None,
        compact_threshold: None,
        parameters: CallParameters::default(),
        own_item: None,
    }
}

/// The body of a call that sends the messages of a turn, which is as its golden says, and its trace.
fn sent(name: &str, request: &ModelRequest<'_>, turn: &ComposedMessages) -> (String, Vec<Block>) {
    sent_with(name, request, turn.system.iter().chain([&raw(&turn.user)]))
}

fn sent_with<'a>(
    name: &str,
    request: &ModelRequest<'_>,
    input: impl IntoIterator<Item = &'a Box<RawValue>>,
) -> (String, Vec<Block>) {
    let composed = compose_request(request).unwrap();
    let items: Vec<&str> = input.into_iter().map(|item| item.get()).collect();
    let body = [composed.head(), &items.join(","), composed.tail()].concat();
    assert_golden(name, &body);
    (body, composed.trace(items.len(), items.concat().len()))
}

fn catalog() -> Catalog {
    Catalog::parse(
        &json!({
            "AgentContexts": { "default": {} },
            "ConversationContexts": {
                "default": { "AgentContextId": "default", "BootPrompt": "Be useful." }
            },
            "Modes": [
                { "Key": "general", "DisplayName": "General", "WhenToUse": "Else.",
                  "Instructions": "Answer first.", "Tools": ["lookup", "agent_list_modes"] },
                { "Key": "ddr", "DisplayName": "DDR", "WhenToUse": "Records.",
                  "Tools": ["agent_change_mode", "lookup"] }
            ],
            "ServerTools": [ {
                "Name": "lookup", "Description": "Looks up.",
                "Parameters": { "properties": { "q": { "type": "string" } }, "required": ["q"] },
                "Http": { "Url": "https://tools.example/lookup" }
            } ]
        })
        .to_string(),
    )
    .unwrap()
}

/// `ToolsJson` with tools of those names, each strict or not.
fn tools_json(tools: &[(&str, bool)]) -> Value {
    // Text, so that the properties' order is the client's.
    let parameters = r#"{"type":"object","properties":{"title":{},"body":{}}}"#;
    let tool = |(name, strict): &(&str, bool)| {
        format!(
            r#"{{"type":"function","name":"{name}","description":"Writes.","parameters":{parameters},"strict":{strict}}}"#
        )
    };
    json!(format!("[{}]", tools.iter().map(tool).collect::<Vec<_>>().join(",")))
}

/// The tools of a mode, for a turn whose client sends none.
fn tools_of(key: &str) -> ToolList {
    let material = TurnMaterial { mode: mode(key), ..later() };
    compose_turn(&instruction("Hello"), &material).unwrap().tools
}
