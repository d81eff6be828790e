//! The public contract from outside: from bodies to typed requests or faults, and the exact JSON of
//! responses.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
// A failing test panics, in the functions outside the test functions too.

mod memory;

use aptix_edge::contract::{
    AgentExecuteResponse, ArtifactContent, ArtifactOrigin, ClientTool, ClipboardImage,
    ExecuteRequest, Fault, FileRef, FinalResponse, ImageMimeType, InputArtifact, InvokeResult,
    RagCondition, RagOperator, RagScope, SessionId, ToolCall, ToolCalls, ToolContinuation,
    ToolContinuationResponse, ToolOutcome, ToolParameters, ToolResult, TurnId, Usage, UserTurn,
    fingerprint, parse, peek_session_id,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A request that uses every member of a user turn.
const FULL_TURN: &str = r##"{
  "SessionId": "s-1", "TurnId": "t:1",
  "Instruction": "Explain **this**.",
  "InputArtifacts": [
    { "RelativePath": "src", "FileName": "a.rs", "Contents": "fn a() {}\n", "Origin": "ide", "Language": "rust" },
    { "RelativePath": "", "FileName": "b.pdf", "Contents": "QUI", "Origin": "user", "MimeType": "application/pdf", "Encoding": "base64" }
  ],
  "ClipboardImages": [ { "Id": "i1", "MimeType": "image/png", "DataBase64": "QUJD" } ],
  "RagScope": { "Conditions": [ { "Key": "Path", "Operator": "does_not_contain", "Values": ["test", ""] } ] },
  "SolutionContextText": "",
  "WorkspaceId": "w", "Repo": "r", "Language": "en",
  "Streaming": true,
  "AgentContextId": "a", "ConversationContextId": "c",
  "ToolsJson": "[{\"type\":\"function\",\"name\":\"read_file\",\"description\":\"Reads.\",\"parameters\":{ \"type\" : \"object\" },\"strict\":true},{\"type\":\"function\",\"function\":{\"name\":\"ls\",\"parameters\":null}}]",
  "ToolChoiceName": "read_file"
}"##;

