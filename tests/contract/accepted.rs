//! Bodies that are accepted, and the requests that they become.

use aptix_edge::contract::{
    ExecuteRequest, SessionId, ToolContinuation, ToolOutcome, ToolResult, TurnId, parse,
    peek_session_id,
};

use super::{FULL_TURN, full_turn, report, turn, turn_with};

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
fn what_a_client_writes_for_a_member_that_is_not_set_changes_no_request() {
    let results = r#""ToolResults":[{"ToolCallId":"c","ExecutionMs":0,"ResultJson":"1"}]"#;
    let submitted = parse(turn(results).as_bytes()).unwrap();
    let asked = parse(turn_with("\"Streaming\":false").as_bytes()).unwrap();
    assert!(matches!(submitted, ExecuteRequest::ToolContinuation(_)));
    assert!(matches!(asked, ExecuteRequest::UserTurn(_)));
    for unset in ["null", "[]", "[ \n]", "false"] {
        let user_turn = turn_with(&format!("\"ToolResults\":{unset}"));
        assert_eq!(parse(user_turn.as_bytes()).as_ref(), Ok(&asked), "{unset}");
        let members = [
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
            "OutputSchema",
            "OutputSchemaName",
        ];
        let members = members.map(|name| format!("\"{name}\":{unset}")).join(",");
        let continuation = turn(&format!("{members},{results}"));
        assert_eq!(parse(continuation.as_bytes()).as_ref(), Ok(&submitted), "{unset}");
    }
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
fn a_session_is_found_in_front_of_whatever_follows() {
    let peek = |body: &str| peek_session_id(body.as_bytes()).map(|id| id.to_string());
    assert_eq!(peek(r#"{"A":[{"SessionId":"no"}],"SessionId":"yes""#), Some("yes".into()));
    assert_eq!(peek("\u{feff}{\"SessionId\":\"yes\"}"), Some("yes".into()));
    assert_eq!(peek(r#"{"Session\u0049d":"yes"}"#), Some("yes".into()));
    for none in ["", "[]", "{}", r#"{"SessionId":5}"#, r#"{"SessionId":"a b"}"#, r#"{"A":}"#] {
        assert_eq!(peek(none), None, "{none}");
    }
}
