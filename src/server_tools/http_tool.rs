//! HTTP tools (the interface, section 6): one `POST` with the call, one JSON answer.
//!
//! A tool's address, headers and secrets never appear in a failure: it may reach the client.

use std::pin::pin;

use futures_util::future::{Either, select};
use serde::Serialize;
use serde_json::value::RawValue;

use super::ToolInvocation;
use crate::catalog::HeaderTemplate;
use crate::catalog::{SecretFault, ServerTool};
use crate::pipeline::{HttpFault, HttpMethod, HttpRequest, HttpResponse, Platform, ResponseBody};

/// The largest result, in bytes. It goes to the model and into the transcript.
pub(crate) const MAX_RESULT_BYTES: usize = 1_000_000;

/// The largest answer of a tool that is read, in bytes: a result, and files that are kept apart.
const MAX_ANSWER_BYTES: usize = 16_000_000;

/// Redirects that are followed, to the same host only.
const MAX_REDIRECTS: usize = 3;

/// Why a tool gave no result. The text is meant for the client and the model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ToolFailure {
    #[error("its arguments are not valid JSON")]
    Arguments,
    #[error(transparent)]
    Secret(#[from] SecretFault),
    #[error("it could not be reached")]
    Unreachable,
    #[error("it did not answer within {0} ms")]
    TimedOut(u64),
    #[error("it answered with status {0}")]
    Status(u16),
    #[error("it redirected to another host, which is not followed")]
    RedirectedAway,
    #[error("its answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("its answer is not JSON")]
    NotJson,
    #[error("its answer's {0}")]
    Files(String),
    #[error(
        "it answered with files, and this deployment has no place for them (bucket FILES, secret FILE_LINK_KEY)"
    )]
    NoPlaceForFiles,
    #[error("its files could not be kept")]
    FilesNotKept,
}

impl ToolFailure {
    /// The model can do better the next time; the tool itself did not fail.
    pub(super) fn models_fault(&self) -> bool {
        matches!(self, Self::Arguments)
    }
}

impl From<HttpFault> for ToolFailure {
    fn from(_: HttpFault) -> Self {
        Self::Unreachable
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

/// Calls the tool and gives the JSON text of its answer.
pub(super) async fn call<P: Platform>(
    platform: &P,
    tool: &ServerTool,
    invocation: ToolInvocation<'_>,
) -> Result<String, ToolFailure> {
    let body = body(invocation)?;
    let http = &tool.http;
    post(platform, &http.url, &http.headers, http.timeout_ms, body, MAX_ANSWER_BYTES).await
}

/// Posts JSON to a service of the operator's and gives the JSON text of its answer.
///
/// # Errors
/// Whatever kept the service from a usable answer.
pub(crate) async fn post<P: Platform>(
    platform: &P,
    url: &str,
    headers: &[HeaderTemplate],
    timeout_ms: u64,
    body: String,
    longest: usize,
) -> Result<String, ToolFailure> {
    let mut expanded = Vec::with_capacity(headers.len());
    for header in headers {
        let value = header.value.expand(|name| platform.secret(name))?;
        expanded.push((header.name.clone(), value));
    }
    let request =
        HttpRequest { method: HttpMethod::Post, url: url.to_owned(), headers: expanded, body };
    let answer = pin!(exchange(platform, request, longest));
    let time_out = pin!(platform.sleep(timeout_ms));
    match select(answer, time_out).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => Err(ToolFailure::TimedOut(timeout_ms)),
    }
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

async fn exchange<P: Platform>(
    platform: &P,
    mut request: HttpRequest,
    longest: usize,
) -> Result<String, ToolFailure> {
    for _ in 0..=MAX_REDIRECTS {
        let response = platform.send(request.clone()).await?;
        match response.status {
            200..=299 => return read(response, longest).await,
            // The other redirects would turn the call into a GET.
            307 | 308 => {
                let location = response.header("location").unwrap_or_default();
                request.url =
                    same_host(&request.url, location).ok_or(ToolFailure::RedirectedAway)?;
            }
            status => return Err(ToolFailure::Status(status)),
        }
    }
    Err(ToolFailure::Unreachable)
}

async fn read<B: ResponseBody>(
    mut response: HttpResponse<B>,
    longest: usize,
) -> Result<String, ToolFailure> {
    let mut answer = Vec::new();
    while let Some(chunk) = response.body.chunk(longest).await? {
        if answer.len() + chunk.len() > longest {
            return Err(ToolFailure::TooLarge(longest));
        }
        answer.extend_from_slice(&chunk);
    }
    let text = String::from_utf8(answer).map_err(|_| ToolFailure::NotJson)?;
    match serde_json::from_str::<&RawValue>(&text) {
        Ok(json) => Ok(json.get().to_owned()),
        Err(_) => Err(ToolFailure::NotJson),
    }
}

/// The redirect's target when scheme, host and port stay what they are.
fn same_host(from: &str, location: &str) -> Option<String> {
    let origin = origin(from)?;
    if location.starts_with('/') && !location.starts_with("//") && !location.starts_with("/\\") {
        return Some(format!("{origin}{location}"));
    }
    let there = self::origin(location)?;
    there.eq_ignore_ascii_case(origin).then(|| location.to_owned())
}

/// `scheme://authority` of an absolute URL.
fn origin(url: &str) -> Option<&str> {
    let authority = url.find("://")? + 3;
    let length = url.get(authority..)?.find(['/', '?', '#', '\\']);
    url.get(..length.map_or(url.len(), |length| authority + length))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::Catalog;
    use crate::contract::{SessionId, TurnId};
    use crate::pipeline::double::{Answer, Double, Piece};

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
            assert!(failure.models_fault());
            assert_eq!(double.sent(), []);
        }
    }

