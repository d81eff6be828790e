//! The published OpenAPI document agrees with the code that reads requests: the same members and
//! the same limits, exact to the character and the element.

use std::sync::OnceLock;

use aptix_edge::contract::{
    ArtifactOrigin, ClosedList, ContentEncoding, ErrorCode, Fault, ImageMimeType, InvokeResult,
    Progress, RagOperator, SteerStep, ToolState, event_frames, limits, parse,
};
use aptix_edge::encoding::sha256_hex;
use aptix_edge::entry::{Route, openapi};
use aptix_edge::files::{FileId, FileLink};
use aptix_edge::persistence::Rung;
use aptix_edge::ports::Deployment;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn document() -> Value {
    let published = openapi(&Deployment::default(), "1.2.3", true);
    serde_json::from_str(&published).expect("the document is JSON")
}

fn schema(name: &str) -> Value {
    document()["components"]["schemas"][name].clone()
}

/// A validator for the schema of that name.
fn validator(name: &str) -> jsonschema::Validator {
    let root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": format!("#/components/schemas/{name}"),
        "components": document()["components"],
    });
    jsonschema::validator_for(&root).expect("the schema is one")
}

fn user_turn() -> Value {
    json!({ "SessionId": "s", "TurnId": "t", "Instruction": "x" })
}

fn continuation() -> Value {
    json!({ "SessionId": "s", "TurnId": "t", "ToolResults": [tool_result()] })
}

fn tool_result() -> Value {
    json!({ "ToolCallId": "c", "ExecutionMs": 1, "ResultJson": "1" })
}

fn artifact() -> Value {
    json!({ "RelativePath": "a", "FileName": "a", "Contents": "x", "Origin": "ide" })
}

fn image() -> Value {
    json!({ "Id": "i", "MimeType": "image/png", "DataBase64": "QUJD" })
}

fn condition() -> Value {
    json!({ "Key": "k", "Operator": "==", "Values": ["v"] })
}

/// Sets the place that `pointer` names in a valid request to `value`.
fn with(mut request: Value, pointer: &str, value: Value) -> Value {
    let (parent, member) = pointer.rsplit_once('/').unwrap();
    request.pointer_mut(parent).unwrap()[member] = value;
    request
}

fn turn_with(members: Value) -> Value {
    let mut turn = user_turn();
    turn.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    turn
}

/// The code and path of every fault in a request; empty when it is accepted.
fn verdict(request: &Value) -> Vec<(ErrorCode, Option<String>)> {
    let faults = parse(request.to_string().as_bytes()).err().unwrap_or_default();
    faults.into_iter().map(|fault| (fault.code, fault.path)).collect()
}

/// Characters of two bytes each, since the limits count characters.
fn characters(count: usize) -> Value {
    Value::String("ä".repeat(count))
}

