//! Replays whole responses of the model service through the wire format's reader.
//!
//! The tests read each body whole, byte by byte, and cut in two at every position: the end and
//! the text progress must never depend on how a network cuts. The bodies under
//! `fixtures/streams/` are hand-written; `recorded` replays recorded ones where they are at hand.

// A test fails by panicking, in its helper functions too.
mod recorded;

use aptix_edge::responses_api::{
    ErrorBody, ModelOutput, ResponseEnd, ResponseStream, StreamFault, StreamLimits, TextProgress,
    for_replay,
};
use bed::own_streams;
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::contract::memory::most_held;

const ROOMY: StreamLimits =
    StreamLimits { event_bytes: 1 << 20, output_bytes: 1 << 20, ..StreamLimits::RESPONSE };

/// One reading: the progress in order, without the empty ones, and how it ended.
type Reading = (Vec<TextProgress>, Result<ResponseEnd, StreamFault>);

fn read<'a>(limits: StreamLimits, chunks: impl IntoIterator<Item = &'a [u8]>) -> Reading {
    let mut stream = ResponseStream::new(limits);
    let mut told = Vec::new();
    for chunk in chunks {
        if let Err(fault) = stream.push(chunk, &mut |progress| told.push(progress)) {
            return (told, Err(fault));
        }
    }
    let end = stream.finish().map(|(progress, outcome)| {
        told.extend(Some(progress).filter(|progress| *progress != TextProgress::Nothing));
        outcome
    });
    (told, end)
}

/// The text on a reader's screen after all this progress.
fn shown(told: &[TextProgress]) -> String {
    told.iter().fold(String::new(), |shown, progress| match progress {
        TextProgress::Nothing | TextProgress::Commentary(_) | TextProgress::Reasoning(_) => shown,
        TextProgress::Text(more) => shown + more,
        TextProgress::Replaced(text) => text.clone(),
    })
}

/// An end with everything in it, as text. Output items have no equality of their own.
fn written(end: &Result<ResponseEnd, StreamFault>) -> String {
    format!("{end:?}")
}

fn item_types(output: &ModelOutput) -> Vec<String> {
    let kind = |item: &str| {
        let item: Value = serde_json::from_str(item).unwrap();
        item["type"].as_str().unwrap().to_owned()
    };
    output.items.iter().map(|item| kind(item.get())).collect()
}

/// A reading in the shape of the `.expect.json` files.
fn described((told, end): &Reading) -> Value {
    let progress: Vec<Value> = told
        .iter()
        .map(|progress| match progress {
            TextProgress::Nothing => json!(null),
            TextProgress::Text(text) => json!(text),
            TextProgress::Replaced(text) => json!({ "replaced": text }),
            TextProgress::Commentary(text) => json!({ "commentary": text }),
            TextProgress::Reasoning(text) => json!({ "reasoning": text }),
        })
        .collect();
    let mut described = json!({ "progress": progress });
    let mut say = |name: &str, value: Value| described[name] = value;
    let outcome = match end {
        Ok(outcome) => outcome,
        Err(fault) => {
            say("fault", json!(format!("{fault:?}")));
            return described;
        }
    };
    match outcome {
        ResponseEnd::Completed(_) => say("outcome", json!("completed")),
        ResponseEnd::Incomplete { output, reason } => {
            say("outcome", json!("incomplete"));
            say("reason", json!(reason));
            say("cut_call", json!(output.calls.iter().any(|call| call.cut)));
        }
        ResponseEnd::Failed(ErrorBody { code, kind, message, .. }) => {
            say("outcome", json!("failed"));
            say("code", json!(code));
            say("kind", json!(kind));
            say("message", json!(message));
        }
    }
    if let Some(output) = outcome.output() {
        let calls = output.calls.iter().map(|call| {
            json!({ "call_id": call.call_id, "name": call.name, "arguments": call.arguments, "cut": call.cut })
        });
        say("response_id", json!(output.response_id));
        say("text", json!(output.text));
        if let Some(text) = &output.text_with_commentary {
            say("text_with_commentary", json!(text));
        }
        if !output.citations.is_empty() {
            let cited = output.citations.iter();
            let cited = cited.map(|page| json!({ "url": page.url, "title": page.title }));
            say("citations", cited.collect());
        }
        say("refusal", json!(output.refusal));
        say("calls", calls.collect());
        say("item_types", json!(item_types(output)));
        say(
            "usage",
            output.usage.map_or(Value::Null, |usage| {
                json!({
                    "input": usage.prompt_tokens,
                    "cached": usage.cached_tokens,
                    "output": usage.completion_tokens,
                    "reasoning": usage.reasoning_tokens,
                    "total": usage.total_tokens,
                })
            }),
        );
    }
    described
}

