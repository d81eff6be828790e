//! Responses as streams of events: broken, endless, or of another kind than announced.

use aptix_edge::mcp::McpFailure;
use aptix_edge::outbound::ServiceFailure;
use aptix_edge::ports::HttpMethod;
use bed::{HttpReply, Piece};
use proptest::prelude::*;
use proptest::sample::select;

use super::server::{Server, TIMEOUT_MS, error_reply, header, text, text_reply};

const RESULT: &str =
    r#"{"result":{"content":[{"type":"text","text":"ä€😀"}]},"jsonrpc":"2.0","id":$id}"#;

fn stream(body: &str) -> HttpReply {
    HttpReply::new(200, body).with("content-type", "text/event-stream")
}

/// A result among all the events that may surround it.
fn full_stream(end: &str) -> String {
    [
        ": keep-alive",
        "",
        "id: 1",
        "data: ",
        "",
        "event: message",
        r#"data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#,
        "",
        r#"data: {"jsonrpc":"2.0","id":999999999999,"result":{"content":[{"type":"text","text":"wrong"}]}}"#,
        "",
        r#"data: {"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"wrong"}}"#,
        "",
        "data: not JSON",
        "",
        "event: message",
        "id: 2",
        r#"data: {"result":{"content":[{"type":"text","#,
        r#"data: "text":"ä€😀"}]},"jsonrpc":"2.0","id":$id}"#,
        "",
        r#"data: {"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"late"}]}}"#,
        "",
        "",
    ]
    .join(end)
}

#[test]
fn the_result_is_found_among_other_events_whatever_their_line_endings() {
    for end in ["\n", "\r\n", "\r"] {
        for known in ["modern", "legacy 2025-11-25 s"] {
            let mut server = Server::known(known, [stream(&full_stream(end))]);
            assert_eq!(server.call("{}"), text("ä€😀"), "{end:?}");
        }
    }
    // The first character decides, not the content type.
    let json = HttpReply::new(200, &format!("\n {RESULT}"));
    let announced = json.clone().with("content-type", "application/json; charset=utf-8");
    let marked = HttpReply::new(200, &format!("\u{feff}{RESULT}"));
    for reply in [announced, json, marked] {
        assert_eq!(Server::known("modern", [reply]).call("{}"), text("ä€😀"));
    }
}