#[test]
fn every_length_is_accepted_to_its_last_character_and_refused_one_further() {
    let artifacts = turn_with(json!({ "InputArtifacts": [artifact()] }));
    let images = turn_with(json!({ "ClipboardImages": [image()] }));
    let scope = turn_with(json!({ "RagScope": { "Conditions": [condition()] } }));
    let failed = json!({ "ToolCallId": "c", "ExecutionMs": 1, "ErrorMessage": "x" });
    let failed = json!({ "SessionId": "s", "TurnId": "t", "ToolResults": [failed] });
    for (request, pointer, shape, member) in [
        (user_turn(), "/Instruction", "UserTurn", "Instruction"),
        (user_turn(), "/SolutionContextText", "UserTurn", "SolutionContextText"),
        (user_turn(), "/WorkspaceId", "UserTurn", "WorkspaceId"),
        (user_turn(), "/Repo", "UserTurn", "Repo"),
        (user_turn(), "/Language", "UserTurn", "Language"),
        (user_turn(), "/AgentContextId", "UserTurn", "AgentContextId"),
        (user_turn(), "/ConversationContextId", "UserTurn", "ConversationContextId"),
        (user_turn(), "/ToolChoiceName", "UserTurn", "ToolChoiceName"),
        (artifacts.clone(), "/InputArtifacts/0/RelativePath", "InputArtifact", "RelativePath"),
        (artifacts.clone(), "/InputArtifacts/0/FileName", "InputArtifact", "FileName"),
        (artifacts.clone(), "/InputArtifacts/0/Contents", "InputArtifact", "Contents"),
        (artifacts, "/InputArtifacts/0/Language", "InputArtifact", "Language"),
        (images, "/ClipboardImages/0/Id", "ClipboardImage", "Id"),
        (scope.clone(), "/RagScope/Conditions/0/Key", "RagCondition", "Key"),
        (continuation(), "/ToolResults/0/ToolCallId", "SubmittedToolResult", "ToolCallId"),
        (failed, "/ToolResults/0/ErrorMessage", "SubmittedToolResult", "ErrorMessage"),
    ] {
        let longest = schema(shape)["properties"][member]["maxLength"].as_u64().unwrap() as usize;
        let at = |count| verdict(&with(request.clone(), pointer, characters(count)));
        assert_eq!(at(longest), [], "{pointer}");
        assert_eq!(at(longest + 1), [(ErrorCode::InvalidField, Some(pointer.into()))], "{pointer}");
    }
    let value = |count| {
        verdict(&with(scope.clone(), "/RagScope/Conditions/0/Values", json!([characters(count)])))
    };
    let longest = schema("RagCondition")["properties"]["Values"]["items"]["maxLength"].clone();
    assert_eq!(longest, limits::CONDITION_VALUE);
    assert_eq!(value(limits::CONDITION_VALUE), []);
    assert_eq!(value(limits::CONDITION_VALUE + 1).len(), 1);
}

#[test]
fn texts_with_a_form_of_their_own_have_their_length_too() {
    let json_text = |count: usize| format!("\"{}\"", "x".repeat(count - 2));
    let tools = |count: usize| {
        let tool = r#"[{"type":"function","name":"t","description":""}]"#;
        format!("{tool}{}", " ".repeat(count - tool.len()))
    };
    let base64 = |count: usize| "A".repeat(count / 4 * 4);
    let images = turn_with(json!({ "ClipboardImages": [image()] }));
    for (request, pointer, longest, text) in [
        (
            continuation(),
            "/ToolResults/0/ResultJson",
            limits::RESULT_JSON,
            &json_text as &dyn Fn(usize) -> String,
        ),
        (user_turn(), "/ToolsJson", limits::TOOLS_JSON, &tools),
        (images, "/ClipboardImages/0/DataBase64", limits::IMAGE_DATA, &base64),
    ] {
        let at = |count| verdict(&with(request.clone(), pointer, json!(text(count))));
        assert_eq!(at(longest), [], "{pointer}");
        assert_eq!(at(longest + 4), [(ErrorCode::InvalidField, Some(pointer.into()))], "{pointer}");
    }
    let tool = |name: usize, description: usize| {
        let tool = json!([{ "type": "function", "name": "n".repeat(name), "description": "d".repeat(description) }]);
        verdict(&turn_with(json!({ "ToolsJson": tool.to_string() }))).len()
    };
    assert_eq!(tool(limits::TOOL_NAME, limits::TOOL_DESCRIPTION), 0);
    assert_eq!(tool(limits::TOOL_NAME + 1, limits::TOOL_DESCRIPTION + 1), 2);
}

