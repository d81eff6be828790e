//! One call to the model service (AGN-027 §4, layer 2): the request, the text progress while the
//! response comes, and the fault for each kind of failure.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics is a test that fails"
)]

mod pace;

use std::task::{Context, Poll};

use aptix_edge::contract::{ErrorCode, Fault};
use aptix_edge::llm_call::{
    CallFailure, CallObserver, Deletion, Endpoint, UsableOutput, call, delete_response,
};
use aptix_edge::ports::{HttpMethod, HttpRequest};
use aptix_edge::responses_api::{FunctionCall, Reported, TextProgress, TokenCounts};
use bed::{HttpReply, LoneStep, Piece};
use serde_json::json;

/// The longest pause between two reads while nobody listens, in milliseconds.
const PAUSE_MS: u64 = 250;

const MESSAGE: &str = r#"{"type":"message","content":[{"type":"output_text","text":"Hello"}]}"#;
const CALL: &str = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;

fn event(json: &str) -> String {
    format!("data: {json}\n\n")
}

fn delta(text: &str) -> String {
    let delta = json!({
        "type": "response.output_text.delta", "item_id": "m", "output_index": 0,
        "content_index": 0, "delta": text,
    });
    event(&delta.to_string())
}

/// The terminal event. `response` holds the members of its response object besides id and status.
fn ended(status: &str, response: &str) -> String {
    event(&format!(
        r#"{{"type":"response.{status}","response":{{"id":"resp_1","status":"{status}",{response}}}}}"#
    ))
}

fn completed(items: &str) -> String {
    ended("completed", &format!(r#""output":[{items}]"#))
}

/// The audience of a call. It listens from some moment on.
struct Ear<'a> {
    step: &'a LoneStep,
    from_ms: u64,
    heard: Vec<(u64, TextProgress)>,
    learned: Vec<Reported>,
}

impl<'a> Ear<'a> {
    fn listening_from(step: &'a LoneStep, from_ms: u64) -> Self {
        Self { step, from_ms, heard: Vec::new(), learned: Vec::new() }
    }
}

impl CallObserver for Ear<'_> {
    fn on_text(&mut self, progress: TextProgress) {
        self.heard.push((self.step.now_ms(), progress));
    }

    fn on_report(&mut self, reported: &Reported) {
        self.learned.push(reported.clone());
    }

    fn stores_reports(&self) -> bool {
        false
    }

    fn poll_watched(&self, _: &mut Context<'_>) -> Poll<()> {
        // The bed asks everybody whenever its clock moves.
        if self.step.now_ms() >= self.from_ms { Poll::Ready(()) } else { Poll::Pending }
    }
}

fn endpoint() -> Endpoint {
    Endpoint {
        base_url: "https://model.example/v1/".to_owned(),
        idle_timeout_ms: 1000,
        delta_interval_ms: 16,
        headers: vec![("Authorization".to_owned(), "Bearer k".to_owned())],
        secrets: vec!["k".to_owned()],
        query: Vec::new(),
    }
}

/// What an audience heard, with the moments.
type Heard = Vec<(u64, TextProgress)>;

/// Makes one call that somebody listens to from some moment on.
fn heard_from(from_ms: u64, step: &LoneStep) -> (Heard, Result<UsableOutput, CallFailure>) {
    heard_every(16, from_ms, step)
}

/// Makes one call whose deltas may be joined for an interval.
fn heard_every(
    delta_interval_ms: u64,
    from_ms: u64,
    step: &LoneStep,
) -> (Heard, Result<UsableOutput, CallFailure>) {
    let mut ear = Ear::listening_from(step, from_ms);
    let endpoint = Endpoint { delta_interval_ms, ..endpoint() };
    let ending = step.run(call(&step.platform, &endpoint, "{}".to_owned(), &mut ear));
    (ear.heard, ending)
}

