//! The fault for each way in which a call fails, and whether another attempt can succeed.

use aptix_edge::contract::{ErrorCode, Fault};
use bed::{HttpReply, LoneStep, Piece};
use serde_json::json;

use super::{
    CALL, Ear, MESSAGE, PAUSE_MS, call, called, completed, delta, ended, endpoint, event, failed,
    heard_from, stream, usable,
};

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
        (&[("llm_provider-retry-after", "7")], Some(7000)),
        (&[("llm_provider-retry-after-ms", "250"), ("llm_provider-retry-after", "7")], Some(250)),
        (&[("llm_provider-retry-after", "7"), ("retry-after", "2")], Some(2000)),
        (&[("llm_provider-retry-after", "7"), ("retry-after", "soon")], Some(7000)),
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
fn a_response_that_never_comes_to_its_point_is_a_protocol_fault_that_is_not_asked_for_again() {
    let empty = event(r#"{"type":"response.output_text.delta","output_index":0,"delta":""}"#);
    let comments = format!(":{}\n", "x".repeat(1022));
    for (begin, piece, count, message) in [
        ("", " ", 65_537, "more than 65536 bytes of white space or comments before its answer"),
        ("", ":\n", 32_769, "more than 65536 bytes of white space or comments before its answer"),
        (&empty, &comments, 65_536, "more than 67108864 bytes for one answer"),
        (&empty, "data:\n\n", 1_000_000, "more than 1000000 events for one answer"),
    ] {
        let body = begin.to_owned() + &piece.repeat(count) + &completed(MESSAGE);
        let pieces = body.as_bytes().chunks(65_536).map(|bytes| Piece::Bytes(bytes.to_vec()));
        let message = format!("The model service sent {message}.");
        let fault = Fault::new(ErrorCode::UpstreamProtocol, message).with("Attempts", 1);
        assert_eq!(failed(HttpReply::in_pieces(200, pieces)), (false, fault));
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

/// What LiteLLM 1.106.2 responds with for an error of the OpenAI API behind it.
fn of_litellm(error: &str) -> HttpReply {
    let message = format!(
        "litellm.RateLimitError: RateLimitError: OpenAIException - {error}\n\nLiteLLM: model group \
         'gpt-5.1' failed with the error above. No fallback was attempted."
    );
    let error =
        json!({ "message": message, "type": "throttling_error", "param": null, "code": "429" });
    HttpReply::new(429, &json!({ "error": error }).to_string())
        .with("llm_provider-x-request-id", "req_provider_1")
        .with("llm_provider-retry-after", "7")
        .with("request-id", "req_provider_1")
        .with("x-litellm-call-id", "c8107ea9-64c5-44e7-bf62-f9e19125cc25")
}

#[test]
fn a_refusal_that_a_gateway_words_anew_counts_as_that_of_the_service_behind_it() {
    let limited = of_litellm(
        r#"{"error":{"message":"Rate limit reached","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
    );
    let named = |code: ErrorCode, message: &str| {
        Fault::new(code, message).with("HttpStatus", 429).with("Code", "429").with("Attempts", 1)
    };
    let fault =
        named(ErrorCode::UpstreamUnavailable, "The model service answered with status 429.")
            .with("Type", "throttling_error")
            .with("RetryAfterMs", 7000)
            .with("RequestId", "req_provider_1");
    assert_eq!(failed(limited), (true, fault));

    let spent = of_litellm(
        r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
    );
    let message = "The model service refused the request with status 429.";
    let fault = named(ErrorCode::UpstreamRejected, message)
        .with("Type", "throttling_error")
        .with("RequestId", "req_provider_1");
    assert_eq!(failed(spent), (false, fault));
}

#[test]
fn the_id_of_a_request_is_the_service_s_own_before_a_gateway_s() {
    let all = [
        ("x-request-id", "req_1"),
        ("llm_provider-x-request-id", "req_2"),
        ("x-litellm-call-id", "call_3"),
    ];
    for first in 0..=all.len() {
        let reply = all[first..].iter().rev();
        let reply = reply.fold(HttpReply::new(401, ""), |reply, (name, id)| reply.with(name, id));
        let (_, fault) = failed(reply);
        let id = fault.details.as_ref().and_then(|details| details.get("RequestId"));
        assert_eq!(id.and_then(|id| id.as_str()), all.get(first).map(|(_, id)| *id));
    }
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
    let message = "The model service sent too many calls, a name that is too long, or an id that is empty, too long or used twice.";
    let fault = Fault::new(ErrorCode::UpstreamProtocol, message).with("Attempts", 1);
    let named = CALL.replace(r#""f""#, &format!(r#""{}""#, "f".repeat(257)));
    let many: Vec<String> = (0..1001).map(|number| call(&format!("c{number}"))).collect();
    let broken =
        [format!("{CALL},{CALL}"), call(""), call(&"c".repeat(129)), named, many.join(",")];
    for items in broken {
        let reply = HttpReply::new(200, &completed(&items));
        assert_eq!(failed(reply), (false, fault.clone()), "{}", items.len());
    }
}

#[test]
fn an_audience_learns_what_the_service_had_said_of_a_response_that_fails() {
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
        let step = LoneStep::replying([HttpReply::in_pieces(200, pieces)]);
        let mut ear = Ear::listening_from(&step, 0);
        step.run(call(&step.platform, &endpoint(), "{}".to_owned(), &mut stream(), &mut ear))
            .unwrap_err();
        let reported = ear.learned.last().unwrap();
        assert_eq!(reported.response_id.as_deref(), Some("resp_1"), "{name}");
        assert_eq!(reported.usage.map(|usage| usage.total_tokens), total, "{name}");
    }
}