#[test]
fn every_list_is_accepted_to_its_last_element_and_refused_one_further() {
    let many = |count: usize, element: &dyn Fn(usize) -> Value| {
        Value::Array((0..count).map(element).collect())
    };
    let numbered = |index: usize| {
        with(json!({ "": tool_result() }), "//ToolCallId", json!(format!("c{index}")))[""].clone()
    };
    type Element<'a> = &'a dyn Fn(usize) -> Value;
    let lists: [(Value, &str, &str, &str, Element<'_>); 5] = [
        (user_turn(), "/InputArtifacts", "UserTurn", "InputArtifacts", &|_| artifact()),
        (user_turn(), "/ClipboardImages", "UserTurn", "ClipboardImages", &|_| image()),
        (
            turn_with(json!({ "RagScope": {} })),
            "/RagScope/Conditions",
            "RagScope",
            "Conditions",
            &|_| condition(),
        ),
        (
            turn_with(json!({ "RagScope": { "Conditions": [condition()] } })),
            "/RagScope/Conditions/0/Values",
            "RagCondition",
            "Values",
            &|_| json!(""),
        ),
        (continuation(), "/ToolResults", "ToolContinuation", "ToolResults", &numbered),
    ];
    for (request, pointer, shape, member, element) in lists {
        let most = schema(shape)["properties"][member]["maxItems"].as_u64().unwrap() as usize;
        let at = |count| verdict(&with(request.clone(), pointer, many(count, element)));
        assert_eq!(at(most), [], "{pointer}");
        assert_eq!(at(most + 1), [(ErrorCode::InvalidField, Some(pointer.into()))], "{pointer}");
    }
    let tools = |count: usize| {
        let tools: Vec<Value> = (0..count)
            .map(|index| json!({ "type": "function", "name": format!("t{index}") }))
            .collect();
        verdict(&turn_with(json!({ "ToolsJson": json!(tools).to_string() }))).len()
    };
    assert_eq!((tools(limits::TOOLS), tools(limits::TOOLS + 1)), (0, 1));
}

#[test]
fn every_limit_is_published_and_nothing_is_left_to_fill_in() {
    let published = openapi(&Deployment::default(), "1.2.3", true);
    assert!(!published.contains('@'), "a name without a value");
    let source = include_str!("../../src/entry/door/openapi.json");
    for (name, _) in limits::ALL {
        // Limits of identifiers are part of the identifiers' pattern.
        assert!(source.contains(&format!("@{name}")), "{name} is not published");
    }
    let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(schema("ErrorCode")["enum"], json!(codes));
    assert_eq!(
        schema("Identifier")["pattern"],
        format!("^(?!\\.{{1,2}}$)[A-Za-z0-9._:-]{{1,{}}}$", limits::IDENTIFIER)
    );
}

#[test]
fn the_endpoints_published_are_those_that_are_found() {
    let document = document();
    let link = FileLink {
        id: FileId::of("0a".repeat(32), sha256_hex(b"x")),
        bucket: None,
        name: "a".to_owned(),
        mime_type: "text/plain".to_owned(),
        expires_at: 1,
    };
    let bed = bed::Bed::new();
    bed.deploy("AUTH", "keys");
    let mut count = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let target =
            path.replace("{SessionId}", "s").replace("{TurnId}", "t").replace("{WorkspaceId}", "w");
        let target = match path.as_str() {
            "/files/{FileId}" => link.target("k"),
            _ => target,
        };
        let target = if path.ends_with("/documents") { format!("{target}?Path=a") } else { target };
        for method in ["get", "post", "put", "delete", "patch"] {
            let found = Route::find(&method.to_uppercase(), &target);
            let published = operations.get(method).is_some();
            assert_eq!(found.is_ok(), published, "{method} {path}");
            count += usize::from(published);
            if published {
                let open = operations[method]["security"] == json!([]);
                let heard = bed.asked(&method.to_uppercase(), &target, "");
                assert_eq!(heard.status != 401, open, "{method} {path}");
            }
        }
    }
    assert_eq!(count, 29);
}

#[test]
fn each_response_published_has_the_id_of_its_request() {
    let document = document();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let named = response["$ref"].as_str().map(|pointer| &pointer[1..]);
                let response = named.map_or(response, |named| document.pointer(named).unwrap());
                let headers = &response["headers"];
                assert!(headers.get("Aptix-Request-Id").is_some(), "{method} {path} {status}");
            }
        }
    }
}

