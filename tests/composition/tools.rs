//! The tools that a turn offers.

use aptix_edge::catalog::Catalog;
use aptix_edge::composition::{
    Block, ComposedTurn, ModelRequest, ToolList, TurnMaterial, compose_turn,
};
use aptix_edge::contract::{ErrorCode, Warning};
use serde_json::json;

use super::{composed, continued, instruction, later, mode, sent, tools_json, tools_of, user_turn};

fn names(tools: &ToolList) -> Vec<(&str, bool)> {
    tools.0.iter().map(|tool| (tool.name.as_str(), tool.on_server)).collect()
}

#[test]
fn a_server_tool_takes_the_place_of_a_client_tool_of_its_name_with_a_warning() {
    let tools = tools_json(&[("zip", true), ("lookup", false), ("build", false)]);
    let turn = user_turn(json!({ "Instruction": "Build.", "ToolsJson": tools }));
    let ComposedTurn { messages: turn, tools, warnings, .. } =
        compose_turn(&turn, &later()).unwrap();
    assert_eq!(
        names(&tools),
        [
            ("zip", false),
            ("build", false),
            ("lookup", true),
            ("agent_list_modes", true),
            ("agent_change_mode", true),
        ]
    );
    assert_eq!(
        warnings,
        [Warning::new(
            "tool_replaced",
            "The client's tool lookup was replaced by the server's tool of the same name."
        )]
    );
    sent("merged_tools", &ModelRequest { tools: Some(&tools), ..continued() }, &turn);
}

#[test]
fn a_mode_can_place_the_tool_that_changes_modes_and_it_is_offered_once() {
    assert_eq!(names(&tools_of("ddr")), [("agent_change_mode", true), ("lookup", true)]);
}

#[test]
fn a_turn_offers_the_tools_of_its_request_or_those_received_last_and_chooses_among_them() {
    let material = TurnMaterial { mode: mode("ddr"), is_first: true, ..later() };
    let zip = r#"[{"type":"function","name":"zip","description":"Packs.","parameters":{"type":"object"}}]"#;
    let with_tools =
        user_turn(json!({ "Instruction": "Pack.", "ToolsJson": zip, "ToolChoiceName": "zip" }));
    let first = compose_turn(&with_tools, &material).unwrap();
    let offered = [("zip", false), ("agent_change_mode", true), ("lookup", true)];
    assert_eq!(names(&first.tools), offered);
    assert_eq!(first.faults, []);
    assert!(first.messages.system.is_some());

    let latched_tools = first.received_tools.as_deref();
    let later = TurnMaterial { is_first: false, latched_tools, ..material };
    let second = compose_turn(&instruction("And again."), &later).unwrap();
    assert_eq!(names(&second.tools), offered);
    assert_eq!(second.received_tools, None);
    assert!(second.messages.system.is_none());

    let choosing = user_turn(json!({ "Instruction": "Pack.", "ToolChoiceName": "zip" }));
    let third = compose_turn(&choosing, &material).unwrap();
    let [fault] = &third.faults[..] else { panic!("{:?}", third.faults) };
    assert_eq!(
        (fault.code, fault.path.as_deref()),
        (ErrorCode::InvalidField, Some("/ToolChoiceName"))
    );
}

#[test]
fn tools_that_the_service_still_has_are_not_sent_again() {
    let turn = composed(&instruction("And now?"), &later());
    let (_, trace) =
        sent("tools_not_resent", &ModelRequest { instructions: "Write.", ..continued() }, &turn);
    assert_eq!(
        trace[2],
        Block::left_out("tools", "Turn.Tools", "none, or unchanged since they were last sent")
    );
}

#[test]
fn hosted_tools_stand_behind_the_functions_as_the_catalog_writes_them() {
    let catalog = Catalog::parse(
        r#"{
        "AgentContexts": { "default": {} },
        "ConversationContexts": { "default": {
            "AgentContextId": "default", "BootPrompt": "Be useful.",
            "HostedTools": [
                {"type":"web_search","search_context_size":"low"},
                {"type":"file_search","vector_store_ids":["vs_1"]},
                {"type":"mcp","server_label":"a","server_url":"https://a.example","require_approval":"never"}
            ] } },
        "Modes": [ { "Key": "general", "DisplayName": "General",
            "HostedTools": [
                {"type":"web_search","filters":{"allowed_domains":["b.example","a.example"]}},
                {"type":"mcp","server_label":"b","server_url":"https://b.example","require_approval":"never"},
                {"type":"code_interpreter","container":{"type":"auto"}},
                {"type":"image_generation","size":"1024x1024"}
            ] } ]
    }"#,
    )
    .unwrap();
    let material = TurnMaterial {
        catalog: &catalog,
        conversation: catalog.conversation_context("default").unwrap(),
        mode: catalog.mode("general").unwrap(),
        ..later()
    };
    let turn = user_turn(json!({
        "Instruction": "Hello", "ToolsJson": tools_json(&[("web_search", false)]),
    }));
    let composed = compose_turn(&turn, &material).unwrap();
    let request = ModelRequest { tools: Some(&composed.tools), ..continued() };
    sent("hosted_tools", &request, &composed.messages);
    // A function of that name is another tool, and what the service runs is nobody else's to choose.
    assert!(!composed.tools.get("web_search").unwrap().hosted);
    assert!(composed.tools.get("code_interpreter").is_none());
    let stored = serde_json::to_string(&composed.tools).unwrap();
    let again: ToolList = serde_json::from_str(&stored).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), stored);
}