#[test]
fn every_own_stream_reads_as_expected_however_it_is_cut() {
    for (name, body, expected) in own_streams() {
        let bytewise = read(ROOMY, body.chunks(1));
        assert_eq!(described(&bytewise), expected, "{name}");
        if let Some(output) = bytewise.1.as_ref().ok().and_then(ResponseEnd::output) {
            assert_eq!(shown(&bytewise.0), output.text, "{name}");
        }
        let same = |reading: Reading, how: &str| {
            assert_eq!(written(&reading.1), written(&bytewise.1), "{name}, {how}");
            // A fault in a chunk also takes the text before it in the chunk: the output is unusable.
            if bytewise.1.is_ok() {
                assert_eq!(shown(&reading.0), shown(&bytewise.0), "{name}, {how}");
            }
        };
        same(read(ROOMY, [body.as_slice()]), "whole");
        for cut in 1..body.len() {
            let (head, tail) = body.split_at(cut);
            same(read(ROOMY, [head, tail]), &format!("cut at {cut}"));
        }
    }
}

#[test]
fn a_body_cut_short_anywhere_ended_early() {
    for (name, body, _) in own_streams() {
        let whole = written(&read(ROOMY, [body.as_slice()]).1);
        for end in 0..body.len() {
            let (_, outcome) = read(ROOMY, [&body[..end]]);
            // A cut behind the terminal event's data, or behind unreadable data, changes nothing.
            let cut_short = matches!(outcome, Err(StreamFault::EndedEarly));
            let outcome = written(&outcome);
            assert!(cut_short || outcome == whole, "{name} ended at {end}: {outcome}");
        }
    }
}

#[test]
fn a_body_larger_than_its_limit_is_a_fault_and_a_body_of_exactly_its_limit_is_read() {
    let (_, body, expected) =
        own_streams().into_iter().find(|(name, ..)| name == "whole_json").unwrap();
    let with = |event_bytes| {
        read(
            StreamLimits { event_bytes, output_bytes: 1 << 20, ..StreamLimits::RESPONSE },
            body.chunks(7),
        )
    };
    assert_eq!(described(&with(body.len())), expected);
    let limit = body.len() - 1;
    assert_eq!(with(limit).1.unwrap_err(), StreamFault::OutputTooLarge(limit));
}

/// The faults of a body read whole, bytewise and in pieces of seven, which must be the same.
fn fault(limits: StreamLimits, body: &[u8]) -> Option<StreamFault> {
    let mut ends = [1, 7, body.len()].map(|size| read(limits, body.chunks(size)).1.err());
    assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
    ends[0].take()
}

const END: &str = "data: {\"type\":\"response.completed\",\"response\":{\"output\":[]}}\n\n";
const WHOLE: &str = "{\"status\":\"completed\",\"output\":[]}";

#[test]
fn what_stands_before_an_answer_may_be_as_long_as_its_limit_and_no_longer() {
    let limits = StreamLimits { lead_bytes: 1000, ..ROOMY };
    for (lead, answer) in [
        (" ", WHOLE),
        ("\n", WHOLE),
        ("\n", END),
        (":\n", END),
        (": a comment\n\n", END),
        ("new: field\n", END),
    ] {
        let fits = lead.repeat(1000 / lead.len());
        assert_eq!(fault(limits, (fits.clone() + answer).as_bytes()), None, "{lead:?}");
        let longer = fits + lead + &END.replace("data", "event: a\nid: b\nretry: 1\ndata");
        let end = fault(limits, longer.as_bytes());
        assert_eq!(end, Some(StreamFault::LeadTooLong(1000)), "{lead:?}");
    }
    let behind = String::from("event: x\ndata: {}\n\n") + &": comment\n".repeat(1000) + END;
    assert_eq!(fault(limits, behind.as_bytes()), None);
}

#[test]
fn a_body_may_have_as_many_bytes_and_events_as_its_limits_and_no_more() {
    let empty = "data:\n\n";
    let body = empty.repeat(9) + END;
    let of = |body_bytes, events| StreamLimits { body_bytes, events, ..ROOMY };
    // What follows the terminal event does not count.
    for body in [body.clone(), body.clone() + &empty.repeat(9)] {
        let bytes = empty.len() * 9 + END.len();
        assert_eq!(fault(of(bytes, 10), body.as_bytes()), None);
        let larger = Some(StreamFault::BodyTooLarge(bytes - 3));
        assert_eq!(fault(of(bytes - 3, 10), body.as_bytes()), larger);
        assert_eq!(fault(of(bytes, 9), body.as_bytes()), Some(StreamFault::TooManyEvents(9)));
    }
    let larger = Some(StreamFault::BodyTooLarge(WHOLE.len() - 1));
    assert_eq!(fault(of(WHOLE.len() - 1, 10), WHOLE.as_bytes()), larger);
}