#[test]
fn a_request_has_the_members_published_and_no_others() {
    let requests = [
        ("UserTurn", user_turn(), ""),
        (
            "InputArtifact",
            turn_with(json!({ "InputArtifacts": [artifact()] })),
            "/InputArtifacts/0",
        ),
        (
            "ClipboardImage",
            turn_with(json!({ "ClipboardImages": [image()] })),
            "/ClipboardImages/0",
        ),
        ("RagScope", turn_with(json!({ "RagScope": { "Conditions": [] } })), "/RagScope"),
        (
            "RagCondition",
            turn_with(json!({ "RagScope": { "Conditions": [condition()] } })),
            "/RagScope/Conditions/0",
        ),
        ("ToolContinuation", continuation(), ""),
        ("SubmittedToolResult", continuation(), "/ToolResults/0"),
    ];
    for (shape, request, place) in requests {
        assert_eq!(verdict(&request), [], "{shape}");
        let schema = schema(shape);
        for member in schema["properties"].as_object().unwrap().keys() {
            // No member accepts this value, so a known member yields another fault than
            // `unknown_field`.
            let odd = with(request.clone(), &format!("{place}/{member}"), json!([[]]));
            let faults = verdict(&odd);
            assert!(
                faults.iter().all(|(code, _)| *code != ErrorCode::UnknownField),
                "{shape}.{member} is published and not known: {faults:?}"
            );
        }
        for member in schema["required"].as_array().unwrap() {
            let mut without: Value = request.clone();
            let object: &mut Map<String, Value> =
                without.pointer_mut(place).unwrap().as_object_mut().unwrap();
            object.remove(member.as_str().unwrap());
            let codes: Vec<ErrorCode> =
                verdict(&without).into_iter().map(|(code, _)| code).collect();
            // A continuation without its results is a user turn without input.
            let expected = if member == "ToolResults" {
                ErrorCode::EmptyTurn
            } else {
                ErrorCode::MissingField
            };
            assert_eq!(codes, [expected], "{shape}.{member}");
        }
    }
}

/// Valid and invalid values of every kind for members of a request.
fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..9_007_199_254_740_993).prop_map(Value::from),
        Just(json!(1.5)),
        prop::sample::select(vec![
            "",
            "x",
            "ide",
            "user",
            "utf8",
            "base64",
            "QUJD",
            "a/b",
            "../x",
            "image/png",
            "text/plain",
            "==",
            "contains",
            "{}",
            "[]",
            r#"[{"type":"function","name":"t"}]"#,
        ])
        .prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([artifact()])),
        Just(json!([image()])),
        Just(json!([tool_result()])),
        Just(json!([{ "ToolCallId": "d", "ExecutionMs": 0, "ErrorMessage": "x" }])),
        Just(json!({ "Conditions": [condition()] })),
        Just(json!({ "Conditions": [] })),
    ]
}

static VALIDATORS: OnceLock<[jsonschema::Validator; 2]> = OnceLock::new();

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_accepted_is_as_published(
        members in prop::collection::vec(
            (prop::sample::select(vec![
                "Instruction", "InputArtifacts", "ClipboardImages", "RagScope", "SolutionContextText",
                "WorkspaceId", "Repo", "Language", "Streaming", "AgentContextId", "ConversationContextId",
                "ToolsJson", "ToolChoiceName", "ToolResults",
            ]), any_value()),
            0..5,
        ),
        nested in prop::option::of((
            prop::sample::select(vec![
                "RelativePath", "FileName", "Contents", "Origin", "MimeType", "Language", "Encoding",
            ]),
            any_value(),
        )),
    ) {
        let mut request = json!({ "SessionId": "s", "TurnId": "t" });
        for (member, value) in members {
            request[member] = value;
        }
        if let Some((member, value)) = nested {
            let mut artifact = artifact();
            artifact[member] = value;
            request["InputArtifacts"] = json!([artifact]);
        }
        if verdict(&request).is_empty() {
            // The document says what to send. Serialisers write more for members that a request must not have.
            let is_unset = |value: &Value| value.is_null() || *value == false || *value == json!([]);
            let shape = if is_unset(&request["ToolResults"]) { "UserTurn" } else { "ToolContinuation" };
            request.as_object_mut().unwrap().retain(|name, value| {
                let is_forbidden = (name == "ToolResults") == (shape == "UserTurn");
                !(is_forbidden && is_unset(value))
            });
            let validators = VALIDATORS.get_or_init(|| ["UserTurn", "ToolContinuation"].map(validator));
            let validator = &validators[usize::from(shape == "ToolContinuation")];
            prop_assert!(validator.is_valid(&request), "{request}");
        }
    }
}