    #[test]
    fn a_secret_that_is_missing_is_named_and_nothing_is_sent() {
        let double = Double::answering([Answer::new(200, "{}")]);
        let failure = called_with(&double, "{}").unwrap_err();
        assert_eq!(failure.to_string(), "the secret LOOKUP_KEY is not set in this deployment");
        assert!(!failure.models_fault());
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
            (elsewhere, ToolFailure::RedirectedAway, 1),
            (Answer::new(307, ""), ToolFailure::RedirectedAway, 1),
            (circle, ToolFailure::Unreachable, 4),
            (found, ToolFailure::Status(302), 1),
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
        assert_eq!(of(MAX_ANSWER_BYTES).map(|answer| answer.len()), Ok(MAX_ANSWER_BYTES));
        assert_eq!(of(MAX_ANSWER_BYTES + 1), Err(ToolFailure::TooLarge(MAX_ANSWER_BYTES)));
    }

    #[test]
    fn the_time_out_holds_for_the_whole_exchange() {
        let late_body = |ms| {
            let pieces = [Piece::text("{"), Piece::Silence(ms), Piece::text("}")];
            Answer::in_pieces(200, pieces).after(250)
        };
        assert_eq!(answered(late_body(250)).as_deref(), Ok("{}"));
        assert_eq!(answered(late_body(251)), Err(ToolFailure::TimedOut(500)));
        assert_eq!(answered(Answer::new(200, "{}").after(501)), Err(ToolFailure::TimedOut(500)));
    }

    #[test]
    fn what_is_no_json_under_a_success_status_is_no_result() {
        let broken = Answer::in_pieces(200, [Piece::text("{"), Piece::Broken]);
        let latin = Answer::in_pieces(200, [Piece::Bytes(b"\"\xe9\"".to_vec())]);
        for (answer, failure) in [
            (Answer::new(200, "<html>"), ToolFailure::NotJson),
            (Answer::new(204, ""), ToolFailure::NotJson),
            (Answer::new(200, "{} {}"), ToolFailure::NotJson),
            (latin, ToolFailure::NotJson),
            (broken, ToolFailure::Unreachable),
            (Answer::new(404, "{}"), ToolFailure::Status(404)),
            (Answer::new(500, "{}"), ToolFailure::Status(500)),
        ] {
            assert_eq!(answered(answer), Err(failure));
        }
        assert_eq!(called_with(&answering([]), "{}"), Err(ToolFailure::Unreachable));
    }

    #[test]
    fn a_redirect_is_followed_on_the_same_host_only() {
        let from = "https://tools.example:8443/a?x=1";
        for (location, target) in [
            ("/b", Some("https://tools.example:8443/b")),
            ("https://tools.example:8443/b", Some("https://tools.example:8443/b")),
            ("https://TOOLS.example:8443/b", Some("https://TOOLS.example:8443/b")),
            ("https://tools.example/b", None),
            ("http://tools.example:8443/b", None),
            ("//evil.example/b", None),
            ("/\\evil.example", None),
            ("https://tools.example:8443@evil.example/b", None),
            (
                "https://tools.example:8443\\@evil.example/b",
                Some("https://tools.example:8443\\@evil.example/b"),
            ),
            ("b", None),
            ("", None),
        ] {
            assert_eq!(same_host(from, location).as_deref(), target, "{location}");
        }
    }
}
