//! Layer 3, Server Tools: runs what the server runs, one call at a time (AGN-027 §4, layer 3;
//! interface §6).
//!
//! Architecture Invariant: it knows neither the model service nor the store. It requests a mode change;
//! the reasoner applies it.

mod http_tool;
mod invocation;
mod mode_tools;

use crate::catalog::{AGENT_CHANGE_MODE, AGENT_LIST_MODES, Catalog, OnError, ServerTool};
use crate::contract::{ErrorCode, Fault, ToolOutcome, ToolResult};
use crate::files::{FileLinks, OutputFile, keep_files};
use crate::outbound::ServiceFailure;
use crate::ports::Platform;
use http_tool::ToolFailure;

pub use invocation::ToolInvocation;
pub use mode_tools::RequestedMode;

/// The largest result, in bytes. It goes to the model and into the transcript.
const MAX_RESULT_BYTES: usize = 1_000_000;

/// The result of a call, and its effects beside the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRun {
    /// For the model, the transcript and the final response.
    pub result: ToolResult,
    /// Files in the tool's response; the result holds references to them.
    pub files: Vec<OutputFile>,
    /// The mode that the session changes to.
    pub new_mode: Option<RequestedMode>,
}

/// Runs one server tool.
///
/// # Errors
/// `server_tool_failed` when the tool failed and its definition says that this fails the turn.
pub async fn run<P: Platform>(
    platform: &P,
    catalog: &Catalog,
    links: FileLinks<'_>,
    invocation: ToolInvocation<'_>,
) -> Result<ToolRun, Fault> {
    let started = platform.now_ms();
    let mut files = Vec::new();
    let (outcome, new_mode) = match invocation.name {
        AGENT_CHANGE_MODE => mode_tools::change_mode(catalog, invocation.arguments),
        AGENT_LIST_MODES => (mode_tools::list_modes(catalog), None),
        name => match catalog.server_tool(name) {
            None => {
                let gone = format!("The tool {name} is no longer available.");
                (ToolOutcome::Error(gone), None)
            }
            Some(tool) => match call_http_tool(platform, tool, links, invocation).await {
                Ok((result, made)) => {
                    files = made;
                    (ToolOutcome::Result(result), None)
                }
                Err(failure)
                    if tool.on_error == OnError::ReportToModel || failure.caused_by_model() =>
                {
                    (ToolOutcome::Error(failure.to_string()), None)
                }
                Err(failure) => {
                    return Err(Fault::new(
                        ErrorCode::ServerToolFailed,
                        format!("The server tool {name} failed: {failure}"),
                    )
                    .with("ToolName", name)
                    .with("ToolCallId", invocation.call_id));
                }
            },
        },
    };
    Ok(ToolRun {
        result: ToolResult {
            tool_call_id: invocation.call_id.to_owned(),
            execution_ms: platform.now_ms().saturating_sub(started),
            outcome,
        },
        files,
        new_mode,
    })
}

/// Calls an HTTP tool, and keeps the files in its response.
async fn call_http_tool<P: Platform>(
    platform: &P,
    tool: &ServerTool,
    links: FileLinks<'_>,
    invocation: ToolInvocation<'_>,
) -> Result<(String, Vec<OutputFile>), ToolFailure> {
    let response = http_tool::call(platform, tool, invocation).await?;
    let (result, files) = keep_files(platform, links, response).await?;
    if result.len() > MAX_RESULT_BYTES {
        return Err(ServiceFailure::TooLarge(MAX_RESULT_BYTES).into());
    }
    Ok((result, files))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::contract::{SessionId, TurnId};
    use crate::ports::double::{Answer, Double};

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

    fn ran(double: &Double, name: &str, arguments: &str) -> Result<ToolRun, Fault> {
        let invocation = ToolInvocation {
            session_id: &SessionId::parse("s").unwrap(),
            turn_id: &TurnId::parse("t").unwrap(),
            call_id: "call_1",
            name,
            arguments,
        };
        let links = FileLinks { origin: "https://edge.example", ttl_s: 60 };
        double.run(run(double, &catalog(), links, invocation))
    }

    fn result(execution_ms: u64, outcome: ToolOutcome) -> ToolRun {
        let result = ToolResult { tool_call_id: "call_1".to_owned(), execution_ms, outcome };
        ToolRun { result, files: Vec::new(), new_mode: None }
    }

    fn error(message: &str) -> ToolOutcome {
        ToolOutcome::Error(message.to_owned())
    }

    #[test]
    fn a_result_is_kept_as_the_tool_wrote_it_with_the_time_it_took() {
        let double = Double::answering([Answer::new(200, r#"{"b":1,"a":2.0}"#).after(70)]);
        let outcome = ToolOutcome::Result(r#"{"b":1,"a":2.0}"#.to_owned());
        assert_eq!(ran(&double, "strict", "{}"), Ok(result(70, outcome)));
    }

    #[test]
    fn a_failing_tool_fails_the_turn_unless_its_definition_reports_it_to_the_model() {
        let failing = || Double::answering([Answer::new(503, "sk-live-1").after(5)]);
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
            Ok(result(5, error("it answered with status 503")))
        );
    }

    #[test]
    fn what_the_model_did_wrong_never_fails_the_turn() {
        for name in ["strict", "lenient"] {
            assert_eq!(
                ran(&Double::default(), name, "{"),
                Ok(result(0, error("its arguments are not valid JSON")))
            );
        }
        assert_eq!(
            ran(&Double::default(), "gone", "{}"),
            Ok(result(0, error("The tool gone is no longer available.")))
        );
    }

    #[test]
    fn the_built_in_tools_run_without_any_request() {
        let double = Double::default();
        let change = ran(&double, AGENT_CHANGE_MODE, r#"{"mode":"general","reason":"r"}"#).unwrap();
        let mode = RequestedMode { key: "general".to_owned(), reason: "r".to_owned() };
        assert_eq!(change.new_mode, Some(mode));
        assert_eq!(ran(&double, AGENT_LIST_MODES, "").unwrap().new_mode, None);
        assert_eq!(double.sent(), []);
    }
}
