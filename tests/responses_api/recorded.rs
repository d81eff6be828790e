//! Replays the recorded exchanges in `../shared/fixtures`, where that folder is at hand, and
//! compares each with the expectation that an independent parser computed from its bytes.
//!
//! A shortcut makes cuts at every byte quick. The accumulator sees events and never bytes, so the
//! decoder must give the same events however the bytes are cut. One decoder takes the body byte by
//! byte. From its state before every byte, a copy takes the next 64 bytes as one chunk; the copy must
//! then equal the byte-by-byte state there, its events included. A cut can part a character, a line
//! end or the byte order mark, all at most four bytes long, and the state holds no trace of earlier
//! cuts, so a chunk of any length at any place does the same as its bytes one by one. The tests also
//! read whole bodies, and real cuts in two at some forty places.

// The count of what was compared, or a note that nothing was, is part of the result.
use std::collections::VecDeque;

use aptix_edge::encoding::{SseDecoder, SseEvent};
use aptix_edge::responses_api::{
    CallMembers, ENCRYPTED_REASONING, ErrorBody, ResponseEnd, ResponsesRequest, StreamFault,
    TextProgress, concerns_input, concerns_previous_response, for_replay,
};
use bed::{Exchange, assert_published, recorded_exchanges};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{ROOMY, Reading, item_types, read, shown, written};

fn is_refusal(exchange: &Exchange) -> bool {
    exchange.expected["http_status"].as_u64().unwrap() >= 400
}

fn is_stream(exchange: &Exchange) -> bool {
    exchange.expected["kind"] == "sse"
}

#[test]
fn every_recorded_response_reads_as_the_independent_parser_read_it() {
    let Some(exchanges) = recorded_exchanges() else { return };
    let mut compared = 0;
    for exchange in exchanges.iter().filter(|exchange| !is_refusal(exchange)) {
        let Exchange { name, body, .. } = exchange;
        let whole = read(ROOMY, [body.as_slice()]);
        check(exchange, &whole);
        let again = |reading: Reading, how: &str| {
            assert_eq!(written(&reading.1), written(&whole.1), "{name}, {how}");
            if whole.1.is_ok() {
                assert_eq!(shown(&reading.0), shown(&whole.0), "{name}, {how}");
            }
        };
        again(read(ROOMY, body.chunks(1)), "byte by byte");
        let stride = body.len() / 40 + 1;
        for cut in (1..body.len()).step_by(stride) {
            let (head, tail) = body.split_at(cut);
            again(read(ROOMY, [head, tail]), &format!("cut at {cut}"));
        }
        compared += 1;
    }
    println!("compared {compared} recorded responses");
    assert!(compared > 0, "the manifest names no response");
}

#[test]
fn every_recorded_stream_frames_the_same_cut_at_every_byte() {
    let Some(exchanges) = recorded_exchanges() else { return };
    let mut cuts = 0;
    for Exchange { name, body, .. } in exchanges.iter().filter(|exchange| is_stream(exchange)) {
        cuts += body.len();
        let bytewise = check_every_cut(name, body);
        let (_, whole) = events_of(decoder(), body);
        assert_eq!(whole, bytewise, "{name}");
    }
    println!("cut recorded streams at {cuts} bytes");
    assert!(cuts > 0, "the manifest names no stream");
}

