//! The requests that the model service receives (interface §4): one golden body for each variant,
//! composed through the public functions from a client's request.

// A test fails by panicking, in its helper functions too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod golden;

use std::sync::LazyLock;

use aptix_edge::catalog::{Catalog, ConversationContext, Mode, RetrievalSource};
use aptix_edge::composition::{
    Block, CallParameters, ComposedMessages, ComposedTurn, ModelRequest, RetrievedMaterial,
    ToolList, TurnMaterial, add_retrieved, compose_request, compose_turn, prompt_cache_key,
    tool_outputs,
};
use aptix_edge::contract::{ErrorCode, ExecuteRequest, ToolOutcome, UserTurn, Warning, parse};
use aptix_edge::responses_api::for_replay;
use aptix_edge::retrieval::{Chunk, Retrieved};
use bed::{Bed, http_error};
use golden::assert_golden;
use replay::{Bundle, rebuild};
use serde_json::value::RawValue;
use serde_json::{Value, json};

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

fn base64_artifact(name: &str, mime: Option<&str>, contents: &str) -> Value {
    let mut artifact = artifact("assets", name, contents);
    artifact["Encoding"] = json!("base64");
    if let Some(mime) = mime {
        artifact["MimeType"] = json!(mime);
    }
    artifact
}

static CATALOG: LazyLock<Catalog> = LazyLock::new(catalog);

