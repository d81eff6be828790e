//! HTTP tools (interface §6): the request that the server posts, and the responses that it accepts.

use std::fmt::Display;

use aptix_edge::catalog::{Catalog, HttpService};
use aptix_edge::contract::ToolOutcome;
use aptix_edge::outbound::{ServiceFailure, post};
use aptix_edge::ports::{HttpMethod, HttpRequest};
use bed::{HttpReply, LoneStep, Piece};
use serde_json::json;

use super::ran_of;

const ADDRESS: &str = "https://tools.example:8443/lookup?v=1";

/// The largest response that is read, in bytes: a result, and files that are stored apart from it.
const MAX_RESPONSE_BYTES: usize = 16_000_000;

/// The largest result, in bytes.
const MAX_RESULT_BYTES: usize = 1_000_000;

/// Why a tool gave no result, when its failures fail the turn.
#[derive(Debug, PartialEq)]
enum Failure {
    /// The tool failed, and the turn with it.
    OfTheTool(String),
    /// The model wrote the call wrong, and reads why.
    OfTheModel(String),
}

/// Runs the tool with those arguments.
fn called_with(step: &LoneStep, arguments: &str) -> Result<String, Failure> {
    let catalog = Catalog::parse(
        &json!({
            "AgentContexts": { "a": {} },
            "ConversationContexts": { "c": { "AgentContextId": "a", "BootPrompt": "Hi." } },
            "Modes": [ { "Key": "m", "DisplayName": "M" } ],
            "ServerTools": [ {
                "Name": "lookup", "Description": "Looks up.", "Parameters": {},
                "OnError": "FailTurn", "FileHosts": ["files.example"],
                "Http": {
                    "Url": ADDRESS, "TimeoutMs": 500,
                    "Headers": { "Authorization": "Bearer ${LOOKUP_KEY}" }
                }
            } ]
        })
        .to_string(),
    )
    .unwrap();
    match ran_of(&catalog, step, "lookup", arguments) {
        Ok(run) => match run.result.outcome {
            ToolOutcome::Result(result) => Ok(result),
            ToolOutcome::Error(message) => Err(Failure::OfTheModel(message)),
        },
        Err(fault) => {
            let message = fault.message;
            let why = message.strip_prefix("The server tool lookup failed: ").unwrap();
            Err(Failure::OfTheTool(why.to_owned()))
        }
    }
}

/// The service gave no usable response.
fn status(status: u16) -> ServiceFailure {
    ServiceFailure::Status { status, retry_after_ms: None }
}

fn failed<T>(failure: ServiceFailure) -> Result<T, Failure> {
    Err(of_the_tool(failure))
}

fn of_the_tool(failure: impl Display) -> Failure {
    Failure::OfTheTool(failure.to_string())
}

fn service_with(replies: impl IntoIterator<Item = HttpReply>) -> LoneStep {
    LoneStep::replying(replies).with_secret("LOOKUP_KEY", "sk-tool")
}

fn result_from(reply: HttpReply) -> Result<String, Failure> {
    called_with(&service_with([reply]), "{}")
}

fn request_to(url: &str, arguments: &str) -> HttpRequest {
    HttpRequest {
        method: HttpMethod::Post,
        url: url.to_owned(),
        headers: vec![("Authorization".to_owned(), "Bearer sk-tool".to_owned())],
        body: format!(
            r#"{{"ToolCallId":"call_1","Name":"lookup","Arguments":{arguments},"SessionId":"s","TurnId":"t"}}"#
        ),
        reads: &[],
    }
}