#[test]
fn an_answer_of_more_items_or_parts_than_any_real_one_is_a_fault_and_more_annotations_are_left_out()
{
    let answer = |items: &str| WHOLE.replace("[]", &format!("[{items}]"));
    let many = |one: &str, count: usize| vec![one; count].join(",");
    let message = |parts: &str| format!(r#"{{"type":"message","content":[{parts}]}}"#);
    let too_many = Some(StreamFault::TooManyItems(1024));
    for (count, end) in [(1024, None), (1025, too_many)] {
        assert_eq!(fault(ROOMY, answer(&many(r#"{"type":"x"}"#, count)).as_bytes()), end);
        let parts = many(r#"{"type":"output_text","text":"a"}"#, count);
        assert_eq!(fault(ROOMY, answer(&message(&parts)).as_bytes()), end);
    }
    let pages = many(r#"{"type":"url_citation","url":"https://a.example"}"#, 700);
    let part = format!(r#"{{"type":"output_text","text":"a","annotations":[{pages}]}}"#);
    let body = answer(&message(&many(&part, 2)));
    let (_, end) = read(ROOMY, [body.as_bytes()]);
    assert_eq!(end.unwrap().output().unwrap().citations.len(), 1024);
}

#[test]
fn an_id_that_no_request_could_carry_is_none() {
    for (length, told) in [(4096, true), (4097, false)] {
        let id = "r".repeat(length);
        for body in [
            END.replace("{\"output", "{\"id\":\"ID\",\"output"),
            WHOLE.replace("{", "{\"id\":\"ID\","),
        ] {
            let (_, end) = read(ROOMY, [body.replace("ID", &id).as_bytes()]);
            let output = end.unwrap();
            assert_eq!(output.output().unwrap().response_id.is_some(), told, "{length}");
        }
    }
}

/// The most bytes of text on the reader's screen at one time, without what stands between messages.
fn largest_shown(told: &[TextProgress]) -> usize {
    let shown = |count| shown(&told[..count]).replace("\n\n", "").len();
    (0..=told.len()).map(shown).max().unwrap_or(0)
}

fn splices() -> impl Strategy<Value = Vec<u8>> {
    let bodies: Vec<Vec<u8>> = own_streams().into_iter().map(|(_, body, _)| body).collect();
    let piece =
        (prop::sample::select(bodies), any::<prop::sample::Index>(), any::<prop::sample::Index>())
            .prop_map(|(body, from, to)| {
                let (from, to) = (from.index(body.len()), to.index(body.len()));
                body[from.min(to)..from.max(to)].to_vec()
            });
    let lines = prop::sample::select(own_streams()).prop_flat_map(|(_, body, _)| {
        let lines: Vec<Vec<u8>> =
            body.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        prop::collection::vec(prop::sample::select(lines), 0..12).prop_map(|lines| lines.concat())
    });
    let noise = prop::collection::vec(any::<u8>(), 0..20);
    prop::collection::vec(prop_oneof![2 => piece, 3 => lines, 1 => noise], 0..6)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_the_reader_panic_or_exceed_its_limits(
        body in prop_oneof![splices(), prop::collection::vec(any::<u8>(), 0..200)],
        size in 1_usize..400,
        event_bytes in 0_usize..2000,
        output_bytes in 0_usize..500,
    ) {
        let limits = StreamLimits { event_bytes, output_bytes, ..StreamLimits::RESPONSE };
        let (told, end) = read(limits, body.chunks(size));
        prop_assert!(largest_shown(&told) <= output_bytes);
        if let Some(output) = end.as_ref().ok().and_then(ResponseEnd::output) {
            let items: usize = output.items.iter().map(|item| item.get().len()).sum();
            prop_assert!(items <= 2 * output_bytes + 2000);
            prop_assert_eq!(shown(&told), output.text.clone());
        }
    }

    #[test]
    fn the_outcome_does_not_depend_on_the_chunks_even_for_spliced_streams(
        body in splices(),
        size in 1_usize..100,
    ) {
        let (told, end) = read(ROOMY, body.chunks(size));
        let (told_whole, end_whole) = read(ROOMY, [body.as_slice()]);
        prop_assert_eq!(written(&end), written(&end_whole));
        if end.is_ok() {
            prop_assert_eq!(shown(&told), shown(&told_whole));
        }
    }
}

#[test]
fn a_character_that_was_cut_in_two_is_whole_where_the_response_is_read_on_between_its_halves() {
    let delta = |number: u8, text: &str| {
        format!(
            "data: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{number},\"output_index\":0,\"delta\":\"{text}\"}}\n\n"
        )
    };
    let (mut stream, mut told) = (ResponseStream::resumable(ROOMY), Vec::new());
    for (number, text) in [(1, r"a\ud83d"), (2, r"\ude00b")] {
        stream.push(delta(number, text).as_bytes(), &mut |progress| told.push(progress)).unwrap();
        stream.read_on("resp_1");
    }
    assert_eq!(shown(&told), "a😀b");
}

#[test]
fn no_text_is_lost_or_doubled_wherever_a_response_ends_before_it_is_read_on() {
    let event = |number: u8, members: &str| {
        format!("data: {{\"sequence_number\":{number},\"type\":\"response.{members}}}\n\n")
    };
    let delta = |number, text: &str| {
        event(number, &format!(r#"output_text.delta","output_index":0,"delta":"{text}""#))
    };
    let created = event(0, r#"created","response":{"id":"resp_1"}"#);
    let completed = event(3, r#"completed","response":{"id":"resp_1","status":"completed"}"#);
    let body = created + &delta(1, "One, ") + &delta(2, "two.") + &completed;
    for end in 1..body.len() {
        let (begin, _) = body.as_bytes().split_at(end);
        let (mut stream, mut told) = (ResponseStream::resumable(ROOMY), Vec::new());
        stream.push(begin, &mut |progress| told.push(progress)).unwrap();
        if stream.finish().is_err() {
            stream.read_on("resp_1");
            stream.push(body.as_bytes(), &mut |progress| told.push(progress)).unwrap();
            stream.finish().unwrap();
        }
        assert_eq!(shown(&told), "One, two.", "{end}");
    }
}

#[test]
fn a_response_is_whole_and_its_own_whatever_comes_behind_its_end() {
    let completed = |number: u8, id: &str| {
        format!(
            "data: {{\"type\":\"response.completed\",\"sequence_number\":{number},\"response\":{{\"id\":\"{id}\",\"status\":\"completed\",\"output\":[],\"usage\":{{\"input_tokens\":{number},\"output_tokens\":0,\"total_tokens\":{number}}}}}}}\n\n"
        )
    };
    let body = completed(1, "resp_1") + &completed(2, "resp_2");
    for is_read_on in [true, false] {
        let mut stream = ResponseStream::resumable(ROOMY);
        if is_read_on {
            stream.read_on("resp_1");
        }
        stream.push(body.as_bytes(), &mut |_| {}).unwrap();
        assert!(stream.finish().is_ok());
        let told = stream.reported();
        assert_eq!(told.response_id.as_deref(), Some("resp_1"));
        assert_eq!(told.usage.as_ref().map(|usage| usage.total_tokens), Some(1));
    }
}

/// So many pieces of JSON, each by its number.
fn many(piece: impl Fn(usize) -> String) -> String {
    (0..150_000).map(piece).collect::<Vec<_>>().join(",")
}

#[test]
fn an_error_inside_a_response_takes_a_few_times_its_length_of_memory_whatever_it_holds() {
    let limits = StreamLimits { event_bytes: 1 << 22, ..ROOMY };
    let error = format!(
        r#"{{"type":"server_error","code":"c","message":"m","details":[{}]}}"#,
        many(|_| r#"{"":0}"#.to_owned())
    );
    for body in [
        format!("data: {{\"type\":\"error\",\"error\":{error}}}\n\n"),
        format!("data: {{\"type\":\"response.failed\",\"response\":{{\"error\":{error}}}}}\n\n"),
        format!(r#"{{"status":"failed","error":{error}}}"#),
    ] {
        let ((_, end), held) = most_held(|| read(limits, [body.as_bytes()]));
        assert!(held < 8 * body.len(), "{held} bytes");
        let Ok(ResponseEnd::Failed(told)) = end else { panic!("{end:?}") };
        assert_eq!((told.kind.as_deref(), told.code.as_deref()), (Some("server_error"), Some("c")));
        assert!(told.message.unwrap().len() <= 1024);
    }
}

#[test]
fn an_item_takes_less_memory_than_its_length_where_it_is_sent_again_however_many_members_it_has() {
    let members = many(|n| format!(r#""m{n}":0"#));
    for (kind, is_sent) in [("unheard_of", false), ("web_search_call", true)] {
        let item = format!(r#"{{"id":"ws","status":"s","action":{{}},{members},"type":"{kind}"}}"#);
        let item = RawValue::from_string(item).unwrap();
        let mut sent = Vec::new();
        let write = &mut |item: &RawValue| sent.push(item.get().to_owned());
        let ((), held) = most_held(|| for_replay(&[&item], true, write));
        assert!(held < item.get().len(), "{kind}: {held} bytes");
        let known = r#"{"action":{},"id":"ws","status":"s","type":"web_search_call"}"#;
        assert_eq!(sent, if is_sent { vec![known] } else { Vec::new() });
    }
}
