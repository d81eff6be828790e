//! HTTP tools (interface §6): one `POST` with the call, one JSON response.
//!
//! A tool's address, headers and secrets never appear in a failure: the client may see it.

use serde::Serialize;
use serde_json::value::RawValue;

use super::invocation::ToolInvocation;
use crate::catalog::ServerTool;
use crate::files::FileFailure;
use crate::outbound::{ServiceFailure, post};
use crate::ports::Platform;

/// The largest response of a tool, in bytes: a result, and files that are kept apart from it.
const MAX_RESPONSE_BYTES: usize = 16_000_000;

/// Why a tool gave no result. The client and the model may read the text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ToolFailure {
    #[error("its arguments are not valid JSON")]
    Arguments,
    #[error(transparent)]
    Service(#[from] ServiceFailure),
    #[error(transparent)]
    Files(#[from] FileFailure),
}

impl ToolFailure {
    /// The model called wrongly; the tool itself did not fail.
    pub(super) fn caused_by_model(&self) -> bool {
        matches!(self, Self::Arguments)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ToolRequest<'a> {
    tool_call_id: &'a str,
    name: &'a str,
    arguments: &'a RawValue,
    session_id: &'a str,
    turn_id: &'a str,
}

/// Calls the tool and gives the JSON text of its response.
pub(super) async fn call<P: Platform>(
    platform: &P,
    tool: &ServerTool,
    invocation: ToolInvocation<'_>,
) -> Result<String, ToolFailure> {
    let body = body(invocation)?;
    let http = &tool.http;
    Ok(post(platform, &http.url, &http.headers, http.timeout_ms, body, MAX_RESPONSE_BYTES).await?)
}

fn body(invocation: ToolInvocation<'_>) -> Result<String, ToolFailure> {
    let arguments = match invocation.arguments.trim() {
        // Some services write nothing for a call without arguments.
        "" => "{}",
        arguments => arguments,
    };
    serde_json::to_string(&ToolRequest {
        tool_call_id: invocation.call_id,
        name: invocation.name,
        arguments: serde_json::from_str(arguments).map_err(|_| ToolFailure::Arguments)?,
        session_id: invocation.session_id.as_str(),
        turn_id: invocation.turn_id.as_str(),
    })
    .map_err(|_| ToolFailure::Arguments)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::Catalog;
    use crate::contract::{SessionId, TurnId};
    use crate::ports::double::{Answer, Double, Piece};
    use crate::ports::{HttpMethod, HttpRequest};

    const ADDRESS: &str = "https://tools.example:8443/lookup?v=1";

    /// Runs the tool with those arguments.
    fn called_with(double: &Double, arguments: &str) -> Result<String, ToolFailure> {
        let catalog = Catalog::parse(
            &json!({
                "AgentContexts": { "a": {} },
                "ConversationContexts": { "c": { "AgentContextId": "a", "BootPrompt": "Hi." } },
                "Modes": [ { "Key": "m", "DisplayName": "M" } ],
                "ServerTools": [ {
                    "Name": "lookup", "Description": "Looks up.", "Parameters": {},
                    "Http": {
                        "Url": ADDRESS, "TimeoutMs": 500,
                        "Headers": { "Authorization": "Bearer ${LOOKUP_KEY}" }
                    }
                } ]
            })
            .to_string(),
        )
        .unwrap();
        let invocation = ToolInvocation {
            session_id: &SessionId::parse("s").unwrap(),
            turn_id: &TurnId::parse("t").unwrap(),
            call_id: "call_1",
            name: "lookup",
            arguments,
        };
        double.run(call(double, catalog.server_tool("lookup").unwrap(), invocation))
    }

    fn answering(answers: impl IntoIterator<Item = Answer>) -> Double {
        Double::answering(answers).with_secret("LOOKUP_KEY", "sk-tool")
    }

    fn answered(answer: Answer) -> Result<String, ToolFailure> {
        called_with(&answering([answer]), "{}")
    }

    fn request_to(url: &str, arguments: &str) -> HttpRequest {
        HttpRequest {
            method: HttpMethod::Post,
            url: url.to_owned(),
            headers: vec![("Authorization".to_owned(), "Bearer sk-tool".to_owned())],
            body: format!(
                r#"{{"ToolCallId":"call_1","Name":"lookup","Arguments":{arguments},"SessionId":"s","TurnId":"t"}}"#
            ),
        }
    }

    #[test]
    fn a_call_is_posted_with_its_arguments_as_written_and_its_secrets_filled_in() {
        for (arguments, sent) in
            [(r#" {"q": 1.50, "a": "é"} "#, r#"{"q": 1.50, "a": "é"}"#), ("", "{}"), (" \n", "{}")]
        {
            let double = answering([Answer::new(200, " { \"b\":1, \"a\":2.0 }\n")]);
            assert_eq!(called_with(&double, arguments).unwrap(), r#"{ "b":1, "a":2.0 }"#);
            assert_eq!(double.sent(), [request_to(ADDRESS, sent)]);
        }
    }

    #[test]
    fn arguments_that_are_no_json_are_the_model_s_fault_and_are_not_sent() {
        for arguments in ["{", "{} {}", "nothing", "{\"q\":01}"] {
            let double = answering([Answer::new(200, "{}")]);
            let failure = called_with(&double, arguments).unwrap_err();
            assert_eq!(failure, ToolFailure::Arguments, "{arguments}");
            assert!(failure.caused_by_model());
            assert_eq!(double.sent(), []);
        }
    }

    #[test]
    fn a_secret_that_is_missing_is_named_and_nothing_is_sent() {
        let double = Double::answering([Answer::new(200, "{}")]);
        let failure = called_with(&double, "{}").unwrap_err();
        assert_eq!(failure.to_string(), "the secret LOOKUP_KEY is not set in this deployment");
        assert!(!failure.caused_by_model());
        assert_eq!(double.sent(), []);
    }

    #[test]
    fn a_redirect_that_keeps_the_method_is_followed_with_the_same_call() {
        let to = |status, location| Answer::new(status, "").with("location", location);
        let hops = [
            to(307, "/a"),
            to(308, "https://tools.example:8443/b"),
            to(307, "/c"),
            Answer::new(200, "1"),
        ];
        let double = answering(hops);
        assert_eq!(called_with(&double, "{}").unwrap(), "1");
        let urls = [
            ADDRESS,
            "https://tools.example:8443/a",
            "https://tools.example:8443/b",
            "https://tools.example:8443/c",
        ];
        assert_eq!(double.sent(), urls.map(|url| request_to(url, "{}")));
    }

    #[test]
    fn a_redirect_to_elsewhere_in_circles_or_to_a_get_is_not_followed() {
        let elsewhere = Answer::new(307, "").with("location", "https://evil.example/lookup");
        let circle = Answer::new(308, "").with("location", "/lookup");
        let found = Answer::new(302, "").with("location", "/lookup");
        for (answer, failure, requests) in [
            (elsewhere, ToolFailure::Service(ServiceFailure::RedirectedAway), 1),
            (Answer::new(307, ""), ToolFailure::Service(ServiceFailure::RedirectedAway), 1),
            (circle, ToolFailure::Service(ServiceFailure::Unreachable), 4),
            (found, ToolFailure::Service(ServiceFailure::Status(302)), 1),
        ] {
            let double = answering(std::iter::repeat_n(answer, 9));
            assert_eq!(called_with(&double, "{}"), Err(failure));
            assert_eq!(double.sent().len(), requests);
        }
    }

    #[test]
    fn an_answer_may_be_as_large_as_the_cap_and_no_larger() {
        let of = |bytes: usize| {
            // In two pieces, of which each is small enough.
            let text = format!("\"{}\"", "x".repeat(bytes - 2));
            let (first, rest) = text.split_at(bytes / 2);
            answered(Answer::in_pieces(200, [first, rest].map(Piece::text)))
        };
        assert_eq!(of(MAX_RESPONSE_BYTES).map(|answer| answer.len()), Ok(MAX_RESPONSE_BYTES));
        assert_eq!(
            of(MAX_RESPONSE_BYTES + 1),
            Err(ToolFailure::Service(ServiceFailure::TooLarge(MAX_RESPONSE_BYTES)))
        );
    }

    #[test]
    fn the_time_out_holds_for_the_whole_exchange() {
        let late_body = |ms| {
            let pieces = [Piece::text("{"), Piece::Silence(ms), Piece::text("}")];
            Answer::in_pieces(200, pieces).after(250)
        };
        assert_eq!(answered(late_body(250)).as_deref(), Ok("{}"));
        assert_eq!(
            answered(late_body(251)),
            Err(ToolFailure::Service(ServiceFailure::TimedOut(500)))
        );
        assert_eq!(
            answered(Answer::new(200, "{}").after(501)),
            Err(ToolFailure::Service(ServiceFailure::TimedOut(500)))
        );
    }

    #[test]
    fn what_is_no_json_under_a_success_status_is_no_result() {
        let broken = Answer::in_pieces(200, [Piece::text("{"), Piece::Broken]);
        let latin = Answer::in_pieces(200, [Piece::Bytes(b"\"\xe9\"".to_vec())]);
        for (answer, failure) in [
            (Answer::new(200, "<html>"), ToolFailure::Service(ServiceFailure::NotJson)),
            (Answer::new(204, ""), ToolFailure::Service(ServiceFailure::NotJson)),
            (Answer::new(200, "{} {}"), ToolFailure::Service(ServiceFailure::NotJson)),
            (latin, ToolFailure::Service(ServiceFailure::NotJson)),
            (broken, ToolFailure::Service(ServiceFailure::Unreachable)),
            (Answer::new(404, "{}"), ToolFailure::Service(ServiceFailure::Status(404))),
            (Answer::new(500, "{}"), ToolFailure::Service(ServiceFailure::Status(500))),
        ] {
            assert_eq!(answered(answer), Err(failure));
        }
        assert_eq!(
            called_with(&answering([]), "{}"),
            Err(ToolFailure::Service(ServiceFailure::Unreachable))
        );
    }
}
