//! Bodies that are refused: every violation at once, with its place and its remedy.

use aptix_edge::contract::parse;
use serde_json::json;

use super::{report, turn, turn_with};

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
            "forbidden_field /Mode | Mode belongs to the server; remove it, and choose the mode of a new session by its ConversationContextId.",
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
            "invalid_field /TurnId | TurnId must be 1 to 128 characters of: A-Z a-z 0-9 . _ : -, and neither . nor .. alone.",
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
        r#"{"ToolResults":[ ]}"#,
        r#"{"ToolResults":false}"#,
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
    let use_instead = [
        ("Mode", ", and choose the mode of a new session by its ConversationContextId"),
        ("ModeDisplayName", ""),
        ("ConversationId", ", and name the conversation by its SessionId"),
        ("ResponseContinuationId", ""),
        ("PreviousResponseId", ""),
        ("previous_response_id", ""),
        ("CorrelationId", ""),
        ("Model", ""),
        ("Kind", ""),
    ];
    for (name, rest) in use_instead {
        let expected =
            [format!("forbidden_field /{name} | {name} belongs to the server; remove it{rest}.")];
        for value in ["1", "null", "[]", "false", "\"\""] {
            assert_eq!(report(&turn_with(&format!("\"{name}\":{value}"))), expected);
            let results = r#""ToolResults":[{"ToolCallId":"c","ExecutionMs":1,"ResultJson":"1"}]"#;
            assert_eq!(report(&turn(&format!("{results},\"{name}\":{value}"))), expected);
        }
    }
}

#[test]
fn a_tool_continuation_takes_nothing_but_its_results() {
    let body = turn(
        r#""Instruction":"x","InputArtifacts":[1],"ClipboardImages":{},"RagScope":{},
           "SolutionContextText":"","WorkspaceId":"","Repo":"","Language":"","Streaming":true,
           "AgentContextId":"","ConversationContextId":"","ToolsJson":"[]","ToolChoiceName":"x",
           "ToolResult":1,"ToolResults":5"#,
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
    expected.push("invalid_field /ToolResults | ToolResults must be an array.".into());
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
fn a_schema_is_an_object_of_json_of_a_bounded_length_and_its_name_stands_beside_it_alone() {
    let told = |members: &str| report(&turn_with(members));
    for (text, problem) in [
        (
            "no",
            "must hold a JSON Schema, which is an object; it is not JSON (expected ident at line 1 column 2)",
        ),
        ("[]", "must hold a JSON Schema, which is an object"),
        ("null", "must hold a JSON Schema, which is an object"),
        (
            r#"{"a":1e400}"#,
            "holds a number beyond the range of a double, half a character in an escape, or more than 127 levels; write it without",
        ),
        (r#"{"a":{"b":1,"b":2}}"#, "names a member of one object twice; name it once"),
    ] {
        let member = format!("\"OutputSchema\":{}", json!(text));
        let expected = format!("invalid_field /OutputSchema | OutputSchema {problem}.");
        let found = told(&member);
        assert!(found.len() == 1 && (found[0] == expected || text == "no"), "{found:?}");
        assert!(found[0].starts_with("invalid_field /OutputSchema | "));
    }
    // 65,536 bytes, and one more: the bound is on bytes, not on characters.
    let of_bytes = |bytes: usize| {
        let schema = format!("{{\"title\":\"{}\"}}", "é".repeat((bytes - 12) / 2));
        format!("\"OutputSchema\":{}", json!(schema))
    };
    assert!(parse(turn_with(&of_bytes(65_536)).as_bytes()).is_ok());
    assert_eq!(
        told(&of_bytes(65_538)),
        ["invalid_field /OutputSchema | OutputSchema must be at most 65536 bytes long, not 65538."]
    );
    assert_eq!(
        told(r#""OutputSchemaName":"a","OutputSchema":null"#),
        [
            "invalid_field /OutputSchemaName | OutputSchemaName names no schema; send OutputSchema beside it, or remove it."
        ]
    );
    for name in ["", "a b", "é", &"a".repeat(65)] {
        let members = format!("\"OutputSchemaName\":\"{name}\",\"OutputSchema\":\"{{}}\"");
        let found = told(&members);
        assert!(found.len() == 1, "{found:?}");
        assert!(found[0].starts_with("invalid_field /OutputSchemaName | "), "{found:?}");
    }
    let results = r#""ToolResults":[{"ToolCallId":"c","ExecutionMs":1,"ResultJson":"1"}]"#;
    for member in ["\"OutputSchema\":\"{}\"", "\"OutputSchemaName\":\"a\""] {
        let found = report(&turn(&format!("{results},{member}")));
        assert!(found.len() == 1 && found[0].starts_with("forbidden_field /OutputSchema"));
    }
    let steer = r#"{"SteerId":"a","Instruction":"x","OutputSchema":"{}"}"#;
    let fork = r#"{"SessionId":"a","OutputSchema":"{}"}"#;
    let refused = [
        aptix_edge::contract::parse_steer(steer.as_bytes()).unwrap_err(),
        aptix_edge::contract::parse_fork(fork.as_bytes()).unwrap_err(),
    ];
    for faults in refused {
        assert_eq!(faults[0].code.as_str(), "forbidden_field");
        assert_eq!(faults[0].path.as_deref(), Some("/OutputSchema"));
    }
}

#[test]
fn an_identifier_is_named_by_its_member() {
    let fork = r#"{"SessionId":"a","AfterTurnId":".."}"#;
    let faults = aptix_edge::contract::parse_fork(fork.as_bytes()).unwrap_err();
    assert!(faults[0].message.starts_with("AfterTurnId must be 1 to 128 "), "{}", faults[0]);
    assert_eq!(faults[0].path.as_deref(), Some("/AfterTurnId"));
}