fn full_turn() -> ExecuteRequest {
    ExecuteRequest::UserTurn(Box::new(UserTurn {
        session_id: SessionId::parse("s-1").unwrap(),
        turn_id: TurnId::parse("t:1").unwrap(),
        instruction: Some("Explain **this**.".into()),
        input_artifacts: vec![
            InputArtifact {
                relative_path: "src".into(),
                file_name: "a.rs".into(),
                content: ArtifactContent::Text("fn a() {}\n".into()),
                origin: ArtifactOrigin::Ide,
                mime_type: None,
                language: Some("rust".into()),
            },
            InputArtifact {
                relative_path: String::new(),
                file_name: "b.pdf".into(),
                content: ArtifactContent::Base64("QUI=".into()),
                origin: ArtifactOrigin::User,
                mime_type: Some("application/pdf".into()),
                language: None,
            },
        ],
        clipboard_images: vec![ClipboardImage {
            id: "i1".into(),
            mime_type: ImageMimeType::Png,
            data_base64: "QUJD".into(),
        }],
        rag_scope: Some(RagScope {
            conditions: vec![RagCondition {
                key: "Path".into(),
                operator: RagOperator::DoesNotContain,
                values: vec!["test".into(), String::new()],
            }],
        }),
        solution_context_text: Some(String::new()),
        workspace_id: Some("w".into()),
        repo: Some("r".into()),
        language: Some("en".into()),
        streaming: true,
        agent_context_id: Some("a".into()),
        conversation_context_id: Some("c".into()),
        tools: Some(vec![
            ClientTool {
                name: "read_file".into(),
                description: Some("Reads.".into()),
                parameters: Some(ToolParameters::compact(r#"{"type":"object"}"#).unwrap()),
                strict: Some(true),
            },
            ClientTool { name: "ls".into(), description: None, parameters: None, strict: None },
        ]),
        tool_choice_name: Some("read_file".into()),
    }))
}

/// A user turn with its ids and these members.
fn turn(members: &str) -> String {
    format!(r#"{{"SessionId":"s","TurnId":"t",{members}}}"#)
}

/// The shortest valid user turn, followed by one more member.
fn turn_with(member: &str) -> String {
    turn(&format!(r#""Instruction":"x",{member}"#))
}

/// The report of a refused body: code, pointer, message and suggestion of each fault.
fn report(body: &str) -> Vec<String> {
    match parse(body.as_bytes()) {
        Ok(request) => panic!("accepted {body}: {request:?}"),
        Err(faults) => faults
            .iter()
            .map(|fault| {
                let mut line = format!(
                    "{} {} | {}",
                    fault.code,
                    fault.path.as_deref().unwrap_or("-"),
                    fault.message
                );
                if let Some(details) = &fault.details {
                    line.push_str(" | ");
                    line.push_str(&Value::Object(details.clone()).to_string());
                }
                line
            })
            .collect(),
    }
}

#[test]
fn a_full_user_turn_is_read_whole() {
    assert_eq!(parse(FULL_TURN.as_bytes()), Ok(full_turn()));
    assert_eq!(peek_session_id(FULL_TURN.as_bytes()), Some(full_turn().session_id().clone()));
}

#[test]
fn a_tool_continuation_is_read_whole() {
    let body = r#"{"ToolResults":[
        {"ToolCallId":"c1","ExecutionMs":0,"ResultJson":" {\"a\": 1} ","ErrorMessage":null},
        {"ToolCallId":"c2","ExecutionMs":9007199254740992,"ErrorMessage":"gone"}],
        "TurnId":"t","SessionId":"s","Instruction":null,"Streaming":null}"#;
    let expected = ExecuteRequest::ToolContinuation(ToolContinuation {
        session_id: SessionId::parse("s").unwrap(),
        turn_id: TurnId::parse("t").unwrap(),
        tool_results: vec![
            ToolResult {
                tool_call_id: "c1".into(),
                execution_ms: 0,
                outcome: ToolOutcome::Result(" {\"a\": 1} ".into()),
            },
            ToolResult {
                tool_call_id: "c2".into(),
                execution_ms: 1 << 53,
                outcome: ToolOutcome::Error("gone".into()),
            },
        ],
    });
    assert_eq!(parse(body.as_bytes()), Ok(expected));
}

#[test]
fn every_permitted_variant_is_accepted() {
    let artifact = |members: &str| {
        turn(&format!(
            r#""InputArtifacts":[{{"RelativePath":"a","FileName":"b","Origin":"ide",{members}}}]"#
        ))
    };
    for body in [
        "\u{feff}{\"SessionId\":\"s\",\"TurnId\":\"t\",\"Instruction\":\"x\"}".to_owned(),
        turn_with(r#""ToolResults":null"#),
        turn_with(r#""InputArtifacts":[],"ClipboardImages":[]"#),
        turn_with(
            r#""InputArtifacts":null,"ClipboardImages":null,"RagScope":null,"ToolsJson":null"#,
        ),
        turn_with(r#""ToolsJson":"[]""#),
        turn_with(r#""RagScope":{"Conditions":[]}"#),
        turn_with(r#""WorkspaceId":"","Repo":"","Language":"""#),
        turn_with(r#""Streaming":false,"SolutionContextText":null"#),
        turn(r#""ClipboardImages":[{"Id":"1","MimeType":"image/gif","DataBase64":"QQ"}]"#),
        artifact(r#""Contents":"""#),
        artifact(r#""Contents":"","Encoding":"base64""#),
        artifact(r#""Encoding":"base\u00364","Contents":"QUJD""#),
        artifact(
            r#""Contents":"\ud83d\ude00","Encoding":"utf8","MimeType":"text/plain; charset=utf-8""#,
        ),
        artifact(r#""Contents":"x","MimeType":null,"Language":null,"Encoding":null"#),
    ] {
        assert!(parse(body.as_bytes()).is_ok(), "{body}: {:?}", report(&body));
    }
}

#[test]
fn a_name_of_a_closed_list_is_a_string_and_no_object_with_that_member() {
    let artifact = |members: &str| {
        turn(&format!(
            r#""InputArtifacts":[{{"RelativePath":"a","FileName":"b","Contents":"",{members}}}]"#
        ))
    };
    let encoding = artifact(r#""Origin":"ide","Encoding":{"base64":null}"#);
    assert_eq!(report(&encoding).len(), 1);
    assert!(report(&encoding)[0].starts_with("invalid_field /InputArtifacts/0/Encoding"));
    let origin = artifact(r#""Origin":{"ide":null}"#);
    assert!(report(&origin)[0].starts_with("invalid_field /InputArtifacts/0/Origin"));
}

#[test]
fn all_violations_are_reported_at_once_in_document_order() {
    let body = r#"{
      "Mode": "general",
      "Instructions": "x",
      "Colour/~": {"deep": [1]},
      "Streaming": "yes",
      "InputArtifacts": [
        5,
        {"FileName": "a/b", "relativepath": "x", "Origin": "IDE", "Contents": 7},
        {"RelativePath": "C:\\x", "FileName": "a", "Contents": "Q", "Encoding": "base64", "MimeType": "text", "Origin": "user", "Origin": "ide"}
      ],
      "TurnId": "a b",
      "Streaming": true,
      "ClipboardImages": {"Id": "1"},
      "RagScope": {"Conditions": [{"Key": "", "Operator": "=", "Values": []}, {"Values": [1, "x"]}], "Limit": 3},
      "ToolChoiceName": "",
      "Kind": null
    }"#;
    assert_eq!(
        report(body),
        [
            "forbidden_field /Mode | Mode belongs to the server; remove it.",
            r#"unknown_field /Instructions | Instructions is not a known member; did you mean Instruction? | {"DidYouMean":"Instruction"}"#,
            r#"unknown_field /Colour~1~0 | Colour/~ is not a known member; remove it. | {"DidYouMean":"TurnId"}"#,
            "invalid_field /Streaming | Streaming must be true or false.",
            "invalid_field /InputArtifacts/0 | InputArtifacts[0] must be an object.",
            "invalid_field /InputArtifacts/1/FileName | InputArtifacts[1].FileName must not hold a separator; put the folder into RelativePath.",
            r#"unknown_field /InputArtifacts/1/relativepath | InputArtifacts[1].relativepath is not a known member; did you mean RelativePath? | {"DidYouMean":"RelativePath"}"#,
            "invalid_field /InputArtifacts/1/Origin | InputArtifacts[1].Origin must be one of ide, user.",
            "invalid_field /InputArtifacts/1/Contents | InputArtifacts[1].Contents must be a string.",
            "missing_field /InputArtifacts/1/RelativePath | InputArtifacts[1].RelativePath is required; add it.",
            "invalid_field /InputArtifacts/2/RelativePath | InputArtifacts[2].RelativePath must be relative: it must not begin with a drive letter or a URL scheme.",
            "invalid_field /InputArtifacts/2/Contents | InputArtifacts[2].Contents must be base64 in the standard alphabet (A-Z a-z 0-9 + /), without white space, line breaks or a data: prefix.",
            "invalid_field /InputArtifacts/2/MimeType | InputArtifacts[2].MimeType must be a media type such as text/plain; leave it out when unknown.",
            "invalid_field /InputArtifacts/2/Origin | InputArtifacts[2].Origin stands more than once in its object; send it once.",
            "invalid_field /TurnId | TurnId must be 1 to 128 characters of: A-Z a-z 0-9 . _ : -, and not . or ..",
            "invalid_field /Streaming | Streaming stands more than once in its object; send it once.",
            "invalid_field /ClipboardImages | ClipboardImages must be an array.",
            "invalid_field /RagScope/Conditions/0/Key | RagScope.Conditions[0].Key must not be empty.",
            "invalid_field /RagScope/Conditions/0/Operator | RagScope.Conditions[0].Operator must be one of ==, !=, contains, does_not_contain.",
            "invalid_field /RagScope/Conditions/0/Values | RagScope.Conditions[0].Values must hold at least one value.",
            "invalid_field /RagScope/Conditions/1/Values/0 | RagScope.Conditions[1].Values[0] must be a string.",
            "missing_field /RagScope/Conditions/1/Key | RagScope.Conditions[1].Key is required; add it.",
            "missing_field /RagScope/Conditions/1/Operator | RagScope.Conditions[1].Operator is required; add it.",
            r#"unknown_field /RagScope/Limit | RagScope.Limit is not a known member; remove it. | {"DidYouMean":"Conditions"}"#,
            "forbidden_field /Kind | Kind belongs to the server; remove it.",
            "missing_field /SessionId | SessionId is required; add it.",
        ]
    );
}

#[test]
fn a_turn_without_input_is_empty_after_everything_else() {
    let empty = "empty_turn - | The turn has no input; send a non-empty Instruction, InputArtifacts or ClipboardImages.";
    let missing = ["SessionId", "TurnId"]
        .map(|name| format!("missing_field /{name} | {name} is required; add it."));
    for body in [
        "{}",
        r#"{"Instruction":" \n\t"}"#,
        r#"{"InputArtifacts":[ ],"ClipboardImages":null,"Instruction":null}"#,
        r#"{"ToolResults":null}"#,
    ] {
        assert_eq!(report(body), [&missing[0], &missing[1], empty], "{body}");
    }
    // A misspelt ToolResults does not make a continuation, and is recognised.
    assert_eq!(
        report(&turn(r#""toolResults":[]"#)),
        [
            r#"unknown_field /toolResults | toolResults is not a known member; did you mean ToolResults? | {"DidYouMean":"ToolResults"}"#,
            empty
        ]
    );
    // Wrong input is wrong, not missing.
    assert_eq!(
        report(&turn(r#""Instruction":5"#)),
        ["invalid_field /Instruction | Instruction must be a string."]
    );
}

#[test]
fn every_server_owned_member_is_forbidden_in_both_scenarios() {
    let names = [
        "Mode",
        "ModeDisplayName",
        "ConversationId",
        "ResponseContinuationId",
        "PreviousResponseId",
        "previous_response_id",
        "CorrelationId",
        "Model",
        "Kind",
    ];
    for name in names {
        let expected =
            [format!("forbidden_field /{name} | {name} belongs to the server; remove it.")];
        assert_eq!(report(&turn_with(&format!("\"{name}\":1"))), expected);
        let results = r#""ToolResults":[{"ToolCallId":"c","ExecutionMs":1,"ResultJson":"1"}]"#;
        assert_eq!(report(&turn(&format!("{results},\"{name}\":1"))), expected);
    }
}

#[test]
fn a_tool_continuation_takes_nothing_but_its_results() {
    let body = turn(
        r#""Instruction":"x","InputArtifacts":[],"ClipboardImages":[],"RagScope":{},
           "SolutionContextText":"","WorkspaceId":"","Repo":"","Language":"","Streaming":false,
           "AgentContextId":"","ConversationContextId":"","ToolsJson":"[]","ToolChoiceName":"x",
           "ToolResult":1,"ToolResults":[]"#,
    );
    let mut expected: Vec<String> = [
        "Instruction",
        "InputArtifacts",
        "ClipboardImages",
        "RagScope",
        "SolutionContextText",
        "WorkspaceId",
        "Repo",
        "Language",
        "Streaming",
        "AgentContextId",
        "ConversationContextId",
        "ToolsJson",
        "ToolChoiceName",
    ]
    .iter()
    .map(|name| {
        format!("forbidden_field /{name} | {name} has no place beside ToolResults; send it with a user turn.")
    })
    .collect();
    expected.push(
        r#"unknown_field /ToolResult | ToolResult is not a known member; did you mean ToolResults? | {"DidYouMean":"ToolResults"}"#.into(),
    );
    expected.push("invalid_field /ToolResults | ToolResults must hold at least one result.".into());
    assert_eq!(report(&body), expected);
}

#[test]
fn each_tool_result_is_held_to_its_shape() {
    let integer = "must be an integer from 0 to 2^53, without fraction or exponent.";
    let body = turn(
        r#""ToolResults":[
            {"ToolCallId":"c","ExecutionMs":-1,"ResultJson":"{\"secret\":}"},
            {"ToolCallId":"c","ExecutionMs":1.0,"ErrorMessage":""},
            {"ToolCallId":"","ExecutionMs":1e3,"ErrorMessage":"x","ResultJson":"1"},
            {"ExecutionMs":9007199254740993,"Result":{}},
            "x",
            {"ToolCallId":"d","ExecutionMs":"1","ResultJson":{"a":1}},
            {"ToolCallId":null,"ResultJson":null,"ErrorMessage":null}
        ]"#,
    );
    assert_eq!(
        report(&body),
        [
            format!("invalid_field /ToolResults/0/ExecutionMs | ToolResults[0].ExecutionMs {integer}"),
            "invalid_field /ToolResults/0/ResultJson | ToolResults[0].ResultJson must hold JSON; it is not valid JSON at line 1, column 11 (expected value).".into(),
            format!("invalid_field /ToolResults/1/ExecutionMs | ToolResults[1].ExecutionMs {integer}"),
            "invalid_field /ToolResults/1/ErrorMessage | ToolResults[1].ErrorMessage must not be empty.".into(),
            "invalid_field /ToolResults/2/ToolCallId | ToolResults[2].ToolCallId must not be empty.".into(),
            format!("invalid_field /ToolResults/2/ExecutionMs | ToolResults[2].ExecutionMs {integer}"),
            "invalid_field /ToolResults/2/ResultJson | ToolResults[2].ResultJson stands beside the other outcome; send exactly one of ResultJson and ErrorMessage.".into(),
            format!("invalid_field /ToolResults/3/ExecutionMs | ToolResults[3].ExecutionMs {integer}"),
            r#"unknown_field /ToolResults/3/Result | ToolResults[3].Result is not a known member; remove it. | {"DidYouMean":"ResultJson"}"#.into(),
            "missing_field /ToolResults/3/ToolCallId | ToolResults[3].ToolCallId is required; add it.".into(),
            "missing_field /ToolResults/3/ResultJson | ToolResults[3].ResultJson or ErrorMessage is required; add exactly one of them.".into(),
            "invalid_field /ToolResults/4 | ToolResults[4] must be an object.".into(),
            format!("invalid_field /ToolResults/5/ExecutionMs | ToolResults[5].ExecutionMs {integer}"),
            "invalid_field /ToolResults/5/ResultJson | ToolResults[5].ResultJson must be a string.".into(),
            "invalid_field /ToolResults/6/ToolCallId | ToolResults[6].ToolCallId must be a string.".into(),
            "missing_field /ToolResults/6/ExecutionMs | ToolResults[6].ExecutionMs is required; add it.".into(),
            "missing_field /ToolResults/6/ResultJson | ToolResults[6].ResultJson or ErrorMessage is required; add exactly one of them.".into(),
        ]
    );
    assert_eq!(
        report(r#"{"SessionId":"s","TurnId":"t","ToolResults":{}}"#),
        ["invalid_field /ToolResults | ToolResults must be an array."]
    );
}

#[test]
fn client_tools_are_checked_inside_their_text() {
    let tools_report = |tools: &str| report(&turn_with(&format!("\"ToolsJson\":{}", json!(tools))));
    assert_eq!(
        tools_report(
            r#"[
            {"type":"function","name":"a","Description":"x"},
            {"type":"function","name":"a","parameters":[],"strict":"yes","description":5},
            {"type":"retrieval","name":"a b"},
            {"type":"function","function":{"name":"a","strict":null,"extra":1},"name":"z"},
            {"type":"function","function":5},
            {"name":"b","parameters":{"type":"object"}},
            "c"
        ]"#
        ),
        [
            r#"unknown_field /ToolsJson | tools[0].Description is not a known member; did you mean description? | {"DidYouMean":"description"}"#,
            "invalid_field /ToolsJson | tools[1].name repeats the name of an earlier tool; give each tool its own.",
            "invalid_field /ToolsJson | tools[1].parameters must be a JSON Schema object.",
            "invalid_field /ToolsJson | tools[1].strict must be true or false.",
            "invalid_field /ToolsJson | tools[1].description must be a string.",
            r#"invalid_field /ToolsJson | tools[2].type must be "function"."#,
            "invalid_field /ToolsJson | tools[2].name must be 1 to 64 of the letters A-Z a-z, the digits, _ and - only.",
            "invalid_field /ToolsJson | tools[3].function.name repeats the name of an earlier tool; give each tool its own.",
            r#"unknown_field /ToolsJson | tools[3].function.extra is not a known member; remove it. | {"DidYouMean":"name"}"#,
            r#"unknown_field /ToolsJson | tools[3].name is not a known member; remove it. | {"DidYouMean":"type"}"#,
            "invalid_field /ToolsJson | tools[4].function must be an object.",
            "missing_field /ToolsJson | tools[5].type is required; add it.",
            "invalid_field /ToolsJson | tools[6] must be an object.",
        ]
    );
    assert_eq!(
        tools_report("{}"),
        ["invalid_field /ToolsJson | ToolsJson must hold a JSON array of function tools."]
    );
    assert_eq!(
        tools_report(""),
        [
            "invalid_field /ToolsJson | ToolsJson must hold a JSON array; it is not valid JSON at line 1, column 0 (EOF while parsing a value)."
        ]
    );
    assert_eq!(
        tools_report(&"[".repeat(1000)),
        ["invalid_field /ToolsJson | ToolsJson must not nest more than 128 levels deep."]
    );
    assert_eq!(
        report(&turn_with(r#""ToolsJson":[]"#)),
        ["invalid_field /ToolsJson | ToolsJson must be a string."]
    );
}

#[test]
fn half_a_character_is_a_violation_at_its_place() {
    assert_eq!(
        report(&turn(r#""Instruction":"\ud800""#)),
        [
            "invalid_field /Instruction | Instruction is not valid Unicode; escape no lone surrogates."
        ]
    );
    assert_eq!(
        report(&turn(r#""InputArtifacts":[{"\udc00":1}]"#))[0],
        "invalid_field /InputArtifacts/0 | InputArtifacts[0] has a member name that is not valid Unicode; escape no lone surrogates."
    );
}

#[test]
fn a_long_report_is_cut_and_says_so() {
    let members: Vec<String> = (0..5000).map(|n| format!("\"{}{n}\":1", "x".repeat(99))).collect();
    let faults = parse(format!("{{{}}}", members.join(",")).as_bytes()).unwrap_err();
    assert_eq!(faults.len(), 101);
    assert_eq!(
        faults[100].to_string(),
        "unknown_field: There are more violations than the 100 listed; repair these first."
    );
    assert!(faults.iter().all(|fault| fault.message.len() < 200));
}

#[test]
fn a_session_is_found_in_front_of_whatever_follows() {
    let peek = |body: &str| peek_session_id(body.as_bytes()).map(|id| id.to_string());
    assert_eq!(peek(r#"{"A":[{"SessionId":"no"}],"SessionId":"yes""#), Some("yes".into()));
    assert_eq!(peek("\u{feff}{\"SessionId\":\"yes\"}"), Some("yes".into()));
    assert_eq!(peek(r#"{"Session\u0049d":"yes"}"#), Some("yes".into()));
    for none in ["", "[]", "{}", r#"{"SessionId":5}"#, r#"{"SessionId":"a b"}"#, r#"{"A":}"#] {
        assert_eq!(peek(none), None, "{none}");
    }
}

#[test]
fn a_repetition_has_the_same_fingerprint_however_it_is_written() {
    let fingerprint = |body: &str| fingerprint(&parse(body.as_bytes()).unwrap());
    let plain = fingerprint(
        r#"{"SessionId":"s","TurnId":"t","InputArtifacts":[{"RelativePath":"a","FileName":"b","Contents":"QQ==","Encoding":"base64","Origin":"ide"},{"RelativePath":"a","FileName":"c","Contents":"é","Origin":"ide"}],"ToolsJson":"[{\"type\":\"function\",\"name\":\"n\",\"parameters\":{\"a\":1}}]"}"#,
    );
    let rewritten = fingerprint(
        r#" { "Streaming" : true, "Instruction":" ", "Repo":null, "ToolsJson":"[ {\"function\":{\"parameters\":{ \"a\" : 1 },\"name\":\"n\",\"strict\":null},\"type\":\"function\"} ]",
            "InputArtifacts":[{"Origin":"ide","Encoding":"base64","Contents":"QQ","FileName":"b","RelativePath":"a"},{"Origin":"\u0069de","FileName":"c","Contents":"\u00e9","Encoding":"utf8","RelativePath":"a","Language":null}],
            "ClipboardImages":[],"TurnId":"t","SessionId":"s" } "#,
    );
    assert_eq!(plain, rewritten);
    assert_eq!(plain.len(), 64);
    assert!(plain.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
}

#[test]
fn other_content_has_another_fingerprint() {
    let artifacts = |list: &str| turn(&format!(r#""InputArtifacts":[{list}]"#));
    let artifact = r#"{"RelativePath":"a","FileName":"b","Contents":"QQ==","Origin":"ide"}"#;
    let bodies = [
        turn(r#""Instruction":"x""#),
        turn(r#""Instruction":"x ""#),
        r#"{"SessionId":"s","TurnId":"u","Instruction":"x"}"#.to_owned(),
        turn_with(r#""SolutionContextText":"""#),
        turn_with(r#""ToolsJson":"[]""#),
        turn_with(r#""Repo":"w""#),
        turn_with(r#""WorkspaceId":"w""#),
        turn_with(r#""RagScope":{"Conditions":[]}"#),
        turn_with(r#""RagScope":{"Conditions":[{"Key":"a","Operator":"==","Values":["b","c"]}]}"#),
        turn_with(r#""RagScope":{"Conditions":[{"Key":"a","Operator":"==","Values":["bc"]}]}"#),
        turn_with(r#""RagScope":{"Conditions":[{"Key":"a","Operator":"!=","Values":["bc"]}]}"#),
        turn_with(r#""ToolsJson":"[{\"type\":\"function\",\"name\":\"n\"}]""#),
        turn_with(r#""ToolsJson":"[{\"type\":\"function\",\"name\":\"n\",\"strict\":false}]""#),
        artifacts(artifact),
        artifacts(&artifact.replace("ide\"", "ide\",\"Encoding\":\"base64\"")),
        artifacts(&format!("{artifact},{artifact}")),
        turn(r#""ToolResults":[{"ToolCallId":"c","ExecutionMs":1,"ResultJson":"1"}]"#),
        turn(r#""ToolResults":[{"ToolCallId":"c","ExecutionMs":1,"ErrorMessage":"1"}]"#),
        turn(r#""ToolResults":[{"ToolCallId":"c","ExecutionMs":2,"ResultJson":"1"}]"#),
    ];
    let fingerprints: std::collections::BTreeSet<String> =
        bodies.iter().map(|body| fingerprint(&parse(body.as_bytes()).unwrap())).collect();
    assert_eq!(fingerprints.len(), bodies.len());
}

#[test]
fn a_stored_fingerprint_outlives_a_deploy() {
    // A change here turns every repetition of an earlier request into a conflict. It needs a new
    // domain, and code that still computes the old fingerprint.
    assert_eq!(
        fingerprint(&full_turn()),
        "c7e6ddc2c2d4b3f19c15ad0b4bcc1f3ffa7e59d1bbfa59714ac6ceb5749f9aaf"
    );
    let results = r#""ToolResults":[{"ToolCallId":"c1","ExecutionMs":7,"ResultJson":"1"},{"ToolCallId":"c2","ExecutionMs":0,"ErrorMessage":"gone"}]"#;
    for (body, stored) in [
        (
            turn(r#""Instruction":"x""#),
            "aa7903e490321c64d888dbc956e2143eb3c93fc8866dc0620aeb79fac9426fb8",
        ),
        (turn(results), "fcd234c72286e913b69ff2267aa96427c692983dea5fe9102e94c053fc73305b"),
    ] {
        assert_eq!(fingerprint(&parse(body.as_bytes()).unwrap()), stored);
    }
}

#[test]
fn a_final_response_has_exactly_the_published_members() {
    let bare = FinalResponse {
        session_id: SessionId::parse("s").unwrap(),
        turn_id: TurnId::parse("t").unwrap(),
        mode_display_name: "General".into(),
        primary_output_text: "Hello \"you\"".into(),
        files: vec![],
        tool_results: vec![],
        user_warnings: vec![],
        usage: None,
    };
    let full = FinalResponse {
        files: vec![FileRef {
            name: "a.csv".into(),
            mime_type: "text/csv".into(),
            url: "https://h/files/1".into(),
            size_bytes: 3,
            content_hash: "abc".into(),
            description: None,
            content_expires: Some("2026-01-01T00:00:00Z".into()),
        }],
        tool_results: vec![ToolResult {
            tool_call_id: "c".into(),
            execution_ms: 2,
            outcome: ToolOutcome::Result("{}".into()),
        }],
        user_warnings: vec!["Careful.".into()],
        usage: Some(Usage {
            prompt_tokens: 1,
            cached_tokens: 2,
            completion_tokens: 3,
            reasoning_tokens: 4,
            total_tokens: 5,
        }),
        ..bare.clone()
    };
    let bare_json = r#"{"Kind":"final","SessionId":"s","TurnId":"t","ModeDisplayName":"General","PrimaryOutputText":"Hello \"you\""}"#;
    let full_json = bare_json.replace(
        r#"\"you\""}"#,
        concat!(
            r#"\"you\"","Files":[{"Name":"a.csv","MimeType":"text/csv","Url":"https://h/files/1","SizeBytes":3,"ContentHash":"abc","ContentExpires":"2026-01-01T00:00:00Z"}],"#,
            r#""ToolResults":[{"ToolCallId":"c","ExecutionMs":2,"ResultJson":"{}"}],"UserWarnings":["Careful."],"#,
            r#""Usage":{"PromptTokens":1,"CachedTokens":2,"CompletionTokens":3,"ReasoningTokens":4,"TotalTokens":5}}"#
        ),
    );
    for (response, json) in [(bare, bare_json), (full, &full_json)] {
        is_written_as(&AgentExecuteResponse::Final(response), json);
    }
}

#[test]
fn a_tool_continuation_response_has_exactly_the_published_members() {
    assert_eq!(ToolCalls::new(vec![]), None);
    let calls = ToolCalls::new(vec![ToolCall {
        tool_call_id: "c".into(),
        name: "ls".into(),
        arguments_json: "{}".into(),
    }]);
    let bare = ToolContinuationResponse {
        session_id: SessionId::parse("s").unwrap(),
        turn_id: TurnId::parse("t").unwrap(),
        mode_display_name: "General".into(),
        tool_calls: calls.unwrap(),
        tool_continuation_message: None,
    };
    let json = r#"{"Kind":"client_tool_continuation","SessionId":"s","TurnId":"t","ModeDisplayName":"General","ToolCalls":[{"ToolCallId":"c","Name":"ls","ArgumentsJson":"{}"}]}"#;
    is_written_as(&AgentExecuteResponse::ClientToolContinuation(bare.clone()), json);
    is_written_as(
        &AgentExecuteResponse::ClientToolContinuation(ToolContinuationResponse {
            tool_continuation_message: Some("Looking.".into()),
            ..bare
        }),
        &json.replace("]}", r#"],"ToolContinuationMessage":"Looking."}"#),
    );
}

fn is_written_as(response: &AgentExecuteResponse, json: &str) {
    assert_eq!(serde_json::to_string(response).unwrap(), json);
    assert_eq!(
        InvokeResult::success(response, vec![]).to_json(),
        format!(r#"{{"Successful":true,"Result":{json},"Errors":[],"Warnings":[]}}"#)
    );
}

/// Checks any body: an accepted one goes to its own session; a refused one has at least one fault,
/// each the caller's, within the bound, and readable back.
fn holds_for(body: &[u8]) {
    match parse(body) {
        Ok(request) => {
            assert_eq!(fingerprint(&request).len(), 64);
            assert_eq!(peek_session_id(body).as_ref(), Some(request.session_id()));
        }
        Err(faults) => {
            assert!((1..=101).contains(&faults.len()));
            for fault in &faults {
                assert_eq!(fault.http_status(), 400, "{fault}");
                let json = serde_json::to_string(fault).unwrap();
                assert_eq!(&serde_json::from_str::<Fault>(&json).unwrap(), fault);
                if let (Some(path), Ok(value)) =
                    (&fault.path, serde_json::from_slice::<Value>(body))
                    && fault.code.as_str() != "missing_field"
                    && !path.contains('…')
                {
                    assert!(value.pointer(path).is_some(), "{path} is not in the body");
                }
            }
        }
    }
}

/// Any JSON value of moderate size, with the contract's own names among the members.
fn any_json() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("SessionId".to_owned()),
        Just("TurnId".to_owned()),
        Just("Instruction".to_owned()),
        Just("InputArtifacts".to_owned()),
        Just("Contents".to_owned()),
        Just("Encoding".to_owned()),
        Just("RagScope".to_owned()),
        Just("Conditions".to_owned()),
        Just("ToolResults".to_owned()),
        Just("ResultJson".to_owned()),
        Just("ToolsJson".to_owned()),
        "\\PC{0,12}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from),
        Just(json!("[{\"type\":\"function\",\"name\":\"n\"}]")),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    // The printed seed reproduces a failure; no file is written beside the tests.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_flipped_bit_never_breaks_the_parser(
        flips in prop::collection::vec((0..FULL_TURN.len(), 0..8_u32), 1..4)
    ) {
        let mut body = FULL_TURN.as_bytes().to_vec();
        for (at, bit) in flips {
            body[at] ^= 1 << bit;
        }
        holds_for(&body);
    }

    #[test]
    fn a_truncated_body_is_malformed(length in 0..FULL_TURN.len()) {
        let faults = parse(&FULL_TURN.as_bytes()[..length]).unwrap_err();
        prop_assert_eq!(faults[0].code.as_str(), "malformed_json");
        prop_assert_eq!(faults.len(), 1);
    }

    #[test]
    fn a_spliced_value_never_breaks_the_parser(
        member in 0..16_usize, value in any_json()
    ) {
        let mut body: Value = serde_json::from_str(FULL_TURN).unwrap();
        let members = body.as_object_mut().unwrap();
        let name = members.keys().nth(member % members.len()).unwrap().clone();
        members.insert(name, value);
        holds_for(body.to_string().as_bytes());
    }

    #[test]
    fn any_json_never_breaks_the_parser(body in any_json()) {
        holds_for(body.to_string().as_bytes());
    }

    #[test]
    fn any_bytes_never_break_the_parser(body in prop::collection::vec(any::<u8>(), 0..200)) {
        holds_for(&body);
    }
}