/// The material of a later turn of a session in general mode: only the request has content.
fn later() -> TurnMaterial<'static> {
    TurnMaterial {
        tool_lists: Box::leak(Box::default()),
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

/// The messages of a turn with what was retrieved in 7 ms, and their trace.
fn with_retrieved(
    mut turn: ComposedMessages,
    retrieved: &Retrieved,
) -> (ComposedMessages, Vec<Value>) {
    let trace = serde_json::value::to_raw_value(&turn.trace).unwrap();
    let added = add_retrieved(&RetrievedMaterial {
        user: &raw(&turn.user),
        trace: &trace,
        chunks_end: turn.chunks_end,
        source: &RetrievalSource::Index,
        retrieved,
        duration_ms: 7,
    })
    .unwrap();
    turn.user = added.user.unwrap().get().to_owned();
    (turn, serde_json::from_str(added.trace.get()).unwrap())
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
        wants_reasoning: false,
        prompt_cache_key: None,
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

fn names(tools: &ToolList) -> Vec<(&str, bool)> {
    tools.0.iter().map(|tool| (tool.name.as_str(), tool.on_server)).collect()
}

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
            prompt_cache_key: Some(&prompt_cache_key("acme", "s1")),
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
        Catalog::parse(&document).unwrap().default_mode().model_parameters.clone()
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
            prompt_cache_key: Some(&prompt_cache_key("acme", "s1")),
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
fn a_turn_without_an_instruction_opens_with_its_mode_alone() {
    let turn = user_turn(json!({ "InputArtifacts": [artifact("", "a.rs", "")] }));
    let turn = composed(&turn, &TurnMaterial { is_first: true, ..later() });
    sent(
        "without_an_instruction",
        &ModelRequest { previous_response_id: None, ..continued() },
        &turn,
    );
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

#[test]
fn a_solution_context_that_has_changed_is_sent_again() {
    let material = TurnMaterial { solution_context: Some("Three crates now."), ..later() };
    let turn = composed(&instruction("And now?"), &material);
    sent("solution_context_changed", &continued(), &turn);
}

#[test]
fn each_kind_of_artifact_goes_out_in_the_form_that_the_model_can_read() {
    let mut given = artifact("web", "page.txt", "<p>é</p>");
    given["Language"] = json!("html");
    let turn = user_turn(json!({ "InputArtifacts": [
        given,
        artifact("src", "b.py", "x = 1"),
        artifact("", "LICENSE", "MIT"),
        base64_artifact("a.png", Some("image/png"), "iVBORw0KGgo="),
        base64_artifact("photo.JPG", None, "/9j/4AA="),
        base64_artifact("paper.pdf", Some("application/pdf"), "JVBERi0="),
        base64_artifact("notes.md", None, "IyBIaQo="),
        base64_artifact("tool.exe", Some("application/octet-stream"), "TVqQAAM="),
        base64_artifact("vector.svg", Some("image/svg+xml"), "PHN2Zy8+"),
        base64_artifact("scan.tiff", Some("image/tiff"), "SUkqAP8="),
    ] }));
    let turn = composed(&turn, &later());
    sent("artifact_kinds", &continued(), &turn);

    let why = "it is neither text nor an image (PNG, JPEG, WebP, GIF) nor a PDF.";
    assert_eq!(
        turn.user_warnings,
        [
            format!("assets/tool.exe was left out: {why}"),
            format!("assets/scan.tiff was left out: {why}"),
        ]
    );
    let left_out = "binary content the model cannot read";
    for path in ["assets/tool.exe", "assets/scan.tiff"] {
        let block = Block::left_out("chunk", format!("InputArtifacts: {path}"), left_out);
        assert!(turn.trace.contains(&block), "{:?}", turn.trace);
    }
}

#[test]
fn chunks_are_numbered_throughout_and_no_text_can_close_its_fence() {
    let turn = user_turn(json!({
        "Instruction": "Compare.",
        "InputArtifacts": [
            artifact("docs/", "how.md", "```rust\nlet a;\n````\n"),
            artifact("docs/how.md", "how.md", "plain"),
        ],
    }));
    let chunks = vec![
        Chunk {
            path: "src/lib.rs".to_owned(),
            start_line: 40,
            end_line: 41,
            language: "rust".to_owned(),
            text: "/// ```\n/// x".to_owned(),
            ..Chunk::default()
        },
        Chunk {
            path: "src/main.cs".to_owned(),
            start_line: 7,
            end_line: 7,
            language: "csharp".to_owned(),
            text: "}".to_owned(),
            ..Chunk::default()
        },
    ];
    let retrieved = Retrieved { chunks, ..Retrieved::default() };
    let (turn, trace) = with_retrieved(composed(&turn, &later()), &retrieved);
    sent("chunks_and_fences", &continued(), &turn);
    let retrieval = Block {
        duration_ms: Some(7),
        ..Block::sent("retrieval", "AgentContext.Retrieval.Index", 14)
    };
    assert_eq!(
        trace[3..8],
        [
            Block::sent("chunk", "InputArtifacts: docs/how.md", 20),
            Block::sent("chunk", "InputArtifacts: docs/how.md", 5),
            retrieval,
            Block::sent("chunk", "retrieval: src/lib.rs", 13),
            Block::sent("chunk", "retrieval: src/main.cs", 1),
        ]
        .map(|block| serde_json::to_value(block).unwrap())
    );
    assert_eq!(trace[8]["Block"], "solution_context");
}

#[test]
fn a_retrieved_chunk_is_shown_as_if_the_request_had_brought_it() {
    let asked = |artifacts: Value| {
        user_turn(json!({
            "Instruction": "Compare \"ä\u{2028}\" and \\ too.",
            "InputArtifacts": artifacts,
            "ClipboardImages": [{ "Id": "i", "MimeType": "image/png", "DataBase64": "AAAA" }],
        }))
    };
    let first = artifact("docs", "a.md", "# A \"quoted\"\n\tone\n");
    let second = artifact("docs", "b.md", "B\n");
    let chunk = |path: &str, lines, text: &str| Chunk {
        path: path.to_owned(),
        start_line: 1,
        end_line: lines,
        language: "markdown".to_owned(),
        text: text.to_owned(),
        ..Chunk::default()
    };
    let both = [chunk("docs/a.md", 2, "# A \"quoted\"\n\tone\n"), chunk("docs/b.md", 1, "B\n")];
    let material = TurnMaterial { solution_context: Some("S"), ..later() };
    let whole = composed(&asked(json!([first, second])), &material);
    for (brought, found) in [(json!([first]), &both[1..]), (json!([]), &both[..])] {
        let retrieved = Retrieved { chunks: found.to_vec(), ..Retrieved::default() };
        let (turn, _) = with_retrieved(composed(&asked(brought), &material), &retrieved);
        assert_eq!(turn.user, whole.user);
    }
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
    assert_eq!(first.unoffered_choice, None);
    assert!(first.messages.system.is_some());

    let latched_tools = first.received_tools.as_deref();
    let later = TurnMaterial { is_first: false, latched_tools, ..material };
    let second = compose_turn(&instruction("And again."), &later).unwrap();
    assert_eq!(names(&second.tools), offered);
    assert_eq!(second.received_tools, None);
    assert!(second.messages.system.is_none());

    let choosing = user_turn(json!({ "Instruction": "Pack.", "ToolChoiceName": "zip" }));
    let third = compose_turn(&choosing, &material).unwrap();
    let fault = third.unoffered_choice.unwrap();
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
    let output: Vec<_> = output.iter().filter_map(|item| for_replay(item)).collect();
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
