//! The whole body of a model call, and its trace: first and later calls, a replay, a summary.

use aptix_edge::catalog::{Catalog, ConversationContext};
use aptix_edge::composition::{
    Block, CallParameters, ComposedTurn, ModelRequest, OutputFormat, ToolList, TurnMaterial,
    compose_request, compose_turn, tool_outputs,
};
use aptix_edge::contract::ToolOutcome;
use aptix_edge::encoding::hashed_id;
use aptix_edge::responses_api::for_replay;
use bed::{Bed, http_error};
use replay::{Bundle, rebuild};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::golden::assert_golden;
use super::{
    artifact, composed, continued, instruction, later, mode, raw, sent, sent_with, tools_json,
    tools_of, user_turn,
};

fn items(array: &str) -> Vec<Box<RawValue>> {
    serde_json::from_str(array).unwrap()
}

#[test]
fn a_first_call_holds_every_block_and_its_trace_names_each() {
    let turn = user_turn(json!({
        "Instruction": "Explain **this**.",
        "InputArtifacts": [artifact("src/a.rs", "a.rs", "fn a() {}\nfn b() {}\n")],
        "ClipboardImages": [
            { "Id": "shot-1", "MimeType": "image/png", "DataBase64": "iVBORw0KGgo=" }
        ],
        "ToolsJson": tools_json(&[("ddr_document", false)]),
    }));
    let context = Some("A workspace of two crates.");
    let material = TurnMaterial { is_first: true, solution_context: context, ..later() };
    let ComposedTurn { messages: turn, tools, .. } = compose_turn(&turn, &material).unwrap();
    let (body, trace) = sent(
        "first_call",
        &ModelRequest {
            instructions: &material.mode.instructions,
            tools: Some(&tools),
            tool_choice: Some("ddr_document"),
            previous_response_id: None,
            prompt_cache_key: Some(hashed_id("acme", None, "s1")),
            safety_identifier: None,
            ..continued()
        },
        &turn,
    );

    assert_eq!(turn.user_warnings, Vec::<String>::new());
    assert_eq!(
        turn.trace,
        [
            Block::sent("system", "ConversationContext.BootPrompt", 10),
            Block::sent("mode", "Session.Mode", 15),
            Block::sent("instruction", "Instruction", 17),
            Block::sent("chunk", "InputArtifacts: src/a.rs", 20),
            Block::sent("solution_context", "Session.SolutionContextText", 26),
            Block::sent("image", "ClipboardImages: shot-1", 34),
        ]
    );
    let body: Value = serde_json::from_str(&body).unwrap();
    let bytes = |item: &Value| item.to_string().len();
    let input = bytes(&body["input"][0]) + bytes(&body["input"][1]);
    let tools_sent = tools.0.iter().map(|tool| tool.definition.get().len() + 1).sum::<usize>();
    assert_eq!(
        trace,
        [
            Block::sent("instructions", "Mode.Instructions", 13),
            Block::sent("input", "conversation: 2 items", input),
            Block::sent("tools", "Turn.Tools", tools_sent + 1),
            Block::sent("tool_choice", "ToolChoiceName", 12),
            Block::left_out(
                "previous_response_id",
                "Session",
                "the input is the whole conversation"
            ),
            Block::left_out("parameters", "ModelParameters", "the catalog has none"),
        ]
    );
}