/// Makes one call that somebody listens to; gives the progress.
fn called(step: &LoneStep) -> (Vec<TextProgress>, Result<UsableOutput, CallFailure>) {
    let (heard, ending) = heard_from(0, step);
    (heard.into_iter().map(|(_, progress)| progress).collect(), ending)
}

/// Makes one call, and demands the same end when nobody listens.
fn ended_with(reply: HttpReply) -> (Vec<TextProgress>, Result<UsableOutput, CallFailure>) {
    let (_, unheard) = heard_from(u64::MAX, &LoneStep::replying([reply.clone()]));
    let (told, ending) = called(&LoneStep::replying([reply]));
    assert_eq!(format!("{unheard:?}"), format!("{ending:?}"));
    (told, ending)
}

fn usable(reply: HttpReply) -> (Vec<TextProgress>, UsableOutput) {
    let (told, ending) = ended_with(reply);
    (told, ending.unwrap())
}

/// Makes one call that fails: whether a retry can succeed, and the fault.
fn failed(reply: HttpReply) -> (bool, Fault) {
    let failure = ended_with(reply).1.unwrap_err();
    (failure.retryable(), failure.into_fault(1))
}

#[test]
fn a_call_is_one_post_with_the_body_as_it_is_and_a_key_when_there_is_one() {
    let step = LoneStep::replying([1, 2].map(|_| HttpReply::new(200, &completed(MESSAGE))));
    let body = "{ \"model\": \"m\" }";
    for endpoint in [
        endpoint(),
        Endpoint { headers: Vec::new(), base_url: "http://m/v1".to_owned(), ..endpoint() },
    ] {
        let mut ear = Ear::listening_from(&step, 0);
        step.run(call(&step.platform, &endpoint, body.to_owned(), &mut ear)).unwrap();
    }
    let accept = ("Accept".to_owned(), "text/event-stream".to_owned());
    let bearer = ("Authorization".to_owned(), "Bearer k".to_owned());
    assert_eq!(
        step.sent(),
        [
            HttpRequest {
                method: HttpMethod::Post,
                url: "https://model.example/v1/responses".to_owned(),
                headers: vec![accept.clone(), bearer],
                body: body.to_owned(),
                reads: &[],
            },
            HttpRequest {
                method: HttpMethod::Post,
                url: "http://m/v1/responses".to_owned(),
                headers: vec![accept],
                body: body.to_owned(),
                reads: &[],
            },
        ]
    );
}

#[test]
fn headers_and_a_query_go_with_calls_and_deletions() {
    let own = |text: &str| text.to_owned();
    for name in ["X-Project", "API-Key", "authorization"] {
        let step =
            LoneStep::replying([HttpReply::new(200, &completed(MESSAGE)), HttpReply::new(200, "")]);
        let endpoint = Endpoint {
            headers: vec![(own(name), own("v"))],
            query: vec![(own("api version"), own("1&2")), (own("é"), own(""))],
            ..endpoint()
        };
        let mut ear = Ear::listening_from(&step, 0);
        step.run(call(&step.platform, &endpoint, own("{}"), &mut ear)).unwrap();
        let deleted = step.run(delete_response(&step.platform, &endpoint, "r/1"));
        assert_eq!(deleted, Deletion::Gone);
        for (request, path) in step.sent().iter().zip(["", "/r%2F1"]) {
            let query = "api%20version=1%262&%C3%A9=";
            let url = format!("https://model.example/v1/responses{path}?{query}");
            assert_eq!(request.url, url);
            let mut sent = request.headers.clone();
            sent.retain(|(name, _)| name != "Accept");
            assert_eq!(sent, [(own(name), own("v"))]);
        }
    }
}

