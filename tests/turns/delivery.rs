//! The delivery of a turn's outcome: as JSON or as a stream, the first time and repeated
//! (interface §2, Delivery).

use aptix_edge::live_text::Position;
use serde_json::{Value, json};

use super::{input, names, user, watched};
use bed::*;

#[test]
fn a_plain_turn_is_one_call_and_a_follow_up_continues_it() {
    let bed = Bed::new();
    let first = bed.post(&turn("t1", "Hello there."));
    assert_eq!(
        first.text,
        concat!(
            r#"{"Successful":true,"Result":{"Kind":"final","SessionId":"s","TurnId":"t1","ModeDisplayName":"General","#,
            r#""PrimaryOutputText":"Answer to Hello.","Usage":{"PromptTokens":100,"CachedTokens":10,"CompletionTokens":20,"#,
            r#""ReasoningTokens":5,"TotalTokens":120}},"Errors":[],"Warnings":[]}"#
        )
    );
    assert_eq!(bed.post(&turn("t2", "Bye now.")).final_text(), "Answer to Bye.");

    let [one, two] = &bed.world.model.bodies()[..] else { panic!("there are other requests") };
    assert_eq!(
        input(one),
        [Said::System("Boot.".to_owned()), user("[MODE: general]\n\n[INSTRUCTION]\nHello there.")]
    );
    assert_eq!(input(two), [user("[MODE: general]\n\n[INSTRUCTION]\nBye now.")]);
    assert_eq!(one["previous_response_id"], Value::Null);
    assert_eq!(two["previous_response_id"], "resp_1");
    assert_eq!(names(one), ["ask", "lookup", "fragile", "agent_list_modes", "agent_change_mode"]);
    assert_eq!(names(two), names(one));
    bed.assert_chain_held();
}

#[test]
fn a_streamed_turn_gives_the_same_text_as_json_delivery_wherever_it_is_cut() {
    for bytes in [1, 7, 4096] {
        let bed = Bed::new();
        bed.world
            .model
            .script([say("Größer wird’s nicht: 😀.").in_chunks_of(bytes).paced(1).into()]);
        let request = with(turn("t1", "Hello"), json!({ "Streaming": true }));
        let heard = bed.post(&request);
        let (kept, result) = watched(heard.frames.as_ref().unwrap());
        assert_eq!(kept, "Größer wird’s nicht: 😀.");
        assert_eq!(result, heard.body);
        assert_eq!(heard.final_text(), kept);
        // Much later, from the start and from the middle.
        bed.restart();
        let again = bed.wait(&bed.attach("t1", None)).unwrap();
        assert_eq!(watched(again.frames.as_ref().unwrap()), (kept, result));
        let rest = bed.wait(&bed.attach("t1", Position::parse("0.10"))).unwrap();
        assert!(rest.frames.unwrap().contains(r#"{"Segment":0,"Delta":"ird’s nicht: 😀."}"#));
    }
}

#[test]
fn who_has_the_result_gets_it_again_by_post_and_nothing_more_by_get() {
    let bed = Bed::new();
    let request = with(turn("t1", "Hello"), json!({ "Streaming": true }));
    let end = [("Last-Event-ID", "end")];
    let posted = || bed.wait(&bed.ask("POST", "/execute", &end, &request.to_string())).unwrap();
    let watched_by_get = |turn: &str| {
        bed.wait(&bed.ask("GET", &format!("/sessions/s/turns/{turn}/stream"), &end, "")).unwrap()
    };
    bed.world.model.script([failed("server_error")]);
    assert_eq!(bed.post(&request).status, 502);
    // The end of a failed run says nothing about the text of the next.
    let first = posted();
    let frames = first.frames.as_ref().unwrap();
    assert_eq!(watched(frames).0, first.final_text());
    let result = format!("event: result\nid: end\ndata: {}\n\n", first.text);
    assert!(frames.len() > result.len() && frames.ends_with(&result), "{frames}");
    for restarted in [false, true] {
        if restarted {
            bed.restart();
        }
        assert_eq!(posted().frames.unwrap(), result);
        let heard = watched_by_get("t1");
        assert_eq!((heard.status, heard.text.as_str()), (204, ""));
    }
    assert_eq!(watched_by_get("t2").failure(), (404, "turn_not_found"));
}

#[test]
fn a_watcher_of_a_lost_or_failed_attempt_ends_with_the_text_of_the_next() {
    for restarted in [false, true] {
        let bed = Bed::new();
        let request = with(turn("t1", "Hello"), json!({ "Streaming": true }));
        let lost: Reply = match restarted {
            true => say("Never to be finished.").silent_after(7).into(),
            false => failed("server_error"),
        };
        bed.world.model.script([lost]);
        let first = bed.send(&request);
        if restarted {
            bed.run_at_once();
            bed.restart();
        } else {
            assert!(bed.wait(&first).unwrap().frames.unwrap().contains("id: 0.8"));
        }
        // The watcher has eight bytes of a text that will never be completed.
        let heard = bed.wait(&bed.send_from(&request, Position::parse("0.8"))).unwrap();
        let frames = heard.frames.as_ref().unwrap();
        assert!(
            frames.starts_with("event: output_text.discard\ndata: {\"Segment\":0}\n\n"),
            "{frames}"
        );
        assert_eq!(watched(frames).0, heard.final_text());
    }
}

#[test]
fn values_of_more_than_a_megabyte_survive_a_restart() {
    let bed = Bed::new();
    let long = |name: &str| format!("{name} {}", "ä😀x".repeat(300_000));
    let said = long("Said");
    let request = with(
        turn("t1", &format!("Ask [plan: client] {said}")),
        json!({ "SolutionContextText": long("Context"), "Streaming": true }),
    );
    let asked = bed.post(&request).calls();
    bed.restart();
    bed.world.model.script([say(&long("Answer")).into()]);
    let continued = results("t1", &[(&asked[0], json!(long("Result")))]);
    let heard = bed.post(&continued);
    assert_eq!(heard.final_text(), long("Answer"));
    bed.restart();
    assert_eq!(bed.post(&continued).text, heard.text);
    bed.world.model.forget();
    bed.post(&turn("t2", "Next")).final_text();
    let conversation = bed.world.model.conversation();
    assert_eq!((conversation.heard(&said), conversation.heard(&long("Context"))), (1, 1));
    assert_eq!(conversation.outputs()[0].1, json!(long("Result")).to_string());
    assert!(conversation.said().contains(&Said::Assistant(long("Answer"))));
    bed.assert_chain_held();
}