#[test]
fn parameters_follow_the_product_s_members_as_they_are_written_and_include_is_united() {
    let parameters = [
        r#"{ "reasoning": {"effort":"low"}, "max_output_tokens": 4000, "include": ["a", "b"] }"#,
        r#"{ "max_output_tokens": 500, "text": {"verbosity": "low"} }"#,
        r#"{ "text": {"format": {"type":"json_schema", "name":"n", "schema": {"z":{}, "a":{}}}},
             "include": ["message.output_text.logprobs", "reasoning.encrypted_content"] }"#,
    ];
    let [agent, conversation, mode] = parameters.map(|json| {
        let document = json!({
            "AgentContexts": { "a": {} },
            "ConversationContexts": { "c": { "AgentContextId": "a", "BootPrompt": "B." } },
            "Modes": [{ "Key": "m", "DisplayName": "M", "ModelParameters": "parameters" }]
        });
        // As text, because a value would sort the members.
        let document = document.to_string().replace(r#""parameters""#, json);
        Catalog::parse(&document).unwrap().default_mode.model_parameters
    });
    assert!(!CallParameters::merged([&agent, &conversation]).text_is_json);
    let parameters = CallParameters::merged([&agent, &conversation, &mode]);
    assert!(parameters.text_is_json);
    let turn = composed(&instruction("Fill it in."), &later());
    let (_, trace) = sent(
        "parameters",
        &ModelRequest {
            previous_response_id: None,
            store: false,
            wants_reasoning: true,
            prompt_cache_key: Some(hashed_id("acme", None, "s1")),
            safety_identifier: None,
            compact_threshold: Some(200_000),
            parameters,
            ..continued()
        },
        &turn,
    );
    let block = trace.last().map(|block| (block.block, block.bytes));
    assert_eq!(block, Some(("parameters", 148)));
}

#[test]
fn blocks_without_content_are_left_out_and_the_trace_says_why() {
    let conversation =
        &ConversationContext { boot_prompt: String::new(), ..later().conversation.clone() };
    let material =
        TurnMaterial { conversation, is_first: true, solution_context: Some(""), ..later() };
    let turn = composed(&instruction("Hello"), &material);
    let (_, trace) = sent(
        "without_blocks",
        &ModelRequest {
            tools: Some(&ToolList::default()),
            previous_response_id: None,
            ..continued()
        },
        &turn,
    );
    let left_out: Vec<_> = turn
        .trace
        .iter()
        .chain(&trace)
        .filter_map(|block| Some((block.block, block.left_out?)))
        .collect();
    assert_eq!(
        left_out,
        [
            ("system", "empty"),
            ("solution_context", "none, or unchanged since it was last sent"),
            ("instructions", "the mode has none"),
            ("tools", "none, or unchanged since they were last sent"),
            ("tool_choice", "not given, or sent with the turn's first call"),
            ("previous_response_id", "the input is the whole conversation"),
            ("parameters", "the catalog has none"),
        ]
    );
}

#[test]
fn a_later_call_has_no_system_message_and_continues_the_chain() {
    let turn = composed(&instruction("And now?"), &TurnMaterial { mode: mode("ddr"), ..later() });
    assert!(turn.system.is_none());
    let tools = tools_of("ddr");
    sent("later_call", &ModelRequest { tools: Some(&tools), ..continued() }, &turn);
}

/// The result of a tool that shows a picture.
const PICTURE: &str = r#"[ {"type":"input_text","text":"A dot:"},
    {"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"} ]"#;

