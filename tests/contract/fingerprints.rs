//! Whether two bodies are the same submission.

use aptix_edge::contract::{fingerprint, parse};

use super::{full_turn, turn, turn_with};

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
        turn_with(r#""ToolsJson":"[{\"type\":\"function\",\"name\":\"n\",\"strict\":true}]""#),
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
fn a_schema_counts_as_its_value_and_with_its_name() {
    let fingerprint = |member: &str| fingerprint(&parse(turn_with(member).as_bytes()).unwrap());
    let plain = fingerprint(r#""OutputSchema":"{\"a\":1,\"b\":[{\"c\":2,\"d\":3}]}""#);
    for same in [
        r#""OutputSchema":" { \"b\" : [ {\"d\":3.0,\"c\":2} ],\"\\u0061\":10e-1 } ""#,
        r#""OutputSchemaName":"answer","OutputSchema":"{\"a\":1,\"b\":[{\"c\":2,\"d\":3}]}""#,
    ] {
        assert_eq!(fingerprint(same), plain, "{same}");
    }
    for other in [
        r#""OutputSchema":"{\"a\":1,\"b\":[{\"c\":2,\"d\":4}]}""#,
        r#""OutputSchema":"{\"a\":1,\"b\":[{\"c\":2,\"d\":\"3\"}]}""#,
        r#""OutputSchemaName":"b","OutputSchema":"{\"a\":1,\"b\":[{\"c\":2,\"d\":3}]}""#,
        r#""OutputSchema":null"#,
    ] {
        assert_ne!(fingerprint(other), plain, "{other}");
    }
}
