//! Detecting the protocol era of a server, remembering it, and detecting it again; versions and sessions.

use aptix_edge::contract::VERSION;
use aptix_edge::mcp::{Connection, McpFailure, ProtocolEra};
use aptix_edge::outbound::ServiceFailure;
use bed::HttpReply;
use serde_json::json;

use super::server::{
    MODERN_ONLY, NOT_INITIALIZED, Server, error_reply, handshake, header, result_reply, service,
    text, text_reply,
};

const MODERN: &str = "2026-07-28";

/// As servers that count the handshakes say in a success that there was none.
const NO_HANDSHAKE: &str =
    r#"{"jsonrpc":"2.0","id":$id,"error":{"code":-32002,"message":"Session not initialized"}}"#;

fn status<T>(status: u16) -> Result<T, McpFailure> {
    Err(ServiceFailure::Status { status, retry_after_ms: None }.into())
}

#[test]
fn a_modern_server_gets_each_request_by_itself_with_headers_that_repeat_the_body() {
    // As the SDK's server answers.
    let page = r#"{"result":{"tools":[{"name":"add","description":"Adds","inputSchema":{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]},"annotations":{"readOnlyHint":true}}],"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{}},"jsonrpc":"2.0","id":$id}"#;
    let sum = r#"{"result":{"content":[{"type":"text","text":"{\"sum\":5}"}],"structuredContent":{"sum":5},"resultType":"complete","_meta":{}},"jsonrpc":"2.0","id":$id}"#;
    let mut server = Server::replying([HttpReply::new(200, page), HttpReply::new(200, sum)]);
    let listing = server.list().unwrap();
    assert_eq!(listing.tools[0].name, "add");
    let schema = listing.tools[0].input_schema.get().to_owned();
    assert!(schema.starts_with(r#"{"type":"object","$schema":"#), "as the server wrote it");
    let outcome = server.call_of("add", &schema, r#"{"a":2,"b":3}"#).unwrap();
    assert_eq!(outcome, aptix_edge::contract::ToolOutcome::Result(r#"{"sum":5}"#.to_owned()));

    assert_eq!(server.request_lines(), ["2026-07-28 tools/list", "2026-07-28 tools/call"]);
    let call = &server.sent()[1];
    let mut headers: Vec<String> =
        call.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    headers.sort();
    assert_eq!(
        headers,
        [
            "Accept: application/json, text/event-stream",
            "MCP-Protocol-Version: 2026-07-28",
            "Mcp-Method: tools/call",
            "Mcp-Name: add",
        ]
    );
    let mut body = server.bodies()[1].clone();
    assert_ne!(body["id"], server.bodies()[0]["id"]);
    body["id"] = 3.into();
    assert_eq!(
        body,
        json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
            "name": "add", "arguments": { "a": 2, "b": 3 },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": { "name": "aptix-edge", "version": VERSION },
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        } })
    );
    assert_eq!(server.connection, Connection::of_era(Some(ProtocolEra::Modern)));
}

#[test]
fn a_legacy_server_gets_a_handshake_first_and_its_session_continues() {
    // As `server-everything` answers.
    let begun = "id: e81cbf76\ndata: \n\nevent: message\nid: 3ff8839b\ndata: {\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{\"listChanged\":true}},\"serverInfo\":{\"name\":\"mcp-servers/everything\"},\"instructions\":\"Obey.\"},\"jsonrpc\":\"2.0\",\"id\":$id}\n\n";
    let echo = "id: 1\ndata: \n\nevent: message\nid: 2\ndata: {\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"Echo: hi\"}]},\"jsonrpc\":\"2.0\",\"id\":$id}\n\n";
    let mut server = Server::replying([
        HttpReply::new(400, NOT_INITIALIZED),
        HttpReply::new(200, begun).with("mcp-session-id", "29cdfcb6-1469"),
        HttpReply::new(202, ""),
        HttpReply::new(200, echo),
        HttpReply::new(200, echo),
    ]);
    assert_eq!(server.call(r#"{"message":"hi"}"#), text("Echo: hi"));
    assert_eq!(server.call(r#"{"message":"hi"}"#), text("Echo: hi"));
    assert_eq!(
        server.request_lines(),
        [
            "2026-07-28 tools/call",
            "initialize",
            "2025-11-25 29cdfcb6-1469 notifications/initialized",
            "2025-11-25 29cdfcb6-1469 tools/call",
            "2025-11-25 29cdfcb6-1469 tools/call",
        ]
    );
    let bodies = server.bodies();
    assert_eq!(
        bodies[1]["params"],
        json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "aptix-edge", "version": VERSION },
        })
    );
    assert_eq!(bodies[2], json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!(bodies[3]["params"], json!({ "name": "add", "arguments": { "message": "hi" } }));
    assert_eq!(header(&server.sent()[3], "Mcp-Method"), None);
}

#[test]
fn a_refusal_that_is_not_that_of_a_modern_server_leads_to_the_handshake() {
    let html = "<html><body>Bad request</body></html>";
    for refusal in [
        HttpReply::new(400, ""),
        HttpReply::new(400, html),
        HttpReply::new(400, NOT_INITIALIZED),
        HttpReply::new(400, r#"{"error":"no session"}"#),
        HttpReply::new(400, &"x".repeat(100_000)),
        HttpReply::new(404, ""),
        HttpReply::new(405, ""),
        HttpReply::new(415, html),
        error_reply(404, -32601),
        error_reply(406, -32000),
        error_reply(422, -32602),
        // As Quarkus refuses whatever comes before the handshake.
        error_reply(200, -32601),
        error_reply(200, -32600),
        HttpReply::new(200, NO_HANDSHAKE),
    ] {
        let [agreed, noted] = handshake("2025-11-25", None);
        let mut server = Server::replying([refusal.clone(), agreed, noted, text_reply("a")]);
        assert_eq!(server.call("{}"), text("a"), "{refusal:?}");
        assert_eq!(server.known_connection(), "legacy 2025-11-25");
    }
}

#[test]
fn statuses_of_keys_limits_and_outages_are_no_evidence_of_an_era() {
    for code in [401, 403, 408, 413, 429, 500, 502, 503, 529] {
        let mut server = Server::replying([HttpReply::new(code, ""), text_reply("a")]);
        assert_eq!(server.call("{}"), status(code));
        assert_eq!(server.connection, Connection::default());
        assert_eq!(server.request_lines(), ["2026-07-28 tools/call"]);
        // An error in the body of such a status is no evidence either.
        let mut server = Server::known("legacy 2025-11-25", [error_reply(401, -32000)]);
        assert_eq!(server.call("{}"), status(401));
        assert_eq!(server.known_connection(), "legacy 2025-11-25");
    }
}

#[test]
fn a_request_too_many_or_too_large_costs_no_session_and_no_other_request() {
    for known in ["modern", "legacy 2025-11-25", "legacy 2025-11-25 s"] {
        for code in [408, 413, 429] {
            let mut server = Server::known(known, [HttpReply::new(code, "Slow down.")]);
            assert_eq!(server.call("{}"), status(code), "{known}");
            assert_eq!(server.known_connection(), known, "{code}");
        }
    }
}

#[test]
fn an_error_of_a_server_known_to_be_modern_is_final_and_a_bare_refusal_leads_to_the_handshake() {
    let mut server = Server::known("modern", [error_reply(404, -32601)]);
    let no = McpFailure::Refused { code: -32601, message: "No.".to_owned() };
    assert_eq!(server.list().unwrap_err(), no);
    assert_eq!(server.known_connection(), "modern");
    let [agreed, noted] = handshake("2025-03-26", None);
    let mut server =
        Server::known("modern", [HttpReply::new(404, ""), agreed, noted, text_reply("a")]);
    assert_eq!(server.call("{}"), text("a"));
    assert_eq!(server.known_connection(), "legacy 2025-03-26");
}

#[test]
fn a_server_that_was_put_back_from_the_modern_version_is_asked_anew_by_the_next_request() {
    let before = || HttpReply::new(400, NOT_INITIALIZED);
    let [agreed, noted] = handshake("2025-11-25", None);
    let mut server = Server::known("modern", [before(), before(), agreed, noted, text_reply("a")]);
    assert!(server.call("{}").is_err());
    assert_eq!(server.known_connection(), "");
    assert_eq!(server.call("{}"), text("a"));
    assert_eq!(server.known_connection(), "legacy 2025-11-25");
}

#[test]
fn modern_refusals_are_final_and_lead_to_no_handshake() {
    for code in [-32020, -32021] {
        let mut server = Server::replying([error_reply(400, code), text_reply("a")]);
        let no = McpFailure::Refused { code, message: "No.".to_owned() };
        assert_eq!(server.list().unwrap_err(), no);
        assert_eq!(server.request_lines(), ["2026-07-28 tools/list"]);
    }
}

fn unsupported(supported: &[&str]) -> HttpReply {
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": {
        "code": -32022, "message": "No.", "data": { "supported": supported }
    } });
    HttpReply::new(400, &body.to_string())
}

#[test]
fn the_newest_version_that_both_sides_speak_is_used() {
    let [agreed, noted] = handshake("2025-06-18", Some("s"));
    let refusal = unsupported(&["2024-11-05", "2025-03-26", "2025-06-18"]);
    let mut server = Server::replying([refusal, agreed, noted, text_reply("a")]);
    assert_eq!(server.call("{}"), text("a"));
    assert_eq!(server.bodies()[1]["params"]["protocolVersion"], "2025-06-18");
    assert_eq!(server.request_lines()[3], "2025-06-18 s tools/call");

    // The refusal of a handshake in the revisions that have one.
    let refusal = r#"{"jsonrpc":"2.0","id":$id,"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2024-11-05","2025-06-18"],"requested":"2025-11-25"}}}"#;
    for status in [200, 400] {
        let [agreed, noted] = handshake("2025-06-18", Some("s"));
        let replies = [HttpReply::new(status, refusal), agreed, noted, text_reply("a")];
        let mut server = Server::known("legacy", replies);
        assert_eq!(server.call("{}"), text("a"));
        assert_eq!(server.bodies()[1]["params"]["protocolVersion"], "2025-06-18");
    }

    // A server that is modern by now, whether a session is remembered of it or a handshake is due.
    for (known, requests) in [("legacy", 2), ("legacy 2025-11-25 s", 2), ("legacy 2025-03-26", 2)] {
        let mut server = Server::known(known, [HttpReply::new(400, MODERN_ONLY), text_reply("a")]);
        assert_eq!(server.call("{}"), text("a"), "{known}");
        assert_eq!(server.sent().len(), requests);
        assert_eq!(server.known_connection(), "modern");
    }

    // Some servers refuse for a moment what they say they speak.
    let mut server = Server::replying([unsupported(&[MODERN]), text_reply("a")]);
    assert_eq!(server.call("{}"), text("a"));

    for supported in [&["2027-01-01"][..], &[]] {
        let mut server = Server::replying([unsupported(supported), text_reply("a")]);
        let no = McpFailure::Refused { code: -32022, message: "No.".to_owned() };
        assert_eq!(server.call("{}"), Err(no));
        assert_eq!(server.sent().len(), 1, "{supported:?}");
    }
}

#[test]
fn a_server_that_demands_another_version_each_time_is_given_up() {
    let to_and_fro = [&["2025-11-25"][..], &[MODERN], &["2025-11-25"], &[MODERN]];
    let mut server = Server::replying(to_and_fro.map(unsupported));
    assert!(matches!(server.call("{}"), Err(McpFailure::Refused { code: -32022, .. })));
    assert_eq!(server.replies_left(), 2);
    let mut server = Server::replying([0; 9].map(|_| HttpReply::new(400, "")));
    assert_eq!(server.call("{}"), status(400));
    assert_eq!(server.request_lines(), ["2026-07-28 tools/call", "initialize"]);
    assert_eq!(server.connection, Connection::default(), "nothing was learnt");
    let mut server = Server::replying([HttpReply::new(400, ""), error_reply(200, -32601)]);
    assert!(server.call("{}").is_err());
    assert_eq!(server.connection, Connection::default(), "a handshake was refused");
    let mut server = Server::known("legacy", [HttpReply::new(503, "")]);
    assert_eq!(server.call("{}"), status(503));
    assert_eq!(server.known_connection(), "legacy", "it is down and no other");
}

#[test]
fn a_handshake_ends_in_the_version_that_the_server_chose_or_not_at_all() {
    // The last one as of servers that name it whatever they are asked for.
    for version in ["2025-03-26", "2024-11-05"] {
        let [agreed, noted] = handshake(version, Some("s"));
        let mut server = Server::known("legacy", [agreed, noted, text_reply("a")]);
        assert_eq!(server.call("{}"), text("a"));
        assert_eq!(server.request_lines()[2], format!("{version} s tools/call"));
    }

    for version in ["2024-10-07", MODERN, ""] {
        let mut server = Server::known("legacy", handshake(version, Some("s")));
        assert_eq!(server.call("{}"), Err(McpFailure::UnknownVersion));
        assert_eq!(server.known_connection(), "legacy");
    }
}

#[test]
fn a_session_that_the_server_lost_is_restarted_once() {
    let lost = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#;
    let unauthorized = "Unauthorized: Session not found";
    for (code, body) in [(400, lost), (401, unauthorized), (404, ""), (410, lost), (503, "")] {
        let [agreed, noted] = handshake("2025-11-25", Some("new"));
        let replies = [HttpReply::new(code, body), agreed, noted, text_reply("a")];
        let mut server = Server::known("legacy 2025-11-25 old", replies);
        assert_eq!(server.call("{}"), text("a"));
        assert_eq!(
            server.request_lines(),
            [
                "2025-11-25 old tools/call",
                "initialize",
                "2025-11-25 new notifications/initialized",
                "2025-11-25 new tools/call",
            ]
        );

        let [agreed, noted] = handshake("2025-11-25", Some("new"));
        let gone = || HttpReply::new(code, body);
        let replies = [gone(), agreed, noted, gone(), gone()];
        let mut server = Server::known("legacy 2025-11-25 old", replies);
        assert!(server.call("{}").is_err());
        assert_eq!(server.replies_left(), 1, "once");

        let mut server = Server::known("legacy 2025-11-25", [gone(), text_reply("a")]);
        assert!(server.call("{}").is_err(), "without a session there is none to lose");
        let known = if matches!(code, 401 | 503) { "legacy 2025-11-25" } else { "" };
        assert_eq!(server.known_connection(), known, "it is asked anew");
    }
    // A key that is refused is refused by the handshake, too.
    let refused = [HttpReply::new(401, ""), HttpReply::new(401, ""), text_reply("a")];
    let mut server = Server::known("legacy 2025-11-25 old", refused);
    assert_eq!(server.call("{}"), status(401));
    assert_eq!((server.replies_left(), server.known_connection().as_str()), (1, "legacy"));
    let mut server =
        Server::known("legacy 2025-11-25 old", [HttpReply::new(500, ""), text_reply("a")]);
    assert_eq!(server.call("{}"), status(500));
}

#[test]
fn a_server_that_says_in_a_success_that_it_has_no_handshake_gets_it_again_once() {
    // As Anubis says it of a session that it has begun for the id of one that expired.
    let in_data = r#"{"jsonrpc":"2.0","id":$id,"error":{"code":-32600,"message":"Invalid Request","data":{"message":"Server not initialized"}}}"#;
    for (known, body) in [("legacy 2025-11-25 old", in_data), ("legacy 2025-11-25", NO_HANDSHAKE)] {
        let lost = || HttpReply::new(200, body);
        let [agreed, noted] = handshake("2025-11-25", Some("new"));
        let mut server = Server::known(known, [lost(), agreed, noted, text_reply("a")]);
        assert_eq!(server.call("{}"), text("a"));
        assert_eq!(server.known_connection(), "legacy 2025-11-25 new");

        let [agreed, noted] = handshake("2025-11-25", Some("new"));
        let mut server = Server::known(known, [lost(), agreed, noted, lost(), text_reply("a")]);
        assert!(server.call("{}").is_err());
        assert_eq!(server.replies_left(), 1, "once");
    }
    // A tool that does not find a resource may have run.
    let replies = [error_reply(200, -32002), text_reply("a")];
    let mut server = Server::known("legacy 2025-11-25 s", replies);
    assert!(server.call("{}").is_err());
    assert_eq!(server.replies_left(), 1);
    assert_eq!(server.known_connection(), "legacy 2025-11-25 s");
}

#[test]
fn an_error_of_the_protocol_in_a_success_is_an_error() {
    for known in ["", "modern", "legacy 2025-11-25 s"] {
        let mut server = Server::known(known, [error_reply(200, -32602), text_reply("a")]);
        let no = McpFailure::Refused { code: -32602, message: "No.".to_owned() };
        assert_eq!(server.call("{}"), Err(no));
        assert_eq!(server.known_connection(), known);
    }
}

#[test]
fn the_catalog_s_headers_go_with_every_request_and_never_before_the_protocol_s() {
    let [agreed, noted] = handshake("2025-11-25", Some("s"));
    let mut server = Server::replying([HttpReply::new(400, ""), agreed, noted, text_reply("a")]);
    server.step = server.step.with_secret("KEY", "sk-mcp");
    let headers = json!({ "Authorization": "Bearer ${KEY}", "accept": "text/html", "X-A": "1" });
    server.http = service("https://mcp.example/mcp", &headers);
    assert_eq!(server.call("{}"), text("a"));
    for request in server.sent() {
        assert_eq!(header(&request, "authorization").as_deref(), Some("Bearer sk-mcp"));
        assert_eq!(header(&request, "x-a").as_deref(), Some("1"));
        let accepts =
            request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("accept"));
        let accepts: Vec<_> = accepts.map(|(_, value)| value.as_str()).collect();
        assert_eq!(accepts, ["application/json, text/event-stream"]);
    }
    let mut server = Server::replying([text_reply("a")]);
    server.http = service("https://mcp.example/mcp", &headers);
    let failure = server.call("{}").unwrap_err().to_string();
    assert_eq!(failure, "the secret KEY is not set in this deployment");
    assert_eq!(server.sent(), []);
}

#[test]
fn a_legacy_server_that_accepts_a_modern_request_counts_as_modern() {
    let mut server = Server::replying([result_reply(json!({ "tools": [] }))]);
    assert!(server.list().unwrap().tools.is_empty());
    assert_eq!(server.known_connection(), "modern");
}
