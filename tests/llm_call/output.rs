//! What is made of a response: its text while it comes, and its output.

use aptix_edge::contract::{ErrorCode, Fault, Usage};
use aptix_edge::llm_call::{UsableOutput, call};
use aptix_edge::responses_api::{FunctionCall, ResponseFacts, TextProgress};
use bed::{HttpReply, LoneStep, Piece};

use super::{
    CALL, Ear, MESSAGE, PAUSE_MS, completed, delta, ended, endpoint, event, failed, heard_from,
    stream, usable,
};

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
    let usage =
        Usage { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, ..Usage::default() };
    assert_eq!(output.usage, Some(usage));
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
fn an_audience_learns_of_a_response_once_for_each_thing_that_is_said() {
    let created = event(r#"{"type":"response.created","response":{"id":"resp_1","usage":null}}"#);
    let counted = r#""output":[],"usage":{"input_tokens":3,"output_tokens":4}"#;
    let body = created.clone() + &created + &delta("Hi") + &ended("completed", counted);
    let step = LoneStep::replying([HttpReply::new(200, &body)]);
    let mut ear = Ear::listening_from(&step, 0);
    step.run(call(&step.platform, &endpoint(), "{}".to_owned(), &mut stream(), &mut ear)).unwrap();
    let usage =
        Usage { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7, ..Usage::default() };
    let (response_id, model) = (Some("resp_1".to_owned()), None);
    let whole = ResponseFacts { response_id, usage: Some(usage), model };
    assert_eq!(ear.learned, [whole]);
}