#[test]
fn a_response_in_two_pieces_is_the_same_and_a_broken_one_is_a_failure() {
    // The id has ten digits at most, so a body of a fixed id is as long as any.
    let body = full_stream("\n");
    let whole = body.find("\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":$id,").unwrap();
    let json = RESULT.len();
    for cut in 0..=body.len() {
        let (head, tail) = body.as_bytes().split_at(cut);
        // The place of an id is filled in only where a piece holds all of it.
        if body.get(..cut).is_some_and(|head| !head.ends_with(['$', 'i'])) {
            let pieces = [head, tail].map(|piece| Piece::Bytes(piece.to_vec()));
            let mut server = Server::known("modern", [HttpReply::in_pieces(200, pieces)]);
            assert_eq!(server.call("{}"), text("ä€😀"), "in two at {cut}");
        }
        let ends = [vec![], vec![Piece::Broken]];
        for end in ends {
            let pieces = [Piece::Bytes(head.to_vec())].into_iter().chain(end);
            let mut server = Server::known("modern", [HttpReply::in_pieces(200, pieces)]);
            let expected = if cut >= whole { text("ä€😀") } else { Err(McpFailure::NoResult) };
            assert_eq!(server.call("{}"), expected, "cut at {cut}");
        }
    }
    for cut in 0..json {
        let head = HttpReply::in_pieces(200, [Piece::Bytes(RESULT.as_bytes()[..cut].to_vec())]);
        assert_eq!(Server::known("modern", [head]).call("{}"), Err(McpFailure::NoResult));
    }
}

#[test]
fn requests_of_a_legacy_server_get_responses_in_its_session_and_the_call_continues() {
    let asked = r#"data: {"jsonrpc":"2.0","id":"p-1","method":"ping"}

data: {"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"Your password?"}}

data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}

"#;
    let body = format!("{asked}data: {RESULT}\n\n");
    let replies = [stream(&body), HttpReply::new(202, ""), HttpReply::new(500, "")];
    let mut server = Server::known("legacy 2025-11-25 s", replies);
    assert_eq!(server.call("{}"), text("ä€😀"));
    assert_eq!(
        server.request_lines(),
        ["2025-11-25 s tools/call", "2025-11-25 s answer", "2025-11-25 s answer"]
    );
    let bodies = server.bodies();
    assert_eq!(bodies[1], serde_json::json!({ "jsonrpc": "2.0", "id": "p-1", "result": {} }));
    assert_eq!((&bodies[2]["id"], &bodies[2]["error"]["code"]), (&7.into(), &(-32601).into()));

    let mut server = Server::known("modern", [stream(&body)]);
    assert_eq!(server.call("{}"), text("ä€😀"));
    assert_eq!(server.sent().len(), 1, "a modern server must not ask");

    let many = r#"data: {"id":1,"method":"ping"}"#.to_owned() + "\n\n";
    let body = format!("{}data: {RESULT}\n\n", many.repeat(1_000));
    let replies = std::iter::once(stream(&body)).chain((0..999).map(|_| HttpReply::new(202, "")));
    let mut server = Server::known("legacy 2025-11-25 s", replies);
    assert_eq!(server.call("{}"), text("ä€😀"));
    assert_eq!(server.sent().len(), 65);
}

#[test]
fn a_call_may_come_with_ten_thousand_messages_and_no_more_and_others_run_between_them() {
    let notes = |count: usize| "data:{}\n\n".repeat(count);
    let answer = format!("data: {RESULT}\n\n");
    let mut server = Server::known("modern", [stream(&(notes(9_999) + &answer))]);
    assert_eq!(server.call("{}"), text("ä€😀"));
    let whole = stream(&(notes(10_000) + &answer));
    let parts = [
        stream(&(String::from("id: 1\nretry: 1\ndata:\n\n") + &notes(5_000))),
        stream(&(notes(5_000) + &answer)),
    ];
    for replies in [vec![whole], parts.to_vec()] {
        let mut server = Server::known("legacy 2025-11-25 s", replies);
        assert_eq!(server.call("{}"), Err(McpFailure::TooManyMessages(10_000)));
        assert_eq!(server.replies_left(), 0);
    }

    // Comments are no messages; a slice is as long as that of a model's response.
    let chatter = |bytes: usize| ":\n".repeat(bytes / 2);
    for (body, slices) in
        [(notes(9_999) + &answer, 10), (chatter(4 << 20) + &answer, 8), (answer.clone(), 0)]
    {
        let pieces = body.as_bytes().chunks(1 << 16).map(|bytes| Piece::Bytes(bytes.to_vec()));
        let mut server = Server::known("modern", [HttpReply::in_pieces(200, pieces)]);
        assert_eq!(server.call("{}"), text("ä€😀"));
        assert_eq!(server.step.yields(), slices);
    }
}

#[test]
fn a_legacy_stream_that_broke_after_an_event_with_an_id_is_resumed() {
    let replies = [
        stream("id: e-1\nretry: 500\ndata: \n\n"),
        HttpReply::in_pieces(
            200,
            [Piece::text("id: e-2\ndata:\n\nid: cut\ndata: {"), Piece::Broken],
        ),
        stream(&format!("id: e-3\ndata: {RESULT}\n\n")).after(20),
    ];
    let mut server = Server::known("legacy 2025-11-25 s", replies);
    assert_eq!(server.call("{}"), text("ä€😀"));
    assert_eq!(server.request_lines()[1..], ["2025-11-25 s GET e-1", "2025-11-25 s GET e-2"]);
    // The second server names no pause.
    assert_eq!(server.step.now_ms(), 500 + 1_000 + 20);
    let resumed = &server.sent()[1];
    assert_eq!((resumed.method, resumed.body.as_str()), (HttpMethod::Get, ""));

    let part =
        stream(&format!("id: 1\nretry: 1\n\n{}", format!(": {}\n", "x".repeat(999)).repeat(9_000)));
    let mut server = Server::known("legacy 2025-11-25 s", vec![part; 9]);
    assert_eq!(server.call("{}"), Err(ServiceFailure::TooLarge(16_000_000).into()));
    assert_eq!(server.sent().len(), 2, "its parts are bounded together");

    // So are the requests of a call that is deferred.
    let padding = format!(": {}\n", "x".repeat(999)).repeat(9_000);
    let later = r#"{"id":$id,"result":{"resultType":"input_required","requestState":"s"}}"#;
    let deferred = stream(&format!("{padding}data: {later}\n\n"));
    let answer = stream(&format!("data: {RESULT}\n\n"));
    let mut server = Server::known("modern", [deferred.clone(), deferred, answer]);
    assert_eq!(server.call("{}"), Err(ServiceFailure::TooLarge(16_000_000).into()));
    assert_eq!(server.sent().len(), 2);

    for known in ["legacy 2025-11-25 s", "modern"] {
        let cut = stream("id: 1\ndata\n\n");
        let mut server =
            Server::known(known, [cut.clone(), stream(&format!("data: {RESULT}\n\n"))]);
        assert_eq!(server.call("{}"), text("ä€😀"), "a legacy server may answer modern requests");
        let mut server = Server::known(known, [cut, error_reply(405, 0), text_reply("a")]);
        assert_eq!(server.call("{}"), Err(McpFailure::NoResult));
        assert_eq!(server.replies_left(), 1, "the tool may have run: no call is made twice");
        for without_a_place in ["data: \n\n", "id: 1\ndata:\n\nid\ndata:\n\n"] {
            let mut server = Server::known(known, [stream(without_a_place), text_reply("a")]);
            assert_eq!(server.call("{}"), Err(McpFailure::NoResult));
            assert_eq!(server.replies_left(), 1);
        }
    }
}

#[test]
fn a_stream_that_breaks_again_and_again_ends_by_its_time_limit_or_its_count() {
    let closed = |retry: &str| stream(&format!("id: 1\nretry: {retry}\ndata\n\n"));
    for (retry, requests, ms, failure) in [
        ("0", 65, 64 * 100, McpFailure::NoResult),
        ("25000", 3, TIMEOUT_MS, ServiceFailure::TimedOut(TIMEOUT_MS).into()),
        ("99999999999999999999", 61, TIMEOUT_MS, ServiceFailure::TimedOut(TIMEOUT_MS).into()),
        ("18446744073709551615", 1, TIMEOUT_MS, ServiceFailure::TimedOut(TIMEOUT_MS).into()),
    ] {
        let replies = (0..100).map(|_| closed(retry));
        let mut server = Server::known("legacy 2025-11-25 s", replies);
        assert_eq!(server.call("{}"), Err(failure), "{retry}");
        assert_eq!(server.sent().len(), requests, "{retry}");
        assert_eq!(server.step.now_ms(), ms);
    }
}

#[test]
fn the_time_limit_holds_over_all_requests_and_whatever_comes_meanwhile() {
    let drip = |count: usize| (0..count).flat_map(|_| [Piece::Silence(900), Piece::text(": x\n")]);
    let slow = [Piece::EndlessSilence];
    for replies in [
        vec![HttpReply::in_pieces(200, drip(10_000))],
        vec![HttpReply::in_pieces(200, slow.clone())],
        vec![HttpReply::new(200, "{}").after(TIMEOUT_MS + 1)],
        vec![
            HttpReply::new(400, "").after(TIMEOUT_MS / 2),
            HttpReply::new(200, "").after(TIMEOUT_MS),
        ],
        vec![HttpReply::in_pieces(500, slow)],
    ] {
        let mut server = Server::replying(replies);
        assert_eq!(server.call("{}"), Err(ServiceFailure::TimedOut(TIMEOUT_MS).into()));
        assert_eq!(server.step.now_ms(), TIMEOUT_MS);
    }
}

#[test]
fn a_response_that_is_too_long_or_not_text_is_refused() {
    let too_large = |bytes| Err(ServiceFailure::TooLarge(bytes).into());
    let long = "x".repeat(4_000_000);
    let one_line = format!("data: {long}");
    let notes: Vec<Piece> = (0..17).map(|_| Piece::text(&(": x\n".repeat(250_000)))).collect();
    let endless_refusal = [Piece::text(&format!(r#"{{"a":"{long}"#)), Piece::EndlessSilence];
    for (reply, expected) in [
        (HttpReply::new(200, &format!(r#"{{"id":$id,"result":"{long}"}}"#)), too_large(4_000_000)),
        (stream(&format!("{one_line}{long}")), too_large(4_000_000)),
        (stream(&format!("{one_line}\n{one_line}\n")), too_large(4_000_000)),
        (HttpReply::in_pieces(200, notes), too_large(16_000_000)),
        (
            HttpReply::in_pieces(200, [Piece::Bytes(b"data: \xff\n\n".to_vec())]),
            Err(ServiceFailure::NotJson.into()),
        ),
        (
            HttpReply::in_pieces(200, [Piece::Bytes(b"{\"id\":\"\xff\"}".to_vec())]),
            Err(McpFailure::NoResult),
        ),
        (
            HttpReply::in_pieces(500, endless_refusal),
            Err(ServiceFailure::Status { status: 500, retry_after_ms: None }.into()),
        ),
        (HttpReply::new(200, ""), Err(McpFailure::NoResult)),
        (HttpReply::new(202, ""), Err(McpFailure::NoResult)),
        (HttpReply::new(200, "<html></html>"), Err(McpFailure::NoResult)),
        (HttpReply::new(200, "[]"), Err(McpFailure::NoResult)),
    ] {
        let mut server = Server::known("modern", [reply]);
        assert_eq!(server.call("{}"), expected);
    }
}

#[test]
fn a_redirect_is_followed_with_the_body_on_the_same_origin_only() {
    for code in [307, 308] {
        let moved = HttpReply::new(code, "").with("location", "/mcp/");
        let mut server = Server::known("modern", [moved, text_reply("a")]);
        assert_eq!(server.call(r#"{"a":1}"#), text("a"));
        let [first, second] = server.sent().try_into().unwrap();
        assert_eq!(second.url, "https://mcp.example/mcp/");
        assert_eq!((first.body, first.headers), (second.body, second.headers));

        let away = HttpReply::new(code, "").with("location", "https://evil.example/mcp");
        let mut server = Server::known("modern", [away, text_reply("a")]);
        assert_eq!(server.call("{}"), Err(ServiceFailure::RedirectedAway.into()));
        assert_eq!(server.sent().len(), 1);
    }
    let mut server = Server::known("modern", [HttpReply::new(302, "").with("location", "/x")]);
    assert_eq!(
        server.call("{}"),
        Err(ServiceFailure::Status { status: 302, retry_after_ms: None }.into())
    );
    assert_eq!(header(&server.sent()[0], "Mcp-Name").as_deref(), Some("add"));
}

/// The parts of random bodies.
const FRAGMENTS: [&str; 16] = [
    RESULT,
    RESULT,
    "data: ",
    "data: ",
    "\n",
    "\n\n",
    "\r",
    "id: 1",
    "retry: 5\n",
    "{",
    "}",
    ",",
    "\u{feff}",
    "\0",
    r#"{"id":$id,"error":{"code":-32022,"data":{"supported":["2025-11-25","2026-07-28"]}}}"#,
    r#"{"id":1,"method":"ping"}"#,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_a_server_sends_a_call_ends_with_its_result_or_a_failure(
        bodies in prop::collection::vec(prop::collection::vec(select(&FRAGMENTS[..]), 0..8), 1..6),
        status in select(&[200_u16, 200, 200, 202, 400, 404, 500][..]),
        known in select(&["", "modern", "legacy", "legacy 2025-11-25 s"][..]),
    ) {
        let replies = bodies.iter().map(|body| HttpReply::new(status, &body.concat()));
        let mut server = Server::known(known, replies.cycle().take(100));
        let result_reply = server.call("{}");
        prop_assert!(result_reply == text("ä€😀") || result_reply.is_err(), "{result_reply:?}");
        let answers = bodies.iter().flatten().any(|fragment| *fragment == RESULT);
        prop_assert!(result_reply.is_err() || (answers && status < 300));
        prop_assert!(server.replies_left() > 0, "it never ends by itself");
    }
}
