//! Commentary of the model apart from its answer (interface §2, The result and Delivery).

use serde_json::{Value, json};

use super::watched;
use bed::*;

fn message(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn the_answer_is_every_message_but_the_commentary_a_blank_line_apart() {
    let items = vec![
        Item::Commentary(message(&["Let me ", "look."])),
        Item::Text(message(&["Found ", "it."])),
        Item::Text(message(&["In ", "a.rs."])),
    ];
    for (streaming, as_json) in [(true, false), (true, true), (false, false)] {
        let bed = Bed::new();
        bed.world.model.script([Answer { as_json, ..says(items.clone()) }.into()]);
        let heard = bed.post(&with(turn("t1", "Look"), json!({ "Streaming": streaming })));
        assert_eq!(heard.final_text(), "Found it.\n\nIn a.rs.");
        if let Some(frames) = &heard.frames {
            assert!(!frames.contains("discard"), "{frames}");
            assert_eq!(watched(frames).0, heard.final_text());
        }
    }
}

#[test]
fn commentary_is_the_answer_where_there_is_no_other_and_comes_as_a_segment_at_the_end() {
    let bed = Bed::new();
    let comment = Item::Commentary(message(&["Let me ", "look."]));
    bed.world.model.script([says(vec![comment]).into()]);
    let heard = bed.post(&with(turn("t1", "Look"), json!({ "Streaming": true })));
    assert_eq!(heard.final_text(), "Let me look.");
    let delta =
        "event: output_text.delta\nid: 0.12\ndata: {\"Segment\":0,\"Delta\":\"Let me look.\"}\n\n";
    assert!(heard.frames.unwrap().starts_with(delta));
}

#[test]
fn beside_client_calls_the_commentary_is_part_of_the_message() {
    let ask = || call("ask", json!({ "q": "?" }));
    let comment = || Item::Commentary(message(&["Let me ", "look."]));
    let text = || Item::Text(message(&["I need ", "a file."]));
    let whole = "Let me look.\n\nI need a file.";
    for (items, told) in [
        (vec![comment(), text(), ask()], whole),
        (vec![comment(), ask()], "Let me look."),
        (vec![text(), ask()], "I need a file."),
    ] {
        let bed = Bed::new();
        bed.world.model.script([says(items).into()]);
        let request = with(turn("t1", "Look"), json!({ "Streaming": true }));
        let heard = bed.post(&request);
        assert_eq!(heard.result()["ToolContinuationMessage"], told);
        assert_eq!(watched(heard.frames.as_ref().unwrap()).0, told);
        bed.restart();
        assert_eq!(watched(bed.post(&request).frames.as_ref().unwrap()).0, told);
        let asked = heard.calls();
        let heard = bed.post(&results("t1", &[(asked[0].as_str(), json!(1))]));
        assert_eq!(watched(heard.frames.as_ref().unwrap()).0, heard.final_text());
        bed.assert_chain_held();
        super::replays::assert_replays(&bed, "commentary");
    }
}

#[test]
fn text_that_turns_out_to_be_commentary_is_taken_back_at_once() {
    let bed = Bed::new();
    let event = |event: Value| format!("data: {event}\n\n");
    let item = |phase: &str, text: &str| {
        json!({ "type": "message", "role": "assistant", "phase": phase,
            "content": [{ "type": "output_text", "text": text }] })
    };
    let delta = |index: u64, text: &str| {
        event(json!({ "type": "response.output_text.delta", "output_index": index, "delta": text }))
    };
    let (comment, answer) = (item("commentary", "Let me look."), item("final_answer", "Found it."));
    let events = [
        delta(0, "Let me "),
        delta(0, "look."),
        event(json!({ "type": "response.output_item.done", "output_index": 0, "item": comment })),
        delta(1, "Found "),
        delta(1, "it."),
        event(json!({ "type": "response.completed",
            "response": { "id": "resp_x", "status": "completed", "output": [comment, answer] } })),
    ];
    let pieces = events.iter().flat_map(|event| [Piece::text(event), Piece::Silence(50)]);
    bed.world.model.script([Reply::Http(HttpReply::in_pieces(200, pieces))]);
    let heard = bed.post(&with(turn("t1", "Look"), json!({ "Streaming": true })));
    let frames = heard.frames.as_ref().unwrap();
    let (taken_back, kept) = frames.split_once("event: output_text.discard").unwrap();
    assert!(taken_back.contains("look.") && kept.contains("id: 1.6\n"), "{frames}");
    assert_eq!((watched(frames).0.as_str(), heard.final_text()), ("Found it.", "Found it."));
}