#[test]
fn each_event_of_a_stream_is_published_by_its_name_and_its_data() {
    let frames = [
        event_frames::delta(0, 1, "x"),
        event_frames::discard(0),
        event_frames::progress(&Progress::Compaction),
        event_frames::result(&InvokeResult::failure(vec![Fault::internal("x")]).to_json()),
    ];
    let published = schema("EventStream")["contentSchema"]["items"]["oneOf"].clone();
    let published = published.as_array().unwrap();
    assert_eq!(published.len(), frames.len());
    for (frame, event) in frames.iter().zip(published) {
        let fields = frame.trim_end().lines().map(|line| line.split_once(": ").unwrap());
        let fields = fields.map(|(name, value)| (name.to_owned(), json!(value)));
        let fields = Value::Object(fields.collect());
        assert!(jsonschema::is_valid(event, &fields), "{fields}");
        let data: Value = serde_json::from_str(fields["data"].as_str().unwrap()).unwrap();
        let name = event["properties"]["data"]["contentSchema"]["$ref"].as_str().unwrap();
        let name = name.rsplit('/').next().unwrap();
        assert!(validator(name).is_valid(&data), "{name} {data}");
    }
}

#[test]
fn each_progress_event_is_published_with_all_its_members() {
    let (id, name, text) = ("call_1", "t", "x");
    let tool = |state, successful, execution_ms| Progress::ServerTool {
        tool_call_id: id,
        name,
        state,
        successful,
        execution_ms,
    };
    let retry = |resumed, fallback| Progress::Retry { after_ms: 0, resumed, fallback };
    let events = [
        Progress::ModelCall { iteration: 1 },
        Progress::Reasoning { text },
        Progress::Commentary { text },
        tool(ToolState::Started, None, None),
        tool(ToolState::Finished, Some(true), Some(0)),
        Progress::Mode { mode_display_name: name },
        retry(None, false),
        retry(Some(1), false),
        retry(None, true),
        Progress::Compaction,
        Progress::Steer { steer_id: id, state: SteerStep::Accepted },
        Progress::Steer { steer_id: id, state: SteerStep::Delivered },
    ];
    let (validator, mut kinds) = (validator("Progress"), Vec::new());
    for event in events {
        // Another kind of event has to come into the list above, and into the document.
        match event {
            Progress::ModelCall { .. }
            | Progress::Reasoning { .. }
            | Progress::Commentary { .. }
            | Progress::ServerTool { .. }
            | Progress::Mode { .. }
            | Progress::Retry { .. }
            | Progress::Compaction
            | Progress::Steer { .. } => {}
        }
        let event = json!(event);
        assert!(validator.is_valid(&event), "{event}");
        kinds.push(event["Kind"].clone());
    }
    kinds.dedup();
    let kind_of = |variant: &Value| {
        let name = variant["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
        schema(name)["properties"]["Kind"]["const"].clone()
    };
    let published = schema("Progress")["oneOf"].clone();
    let published: Vec<_> = published.as_array().unwrap().iter().map(kind_of).collect();
    assert_eq!(kinds, published);
}

#[test]
fn every_closed_list_of_names_is_published_as_it_is_read() {
    for (shape, member, names) in [
        ("InputArtifact", "Origin", ArtifactOrigin::NAMES),
        ("InputArtifact", "Encoding", ContentEncoding::NAMES),
        ("ClipboardImage", "MimeType", ImageMimeType::NAMES),
        ("RagCondition", "Operator", RagOperator::NAMES),
        ("ModelCall", "Reduced", Rung::NAMES),
    ] {
        let mut published = schema(shape)["properties"][member]["enum"].clone();
        // `null` counts as absent where a member is optional.
        published.as_array_mut().unwrap().retain(|name| !name.is_null());
        assert_eq!(published, json!(names), "{shape}.{member}");
    }
}