#[test]
fn every_recorded_refusal_is_understood() {
    let Some(exchanges) = recorded_exchanges() else { return };
    let mut compared = 0;
    for exchange in exchanges.iter().filter(|exchange| is_refusal(exchange)) {
        let Exchange { name, body, expected, .. } = exchange;
        let found = ErrorBody::read(body);
        let raw = &expected["error_body"];
        let (error, message) = match (&raw["error"], &raw["detail"]) {
            (error @ Value::Object(_), _) => (error, &error["message"]),
            (Value::String(_), _) => (raw, &raw["error"]),
            (_, detail) => (raw, detail),
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let expectation = ErrorBody {
            code: text(&error["code"]),
            kind: text(&error["type"]),
            param: text(&error["param"]),
            message: text(message),
        };
        assert_eq!(found, expectation, "{name}");
        let status = u16::try_from(expected["http_status"].as_u64().unwrap()).unwrap();
        let is_about_previous = found.code.as_deref() == Some("previous_response_not_found");
        assert_eq!(
            concerns_previous_response(Some(status), &found, None),
            is_about_previous,
            "{name}"
        );
        // The second is about a reasoning item whose follower is not the one that the service gave.
        let is_about_input =
            ["rejects-interleaved-function-calls", "thinking-with-modified-history"]
                .iter()
                .any(|about| name.contains(about));
        assert_eq!(concerns_input(status, &found), is_about_input, "{name}");
        compared += 1;
    }
    println!("compared {compared} recorded refusals");
    assert!(compared > 0, "the manifest names no refusal");
}

#[test]
fn every_recorded_item_that_can_be_replayed_is_valid_input() {
    let Some(exchanges) = recorded_exchanges() else { return };
    let (mut replayed, mut dropped) = (0, 0);
    for exchange in exchanges.iter().filter(|exchange| !is_refusal(exchange)) {
        let Ok(outcome) = read(ROOMY, [exchange.body.as_slice()]).1 else {
            continue;
        };
        let Some(output) = outcome.output() else {
            continue;
        };
        let stored: Vec<&RawValue> = output.items.iter().map(|item| &**item).collect();
        let mut items: Vec<String> = Vec::new();
        for_replay(&stored, true, &mut |item| items.push(item.get().to_owned()));
        let request = ResponsesRequest {
            model: "m",
            instructions: None,
            input: [],
            call: CallMembers::default(),
            include: &[ENCRYPTED_REASONING],
            store: false,
            stream: true,
            background: false,
            prompt_cache_key: None,
            safety_identifier: None,
            context_management: None,
            parameters: &[],
        };
        let (head, tail) = request.call.around_input(&request.template().unwrap()).unwrap();
        assert_published(&format!("{head}{}{tail}", items.join(",")));
        replayed += items.len();
        dropped += output.items.len() - items.len();
    }
    println!("replayed {replayed} recorded items as input, left {dropped} out");
    assert!(replayed > 0, "no recorded item was replayed");
}

/// Compares a reading with the expectation of the independent parser.
fn check(exchange: &Exchange, (told, end): &Reading) {
    let Exchange { name, body, expected, .. } = exchange;
    let status = expected["status"].as_str();
    if status.is_none() {
        // The independent parser is strict. It found no terminal event because the stream is cut, or
        // because the terminal event is no JSON or lacks its blank line. The product accepts the last.
        match end {
            Err(StreamFault::EndedEarly | StreamFault::Malformed(_)) => {}
            Ok(ResponseEnd::Completed(output)) => {
                assert_eq!(expected["ends_without_blank_line"], json!(true), "{name}");
                let strict = expected["output_text"].as_str().unwrap();
                assert!(output.text.ends_with(strict) && !strict.is_empty(), "{name}");
                assert!(body.ends_with(b"}\n"), "{name}: the terminal event is whole");
            }
            other => panic!("{name}: {other:?}"),
        }
        return;
    }
    let outcome = end.as_ref().unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
    let found = match outcome {
        ResponseEnd::Completed(_) => "completed",
        ResponseEnd::Incomplete { .. } => "incomplete",
        ResponseEnd::Failed(_) => "failed",
    };
    assert_eq!(Some(found), status, "{name}");
    if let ResponseEnd::Failed(ErrorBody { code, kind, message, .. }) = outcome {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        assert_eq!(*code, text(&expected["response_error"]["code"]), "{name}");
        assert_eq!(*message, text(&expected["response_error"]["message"]), "{name}");
        assert_eq!(*kind, text(&expected["error_event"]["error"]["type"]), "{name}");
    }
    let Some(output) = outcome.output() else {
        return;
    };
    if let ResponseEnd::Incomplete { reason, .. } = outcome {
        assert_eq!(json!(reason), expected["incomplete_reason"], "{name}");
    }
    let refusal = expected["refusal"].as_str();
    let all = format!("{}{}", expected["output_text"].as_str().unwrap(), refusal.unwrap_or(""));
    // The independent parser glues the messages together, commentary included.
    let text = match &output.text_with_commentary {
        None => all.clone(),
        Some(with) => {
            let (comment, answer) = with.split_once("\n\n").unwrap();
            assert_eq!(format!("{comment}{answer}"), all, "{name}");
            answer.to_owned()
        }
    };
    let calls: Vec<Value> = expected["function_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            json!([
                call["call_id"],
                call["name"],
                call["arguments"],
                call["status"] == "incomplete"
            ])
        })
        .collect();
    let usage = match &expected["usage"] {
        Value::Object(usage) => {
            let count = |member: &str| usage[member].as_u64().unwrap_or(0);
            let (input, output) = (count("input_tokens"), count("output_tokens"));
            let total = usage["total_tokens"].as_u64().unwrap_or(input + output);
            json!([input, count("cached_tokens"), output, count("reasoning_tokens"), total])
        }
        _ => Value::Null,
    };
    assert_eq!(
        json!({
            "response_id": output.response_id,
            "text": output.text,
            "shown": shown(told),
            "refusal": output.refusal,
            "calls": output
                .calls
                .iter()
                .map(|call| json!([call.call_id, call.name, call.arguments, call.cut]))
                .collect::<Vec<_>>(),
            "types": item_types(output),
            "usage": output.usage.map(|usage| {
                let counts = [usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens];
                [&counts[..], &[usage.reasoning_tokens, usage.total_tokens]].concat()
            }),
        }),
        json!({
            "response_id": expected["response_id"],
            "text": text,
            "shown": text,
            "refusal": refusal.is_some(),
            "calls": calls,
            "types": expected["output_item_types"],
            "usage": usage,
        }),
        "{name}"
    );
    let was_taken_back = told.iter().any(|progress| matches!(progress, TextProgress::Replaced(_)));
    assert!(!was_taken_back, "{name}: text was taken back");
}

fn decoder() -> SseDecoder {
    SseDecoder::new(1 << 20)
}

/// The decoder after one more chunk, and the events in it.
fn events_of(mut decoder: SseDecoder, chunk: &[u8]) -> (SseDecoder, Vec<SseEvent>) {
    decoder.push(chunk).unwrap();
    let events = std::iter::from_fn(|| decoder.next_event()).collect();
    (decoder, events)
}

/// Decodes byte by byte; from every byte on, 64 bytes as one chunk must do the same.
fn check_every_cut(name: &str, body: &[u8]) -> Vec<SseEvent> {
    const PROBE: usize = 64;
    let mut events = Vec::new();
    let mut current = decoder();
    // The states before the last 64 bytes, each with the number of events it had given.
    let mut earlier: VecDeque<(SseDecoder, usize)> = VecDeque::new();
    for (at, byte) in body.iter().enumerate() {
        earlier.push_back((current.clone(), events.len()));
        let (next, new) = events_of(current, std::slice::from_ref(byte));
        current = next;
        events.extend(new);
        let end = at + 1;
        while earlier.len() == PROBE || (end == body.len() && !earlier.is_empty()) {
            let start = end - earlier.len();
            let Some((state, count)) = earlier.pop_front() else {
                break;
            };
            let (state, new) = events_of(state, &body[start..end]);
            assert!(state == current && new == events[count..], "{name}, bytes {start} to {end}");
        }
    }
    events
}