#[test]
fn a_call_is_posted_with_its_arguments_as_written_and_its_secrets_filled_in() {
    for (arguments, sent) in
        [(r#" {"q": 1.50, "a": "é"} "#, r#"{"q": 1.50, "a": "é"}"#), ("", "{}"), (" \n", "{}")]
    {
        let step = service_with([HttpReply::new(200, " { \"b\":1, \"a\":2.0 }\n")]);
        assert_eq!(called_with(&step, arguments).unwrap(), r#"{ "b":1, "a":2.0 }"#);
        assert_eq!(step.sent(), [request_to(ADDRESS, sent)]);
    }
}

#[test]
fn a_result_hands_the_model_data_and_listed_hosts_and_nothing_that_it_would_fetch_elsewhere() {
    let picture = |address: &str| format!(r#"[{{"type":"input_image","image_url":"{address}"}}]"#);
    for address in ["data:image/png;base64,AA==", "https://files.example/a.png"] {
        let result = picture(address);
        assert_eq!(result_from(HttpReply::new(200, &result)), Ok(result));
    }
    let inside = "http://169.254.169.254/latest/meta-data";
    let why = of_the_tool(
        "its result hands the model a picture or a file at a host that FileHosts of its entry does not list",
    );
    let file = format!(r#"[{{"type":"input_file","file_url":"{inside}"}}]"#);
    for result in [picture(inside), file] {
        assert_eq!(result_from(HttpReply::new(200, &result)).unwrap_err(), why);
    }
    let kept = r#"[{"type":"input_file","file_id":"file-1"}]"#;
    let why = "its result names a file of the model service by its file_id, which its entry permits with \"FileIds\": true";
    assert_eq!(result_from(HttpReply::new(200, kept)).unwrap_err(), of_the_tool(why));
    // As data the model reads the address, and nobody fetches it.
    let data = format!(r#"{{"found":{}}}"#, picture(inside));
    assert_eq!(result_from(HttpReply::new(200, &data)), Ok(data));
}

#[test]
fn arguments_that_are_not_json_are_the_model_s_fault_and_are_not_sent() {
    for arguments in ["{", "{} {}", "nothing", "{\"q\":01}"] {
        let step = service_with([HttpReply::new(200, "{}")]);
        let failure = called_with(&step, arguments).unwrap_err();
        let why = "its arguments are not valid JSON".to_owned();
        assert_eq!(failure, Failure::OfTheModel(why), "{arguments}");
        assert_eq!(step.sent(), []);
    }
}

#[test]
fn a_secret_that_is_missing_is_named_and_nothing_is_sent() {
    let step = LoneStep::replying([HttpReply::new(200, "{}")]);
    let failure = called_with(&step, "{}").unwrap_err();
    assert_eq!(failure, of_the_tool("the secret LOOKUP_KEY is not set in this deployment"));
    assert_eq!(step.sent(), []);
}

#[test]
fn a_tool_that_shows_its_secret_shows_it_to_nobody() {
    let echo = r#"{"Authorization":"Bearer sk-tool","again":["\u0073k-tool",1.0]}"#;
    let clean = r#"{"Authorization":"Bearer ***","again":["***",1.0]}"#;
    assert_eq!(result_from(HttpReply::new(200, echo)).as_deref(), Ok(clean));
    // Words of a tool that fails are no part of the failure.
    let failing = HttpReply::new(500, echo).with("location", "/sk-tool");
    assert_eq!(result_from(failing), failed(status(500)));
    let malformed = r#"{"Files":[{"sk-tool":1,"Name":"sk-tool"}]}"#;
    let Err(Failure::OfTheTool(why)) = result_from(HttpReply::new(200, malformed)) else {
        panic!("a file without contents")
    };
    assert!(!why.contains("sk-tool"), "{why}");
}

#[test]
fn a_redirect_that_keeps_the_method_is_followed_with_the_same_call() {
    let to = |status, location| HttpReply::new(status, "").with("location", location);
    let hops = [
        to(307, "/a"),
        to(308, "https://tools.example:8443/b"),
        to(307, "/c"),
        HttpReply::new(200, "1"),
    ];
    let step = service_with(hops);
    assert_eq!(called_with(&step, "{}").unwrap(), "1");
    let urls = [
        ADDRESS,
        "https://tools.example:8443/a",
        "https://tools.example:8443/b",
        "https://tools.example:8443/c",
    ];
    assert_eq!(step.sent(), urls.map(|url| request_to(url, "{}")));
}

#[test]
fn a_redirect_to_elsewhere_in_circles_or_to_a_get_is_not_followed() {
    let elsewhere = HttpReply::new(307, "").with("location", "https://evil.example/lookup");
    let circle = HttpReply::new(308, "").with("location", "/lookup");
    let found = HttpReply::new(302, "").with("location", "/lookup");
    for (reply, failure, requests) in [
        (elsewhere, ServiceFailure::RedirectedAway, 1),
        (HttpReply::new(307, ""), ServiceFailure::RedirectedAway, 1),
        (circle, ServiceFailure::Unreachable, 4),
        (found, status(302), 1),
    ] {
        let step = service_with(std::iter::repeat_n(reply, 9));
        assert_eq!(called_with(&step, "{}"), failed(failure));
        assert_eq!(step.sent().len(), requests);
    }
}

/// A JSON text of that many bytes, in two pieces that each stay below the caps.
fn large(bytes: usize) -> HttpReply {
    let text = format!("\"{}\"", "x".repeat(bytes - 2));
    let (first, rest) = text.split_at(bytes / 2);
    HttpReply::in_pieces(200, [first, rest].map(Piece::text))
}

#[test]
fn a_response_may_be_as_large_as_the_cap_and_no_larger() {
    // A response at the cap is read whole, and is too large for a result.
    assert_eq!(
        result_from(large(MAX_RESPONSE_BYTES)),
        failed(ServiceFailure::TooLarge(MAX_RESULT_BYTES))
    );
    assert_eq!(
        result_from(large(MAX_RESPONSE_BYTES + 1)),
        failed(ServiceFailure::TooLarge(MAX_RESPONSE_BYTES))
    );
    let posted = |bytes| {
        let step = LoneStep::replying([large(bytes)]);
        let service = HttpService { url: ADDRESS.to_owned(), headers: vec![], timeout_ms: 500 };
        let body = "{}".to_owned();
        let asked = post(&step.platform, None, &service, Vec::new(), body, MAX_RESPONSE_BYTES);
        step.run(asked).map(|text| text.len())
    };
    assert_eq!(posted(MAX_RESPONSE_BYTES), Ok(MAX_RESPONSE_BYTES));
    assert_eq!(posted(MAX_RESPONSE_BYTES + 1), Err(ServiceFailure::TooLarge(MAX_RESPONSE_BYTES)));
}

#[test]
fn a_result_may_be_as_large_as_its_cap_and_no_larger() {
    assert_eq!(
        result_from(large(MAX_RESULT_BYTES)).map(|result| result.len()),
        Ok(MAX_RESULT_BYTES)
    );
    assert_eq!(
        result_from(large(MAX_RESULT_BYTES + 1)),
        failed(ServiceFailure::TooLarge(MAX_RESULT_BYTES))
    );
}

#[test]
fn the_time_out_covers_the_whole_exchange() {
    let late_body = |ms| {
        let pieces = [Piece::text("{"), Piece::Silence(ms), Piece::text("}")];
        HttpReply::in_pieces(200, pieces).after(250)
    };
    assert_eq!(result_from(late_body(250)).as_deref(), Ok("{}"));
    assert_eq!(result_from(late_body(251)), failed(ServiceFailure::TimedOut(500)));
    assert_eq!(
        result_from(HttpReply::new(200, "{}").after(501)),
        failed(ServiceFailure::TimedOut(500))
    );
}

#[test]
fn only_json_under_a_success_status_is_a_result() {
    let broken = HttpReply::in_pieces(200, [Piece::text("{"), Piece::Broken]);
    let latin = HttpReply::in_pieces(200, [Piece::Bytes(b"\"\xe9\"".to_vec())]);
    for (reply, failure) in [
        (HttpReply::new(200, "<html>"), ServiceFailure::NotJson),
        (HttpReply::new(204, ""), ServiceFailure::NotJson),
        (HttpReply::new(200, "{} {}"), ServiceFailure::NotJson),
        (latin, ServiceFailure::NotJson),
        (broken, ServiceFailure::Unreachable),
        (HttpReply::new(404, "{}"), status(404)),
        (HttpReply::new(500, "{}"), status(500)),
    ] {
        assert_eq!(result_from(reply), failed(failure));
    }
    assert_eq!(called_with(&service_with([]), "{}"), failed(ServiceFailure::Unreachable));
    // Some programs write a byte order mark before what they send.
    assert_eq!(result_from(HttpReply::new(200, "\u{feff}{}")).as_deref(), Ok("{}"));
}