#[test]
fn text_is_told_as_it_comes_and_the_output_is_the_terminal_event_s() {
    let usage = r#""usage":{"input_tokens":3,"output_tokens":2}"#;
    let end = ended("completed", &format!(r#""output":[{MESSAGE},{CALL}],{usage}"#));
    let (first, rest) = end.split_at(40);
    let (told, UsableOutput { output, cut_off }) = usable(HttpReply::in_pieces(
        200,
        [": hello\n\n", &delta("Hel"), &delta("lo"), first, rest, "after the end"].map(Piece::text),
    ));
    assert_eq!(told, [TextProgress::Text("Hel".to_owned()), TextProgress::Text("lo".to_owned())]);
    assert_eq!(
        (output.response_id.as_deref(), output.text.as_str(), cut_off),
        (Some("resp_1"), "Hello", None)
    );
    let call = FunctionCall {
        call_id: "c".to_owned(),
        name: "f".to_owned(),
        arguments: "{}".to_owned(),
        cut: false,
    };
    assert_eq!(output.calls, [call]);
    assert_eq!(
        output.usage,
        Some(TokenCounts { input: 3, output: 2, total: 5, ..TokenCounts::default() })
    );
}

#[test]
fn a_json_response_is_read_too_and_its_text_told_at_once() {
    let body = format!(r#"{{"id":"resp_1","status":"completed","output":[{MESSAGE}]}}"#);
    let (told, usable) = usable(HttpReply::new(201, &body));
    assert_eq!(told, [TextProgress::Text("Hello".to_owned())]);
    assert_eq!(usable.output.text, "Hello");
}

#[test]
fn nothing_is_read_behind_the_terminal_event() {
    let pieces = [Piece::text(&completed(MESSAGE)), Piece::Broken];
    assert_eq!(usable(HttpReply::in_pieces(200, pieces)).1.output.text, "Hello");
}

#[test]
fn a_service_that_is_silent_for_too_long_is_given_up_and_a_slow_one_is_not() {
    let slow = [
        Piece::Silence(999),
        Piece::text(": still here\n\n"),
        Piece::Silence(999),
        Piece::text(&delta("Hello")),
        Piece::Silence(999),
        Piece::text(&completed(MESSAGE)),
    ];
    assert_eq!(usable(HttpReply::in_pieces(200, slow).after(999)).1.output.text, "Hello");

    let silent_head = HttpReply::new(200, &completed(MESSAGE)).after(1001);
    let silent_body = [
        Piece::text(&delta("Hel")),
        Piece::Silence(1001 + PAUSE_MS),
        Piece::text(&completed(MESSAGE)),
    ];
    for (reply, at) in
        [(silent_head, 1000), (HttpReply::in_pieces(200, silent_body).after(500), 1500)]
    {
        let step = LoneStep::replying([reply.clone()]);
        let failure = called(&step).1.unwrap_err();
        assert_eq!(step.now_ms(), at);
        let unheard = LoneStep::replying([reply]);
        assert!(heard_from(u64::MAX, &unheard).1.is_err());
        // The bytes before the silence stayed unread for a while.
        assert!((at..=at + PAUSE_MS).contains(&unheard.now_ms()));
        assert!(!failure.retryable());
        assert_eq!(
            failure.into_fault(3),
            Fault::new(ErrorCode::UpstreamTimeout, "The model service sent nothing for 1000 ms.")
                .with("Attempts", 3)
        );
    }
}

#[test]
fn a_response_is_read_when_it_has_come_or_as_it_comes_once_somebody_listens() {
    let words = ["a", "b", "c", "d", "e", "f"];
    let piecewise = || {
        let deltas = words.iter().flat_map(|word| [Piece::text(&delta(word)), Piece::Silence(100)]);
        let end = ended("completed", r#""output":[]"#);
        LoneStep::replying([HttpReply::in_pieces(200, deltas.chain([Piece::text(&end)]))])
    };
    let heard = |from_ms| -> Vec<(u64, String)> {
        let mut moments = Vec::new();
        for (at, progress) in heard_from(from_ms, &piecewise()).0 {
            let TextProgress::Text(text) = progress else { panic!("{progress:?}") };
            match moments.last_mut() {
                Some((last, together)) if *last == at => String::push_str(together, &text),
                _ => moments.push((at, text)),
            }
        }
        moments
    };
    let at = |moments: &[(u64, &str)]| -> Vec<(u64, String)> {
        moments.iter().map(|(at, text)| (*at, (*text).to_owned())).collect()
    };
    assert_eq!(
        heard(0),
        at(&[(0, "a"), (100, "b"), (200, "c"), (300, "d"), (400, "e"), (500, "f")])
    );
    assert_eq!(heard(300), at(&[(250, "abc"), (300, "d"), (400, "e"), (500, "f")]));
    assert_eq!(heard(u64::MAX), at(&[(250, "abc"), (500, "def")]));

    let quick = HttpReply::in_pieces(
        200,
        [Piece::text(&delta("a")), Piece::Silence(7), Piece::text(&completed(MESSAGE))],
    );
    let step = LoneStep::replying([quick]);
    heard_from(u64::MAX, &step).1.unwrap();
    assert_eq!(step.now_ms(), 7);
}

#[test]
fn a_connection_that_stays_open_or_breaks_behind_the_last_event_takes_nothing_of_the_output() {
    let text = [delta("Hel"), delta("lo"), completed(MESSAGE)].concat();
    for size in [1, 7, text.len()] {
        for end in [Piece::Silence(999_999), Piece::Broken] {
            let pieces = text.as_bytes().chunks(size).map(|bytes| Piece::Bytes(bytes.to_vec()));
            let step = LoneStep::replying([HttpReply::in_pieces(200, pieces.chain([end]))]);
            assert_eq!(heard_from(u64::MAX, &step).1.unwrap().output.text, "Hello");
            assert!(step.now_ms() <= PAUSE_MS);
        }
    }
}

#[test]
fn a_service_that_cannot_be_reached_can_be_tried_again() {
    let failure = called(&LoneStep::default()).1.unwrap_err();
    assert!(failure.retryable());
    assert_eq!(
        failure.into_fault(2),
        Fault::new(ErrorCode::UpstreamUnavailable, "The model service could not be reached.")
            .with("Attempts", 2)
    );
}

#[test]
fn the_wait_that_the_service_asks_for_is_read_in_either_unit() {
    let asked = |headers: &[(&str, &str)]| {
        let reply = HttpReply::new(429, "");
        let reply = headers.iter().fold(reply, |reply, (name, value)| reply.with(name, value));
        called(&LoneStep::replying([reply])).1.unwrap_err().retry_after_ms()
    };
    for (headers, ms) in [
        (&[("retry-after", "2")][..], Some(2000)),
        (&[("retry-after", " 1.5 ")], Some(1500)),
        (&[("retry-after", "0")], Some(0)),
        (&[("retry-after-ms", "250"), ("retry-after", "9")], Some(250)),
        (&[("retry-after-ms", "soon"), ("retry-after", "9")], Some(9000)),
        (&[("retry-after", "1e30")], Some(u64::MAX)),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "NaN")], None),
        (&[("retry-after", "inf")], None),
        (&[("retry-after", "Thu, 01 Jan 1970 00:00:09 GMT")], Some(9000)),
        (&[("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT")], None),
        (&[("retry-after", "Wed, 31 Dec 1969 00:00:09 GMT")], None),
        (&[("retry-after", "")], None),
        (&[], None),
    ] {
        assert_eq!(asked(headers), ms, "{headers:?}");
    }
}

#[test]
fn a_broken_an_early_and_an_unreadable_end_are_protocol_faults() {
    let protocol = |message: &str, retryable: bool| {
        let fault = Fault::new(ErrorCode::UpstreamProtocol, message).with("Attempts", 1);
        (retryable, fault.with("RequestId", "req_1"))
    };
    let broke = "The connection to the model service broke in the middle of its answer.";
    let early = "The model service's stream ended before its terminal event.";
    let json = "The model service sent a JSON answer that could not be read.";
    let hel = Piece::text(&delta("Hel"));
    for (pieces, message) in [
        (vec![hel.clone(), Piece::Broken], broke),
        (vec![Piece::Broken], broke),
        (vec![hel.clone()], early),
        (vec![hel, Piece::text("data: [DONE]\n\n")], early),
        (vec![], early),
        (vec![Piece::text("{\"status\":\"in_pro")], early),
        (vec![Piece::text("{nonsense}")], json),
    ] {
        let reply = HttpReply::in_pieces(200, pieces.clone()).with("x-request-id", "req_1");
        assert_eq!(failed(reply), protocol(message, message != json), "{pieces:?}");
    }
}

#[test]
fn a_refusal_carries_what_the_service_names_whatever_its_content_type() {
    let error =
        r#"{"error":{"message":"m","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#;
    let pieces = error.split_inclusive(',').map(Piece::text);
    let reply = HttpReply::in_pieces(429, pieces).with("content-type", "text/plain");
    let fault =
        Fault::new(ErrorCode::UpstreamUnavailable, "The model service answered with status 429.")
            .with("HttpStatus", 429)
            .with("Code", "rate_limit_exceeded")
            .with("Type", "tokens")
            .with("RequestId", "req_1")
            .with("Attempts", 1);
    assert_eq!(failed(reply.with("x-request-id", "req_1")), (true, fault));
}

#[test]
fn a_refusal_whose_body_cannot_be_read_is_still_that_refusal() {
    let endless = std::iter::repeat_n(Piece::text(&"x".repeat(1024)), 1000);
    for pieces in [vec![Piece::Broken], vec![Piece::Bytes(vec![0xff])], endless.collect()] {
        let (_, fault) = failed(HttpReply::in_pieces(401, pieces));
        assert_eq!(
            fault,
            Fault::new(
                ErrorCode::UpstreamRejected,
                "The model service refused the request with status 401."
            )
            .with("HttpStatus", 401)
            .with("Attempts", 1)
        );
    }
}

#[test]
fn a_failure_inside_a_response_is_the_service_s_and_may_pass() {
    let error = r#""error":{"code":"server_error","message":"m"}"#;
    let reply =
        HttpReply::in_pieces(200, [delta("Hel"), ended("failed", error)].map(|p| Piece::text(&p)));
    assert_eq!(
        failed(reply.with("x-request-id", "req_1")),
        (
            true,
            Fault::new(ErrorCode::UpstreamFailed, "The model service reported a failure.")
                .with("Code", "server_error")
                .with("RequestId", "req_1")
                .with("Attempts", 1)
        )
    );
}

#[test]
fn calls_that_no_result_could_name_are_a_fault_of_the_service_in_one_sentence() {
    let call = |id: &str| CALL.replace(r#""c""#, &format!(r#""{id}""#));
    let message =
        "The model service sent too many calls, or an id that is empty, too long or used twice.";
    let fault = Fault::new(ErrorCode::UpstreamProtocol, message).with("Attempts", 1);
    let many: Vec<String> = (0..1001).map(|number| call(&format!("c{number}"))).collect();
    for items in [format!("{CALL},{CALL}"), call(""), call(&"c".repeat(129)), many.join(",")] {
        let reply = HttpReply::new(200, &completed(&items));
        assert_eq!(failed(reply), (false, fault.clone()), "{}", items.len());
    }
}

#[test]
fn text_that_was_cut_off_is_an_output_and_a_call_or_nothing_is_not() {
    let cut = |reason: &str, items: &str| {
        let details = format!(r#""incomplete_details":{reason},"output":[{items}]"#);
        HttpReply::new(200, &ended("incomplete", &details))
    };
    let why = r#"{"reason":"max_output_tokens"}"#;
    assert_eq!(usable(cut(why, MESSAGE)).1.cut_off.as_deref(), Some("max_output_tokens"));
    assert_eq!(usable(cut("null", MESSAGE)).1.cut_off.as_deref(), Some("unknown"));
    let message = "The model's answer was cut off where it cannot be used.";
    for items in [CALL, "", &format!("{MESSAGE},{CALL}")] {
        let fault = Fault::new(ErrorCode::UpstreamIncomplete, message);
        let fault = fault.with("Reason", "max_output_tokens").with("Attempts", 1);
        assert_eq!(failed(cut(why, items)), (false, fault), "{items}");
    }
}

#[test]
fn a_response_is_deleted_by_its_id_alone_whatever_the_id_looks_like() {
    let deleted = |id: &str| {
        let step = LoneStep::replying([HttpReply::new(200, "{}")]);
        let gone = step.run(delete_response(&step.platform, &endpoint(), id));
        (gone, step.sent().into_iter().map(|request| request.url).collect::<Vec<_>>())
    };
    for (id, segment) in [
        ("resp_0-9.a~Z", "resp_0-9.a~Z"),
        ("../../files/f", "..%2F..%2Ffiles%2Ff"),
        ("a?b#c%2e", "a%3Fb%23c%252e"),
        ("\\..\\é", "%5C..%5C%C3%A9"),
        ("...", "..."),
    ] {
        let url = format!("https://model.example/v1/responses/{segment}");
        assert_eq!(deleted(id), (Deletion::Gone, vec![url]), "{id}");
    }
    for id in ["", ".", ".."] {
        assert_eq!(deleted(id), (Deletion::Refused, Vec::new()), "{id:?} names another thing");
    }
}

#[test]
fn a_failure_carries_what_the_service_had_said_of_the_response() {
    let created = |usage: &str| {
        let response = format!(r#"{{"id":"resp_1","status":"in_progress","usage":{usage}}}"#);
        event(&format!(r#"{{"type":"response.created","response":{response}}}"#))
    };
    let counted = r#"{"input_tokens":3,"output_tokens":4}"#;
    let error = event(r#"{"type":"error","error":{"code":"server_error"}}"#);
    let late = ended("failed", &format!(r#""usage":{counted}"#));
    let json = format!(r#"{{"id":"resp_1","usage":{counted},"output":[{{"type":"#);
    for (name, pieces, total) in [
        ("cut", vec![Piece::text(&created("null")), Piece::Broken], None),
        ("cut later", vec![Piece::text(&created(counted)), Piece::Broken], Some(7)),
        ("silent", vec![Piece::text(&created(counted)), Piece::EndlessSilence], Some(7)),
        ("failed", vec![Piece::text(&(created("null") + &late))], Some(7)),
        ("an error before it", vec![Piece::text(&(created("null") + &error + &late))], Some(7)),
        ("unreadable", vec![Piece::text(&(created(counted) + "data: {\n\n"))], Some(7)),
        ("a cut JSON answer", vec![Piece::text(&json), Piece::Broken], Some(7)),
        ("half a JSON answer", vec![Piece::text(&json)], Some(7)),
        ("a silent JSON answer", vec![Piece::text(&json), Piece::EndlessSilence], Some(7)),
    ] {
        let (_, ending) = ended_with(HttpReply::in_pieces(200, pieces));
        let reported = ending.unwrap_err().reported;
        assert_eq!(reported.response_id.as_deref(), Some("resp_1"), "{name}");
        assert_eq!(reported.usage.map(|usage| usage.total), total, "{name}");
    }
}

#[test]
fn an_audience_learns_of_a_response_once_for_each_thing_that_is_said() {
    let created = event(r#"{"type":"response.created","response":{"id":"resp_1","usage":null}}"#);
    let counted = r#""output":[],"usage":{"input_tokens":3,"output_tokens":4}"#;
    let body = created.clone() + &created + &delta("Hi") + &ended("completed", counted);
    let step = LoneStep::replying([HttpReply::new(200, &body)]);
    let mut ear = Ear::listening_from(&step, 0);
    step.run(call(&step.platform, &endpoint(), "{}".to_owned(), &mut ear)).unwrap();
    let usage = TokenCounts { input: 3, output: 4, total: 7, ..TokenCounts::default() };
    let whole = Reported { response_id: Some("resp_1".to_owned()), usage: Some(usage) };
    assert_eq!(ear.learned, [whole]);
}