#[test]
fn tool_outputs_go_back_in_the_model_s_order_and_a_tool_choice_does_not() {
    let outputs = tool_outputs([
        ("call_b", &ToolOutcome::Result(r#"{ "Id" : "DDR-1" }"#.to_owned())),
        ("call_a", &ToolOutcome::Error("The user said \"no\".".to_owned())),
        ("call_c", &ToolOutcome::Result("null".to_owned())),
        ("call_d", &ToolOutcome::Result(PICTURE.to_owned())),
    ])
    .unwrap();
    let outputs = items(&outputs);
    let tools = tools_of("ddr");
    sent_with(
        "tool_outputs",
        &ModelRequest { tools: Some(&tools), previous_response_id: Some("resp_2"), ..continued() },
        &outputs,
    );
}

#[test]
fn a_summary_is_asked_for_without_tools_and_stands_for_the_turns_that_it_tells_of() {
    let bed = Bed::new();
    bed.configure(|catalog| {
        let agent = &mut catalog["AgentContexts"]["default"];
        agent["Compaction"] = json!({ "Prompt": "Summarise it." });
        agent["ModelParameters"] =
            json!({ "text": { "format": { "type": "json_object" } }, "top_p": 0.5 });
    });
    bed.post(&bed::turn("t1", &format!("One [plan: server] {}", "word ".repeat(250)))).final_text();
    bed.post(&bed::turn("t2", "Two")).final_text();
    let too_long = json!({ "code": "context_length_exceeded" });
    bed.world.model.spoil_once_after(0, http_error(400, too_long, &[]));
    bed.post(&bed::turn("t3", "Three")).final_text();
    let bundle = Bundle::read(&bed.asked("GET", "/sessions/s/export", "").text).unwrap();
    let asked = &bundle.turns[2];
    let summary = asked.model_calls.iter().find(|call| call.summarised.is_some()).unwrap();
    assert_golden("summary", &rebuild(&bundle, asked, summary).unwrap());
    assert_golden("after_a_summary", &bed.world.model.latest_body());
}

#[test]
fn a_replay_sends_the_whole_conversation_and_asks_for_reasoning_it_can_send_back() {
    let first =
        composed(&instruction("Write it down."), &TurnMaterial { is_first: true, ..later() });
    let output = items(
        r#"[{"id":"rs_1","type":"reasoning","status":"completed","summary":[],"encrypted_content":"e"},
        {"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}},
        {"id":"ci_1","type":"code_interpreter_call","status":"completed","container_id":"c","code":"1","outputs":null},
        {"id":"ig_1","type":"image_generation_call","status":"completed","output_format":"png","result":"iVBORw0KGgo="},
        {"id":"msg_1","type":"message","status":"completed","role":"assistant",
         "content":[{"type":"output_text","text":"I will.","annotations":[],"logprobs":[]}]},
        {"id":"fc_1","type":"function_call","status":"completed","call_id":"call_a","name":"ddr_document","arguments":"{}"}]"#,
    );
    let stored: Vec<&RawValue> = output.iter().map(|item| &**item).collect();
    let mut output = Vec::new();
    for_replay(&stored, true, &mut |item| output.push(item.to_owned()));
    let outputs = tool_outputs([("call_a", &ToolOutcome::Result("true".to_owned()))]).unwrap();
    let outputs = items(&outputs);
    let user = raw(&first.user);
    let input = first.system.iter().chain([&user]).chain(&output).chain(&outputs);
    sent_with(
        "replay",
        &ModelRequest {
            previous_response_id: None,
            store: false,
            wants_reasoning: true,
            ..continued()
        },
        input,
    );
}

#[test]
fn the_form_that_a_turn_asks_for_takes_the_place_of_the_catalog_s_and_leaves_the_rest_of_text() {
    let document = r#"{
        "AgentContexts": { "a": {} },
        "ConversationContexts": { "c": { "AgentContextId": "a", "BootPrompt": "B." } },
        "Modes": [{ "Key": "m", "DisplayName": "M", "ModelParameters":
            { "text": { "format": { "type": "text" }, "verbosity" : "low" }, "top_p": 0.5 } }]
    }"#;
    let catalog = Catalog::parse(document).unwrap();
    let schema = r#"{"type":"object","properties":{"z":{},"a":{}}}"#.to_owned();
    let format = OutputFormat::of_schema("order", schema).unwrap();
    let parameters = CallParameters::merged([&catalog.default_mode.model_parameters]);
    assert!(!parameters.text_is_json);
    let parameters = parameters.with_format(Some(&format));
    assert!(parameters.text_is_json);
    let turn = composed(&instruction("Fill it in."), &later());
    let (body, trace) = sent("output_schema", &ModelRequest { parameters, ..continued() }, &turn);
    let bytes = body.split("\"format\":").nth(1).unwrap().find(",\"strict\":true}").unwrap() + 15;
    assert_eq!(trace.last(), Some(&Block::sent("output_schema", "OutputSchema", bytes)));
    // Without parameters the form stands alone.
    let alone = CallParameters::default().with_format(Some(&format));
    let body = compose_request(&ModelRequest { parameters: alone, ..continued() }).unwrap();
    assert!(body.tail().contains(r#""text":{"format":{"type":"json_schema","name":"order","#));
}
