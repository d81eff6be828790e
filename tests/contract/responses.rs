//! The exact JSON of responses.

use aptix_edge::contract::{
    AgentExecuteResponse, FileRef, FinalResponse, InvokeResult, SessionId, ToolCall, ToolCalls,
    ToolContinuationResponse, ToolOutcome, ToolResult, TurnId, Usage,
};

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
            estimated: false,
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
        InvokeResult::success(response).to_json(),
        format!(r#"{{"Successful":true,"Result":{json},"Errors":[],"Warnings":[]}}"#)
    );
}
