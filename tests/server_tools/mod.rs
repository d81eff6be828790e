//! Runs of server tools (AGN-027 §4, layer 3; interface §5 and §6): results, failures, and the tools
//! that are built in.

mod http_tool;

use std::cell::Cell;

use aptix_edge::catalog::{BuiltInTool, Catalog};
use aptix_edge::contract::{ErrorCode, Fault, SessionId, ToolOutcome, ToolResult, TurnId};
use aptix_edge::files::FileLinks;
use aptix_edge::server_tools::{RequestedMode, ToolInvocation, ToolRun, run};
use bed::{HttpReply, LoneStep};
use serde_json::json;

fn catalog() -> Catalog {
    let tool = |name: &str, on_error: &str| {
        json!({
            "Name": name, "Description": "Looks up.", "Parameters": {}, "OnError": on_error,
            "Http": { "Url": "https://tools.example/" }
        })
    };
    Catalog::parse(
        &json!({
            "AgentContexts": { "a": {} },
            "ConversationContexts": { "c": { "AgentContextId": "a", "BootPrompt": "Hi." } },
            "Modes": [ { "Key": "general", "DisplayName": "General" } ],
            "ServerTools": [tool("strict", "FailTurn"), tool("lenient", "ReportToModel")]
        })
        .to_string(),
    )
    .unwrap()
}

/// Runs a tool of [`catalog`].
fn ran(step: &LoneStep, name: &str, arguments: &str) -> Result<ToolRun, Fault> {
    ran_of(&catalog(), step, name, arguments)
}

fn ran_of(
    catalog: &Catalog,
    step: &LoneStep,
    name: &str,
    arguments: &str,
) -> Result<ToolRun, Fault> {
    let invocation = ToolInvocation {
        session_id: &SessionId::parse("s").unwrap(),
        turn_id: &TurnId::parse("t").unwrap(),
        tool_call_id: "call_1",
        name,
        arguments,
        user: None,
        actor: None,
    };
    let links = FileLinks { origin: "https://edge.example", ttl_s: 60 };
    let given = Cell::new(0);
    step.run(run(&step.platform, catalog, links, &given, invocation, None, None))
}

/// A run whose model gets an error of that type.
fn failed(execution_ms: u64, error_type: &'static str, message: &str) -> ToolRun {
    let run = result(execution_ms, error(message));
    ToolRun { error_type: Some(error_type.into()), ..run }
}

fn result(execution_ms: u64, outcome: ToolOutcome) -> ToolRun {
    let result = ToolResult { tool_call_id: "call_1".to_owned(), execution_ms, outcome };
    let (files, new_mode, error_type, mcp_code) = Default::default();
    ToolRun { result, files, new_mode, error_type, mcp_code }
}

fn error(message: &str) -> ToolOutcome {
    ToolOutcome::Error(message.to_owned())
}

#[test]
fn a_result_is_kept_as_the_tool_wrote_it_with_the_time_it_took() {
    let step = LoneStep::replying([HttpReply::new(200, r#"{"b":1,"a":2.0}"#).after(70)]);
    let outcome = ToolOutcome::Result(r#"{"b":1,"a":2.0}"#.to_owned());
    assert_eq!(ran(&step, "strict", "{}"), Ok(result(70, outcome)));
}

#[test]
fn a_failing_tool_fails_the_turn_unless_its_definition_reports_it_to_the_model() {
    let failing = || LoneStep::replying([HttpReply::new(503, "sk-live-1").after(5)]);
    assert_eq!(
        ran(&failing(), "strict", "{}"),
        Err(Fault::new(
            ErrorCode::ServerToolFailed,
            "The server tool strict failed: it answered with status 503"
        )
        .with("ToolName", "strict")
        .with("ToolCallId", "call_1"))
    );
    assert_eq!(
        ran(&failing(), "lenient", "{}"),
        Ok(failed(5, "503", "it answered with status 503"))
    );
}

#[test]
fn a_call_that_the_model_wrote_wrong_never_fails_the_turn() {
    for name in ["strict", "lenient"] {
        assert_eq!(
            ran(&LoneStep::default(), name, "{"),
            Ok(failed(0, "arguments", "its arguments are not valid JSON"))
        );
    }
    assert_eq!(
        ran(&LoneStep::default(), "gone", "{}"),
        Ok(failed(0, "tool_error", "The tool gone is no longer available."))
    );
}

#[test]
fn the_built_in_tools_run_without_any_request() {
    let step = LoneStep::default();
    let change =
        ran(&step, BuiltInTool::ChangeMode.as_str(), r#"{"mode":"general","reason":"r"}"#).unwrap();
    let mode = RequestedMode { key: "general".to_owned(), reason: "r".to_owned(), branch: false };
    assert_eq!(change.new_mode, Some(mode));
    assert_eq!(ran(&step, BuiltInTool::ListModes.as_str(), "").unwrap().new_mode, None);
    assert_eq!(step.sent(), []);
}
