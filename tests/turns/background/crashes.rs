//! An instance that is lost while it reads a background response: the next one reads the same response from its first
//! event, and watchers see no break.

use std::collections::BTreeSet;

use aptix_edge::live_text::Position;

use super::*;

fn streamed() -> Value {
    with(turn("t1", "Hello"), json!({ "Streaming": true }))
}

const TEXT: &str = "One two three four five six.";

/// A turn whose response has come up to some event when its instance is lost.
fn lost_at(events: usize) -> Bed {
    let bed = in_background();
    bed.world.model.script([long().paced(1_000).into()]);
    let _ = bed.send(&streamed());
    let began = bed.world.executor.now_ms();
    bed.run_until(
        |bed| bed.world.executor.now_ms() >= began + 1_000 * events as u64,
        "the events have come",
    );
    bed.run_at_once();
    bed.restart();
    bed
}

#[test]
fn a_watcher_that_comes_back_behind_a_crash_gets_the_rest_and_sees_no_break() {
    for events in 1..EVENTS {
        for length in (0..=TEXT.len()).filter(|length| *length <= 6 * events.saturating_sub(4)) {
            let bed = lost_at(events);
            let position = Position::parse(&format!("0.{length}"));
            let heard = bed.wait(&bed.send_from(&streamed(), position)).unwrap();
            let what = format!("{events} events, {length} bytes");
            assert_eq!(heard.final_text(), TEXT, "{what}");
            let frames = heard.frames.as_ref().unwrap();
            assert!(!frames.contains("discard"), "{what}: {frames}");
            let mut rest = String::new();
            for frame in frames.split("\n\n").filter(|frame| frame.contains("output_text.delta")) {
                let data = frame.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
                let data: Value = serde_json::from_str(data).unwrap();
                assert_eq!(data["Segment"], 0, "{what}");
                rest.push_str(data["Delta"].as_str().unwrap());
            }
            assert_eq!(rest, TEXT.get(length.min(TEXT.len())..).unwrap(), "{what}");
            assert_eq!((bed.world.model.requests(), reads(&bed).len()), (1, 1), "{what}");
            assert_eq!(bed.turn("t1").result()["Attempts"], 1);
            assert_eq!(bed.turn("t1").result()["Usage"]["TotalTokens"], USAGE);
            assert_eq!(model_calls(&bed, "t1")[0]["Resumed"], 1);
            assert_settled(&bed);
        }
    }
}

#[test]
fn a_response_that_is_lost_behind_a_crash_is_made_again_in_a_segment_of_its_own() {
    for at_once in [true, false] {
        let bed = lost_at(8);
        bed.world.model.script([say("Another text.").into()]);
        match at_once {
            true => bed.world.model.background.loses.set(true),
            false => {
                let failed =
                    [ReadAgain::Breaks(2), ReadAgain::Reply(http_error(404, json!({}), &[]))];
                bed.world.model.background.script(failed);
                bed.world.model.background.script([ReadAgain::Reply(http_error(
                    404,
                    json!({}),
                    &[],
                ))]);
            }
        }
        let began_at = bed.world.executor.now_ms();
        let heard = bed.wait(&bed.send_from(&streamed(), Position::parse("0.14"))).unwrap();
        assert_eq!(heard.final_text(), "Another text.");
        let took_ms = bed.world.executor.now_ms() - began_at;
        assert!(
            took_ms >= 1_375,
            "{took_ms} ms: the pause before a read, and that before a new call"
        );
        let frames = heard.frames.unwrap();
        assert!(frames.contains("event: output_text.discard\ndata: {\"Segment\":0}"), "{frames}");
        assert!(frames.contains("{\"Segment\":4,\"Delta\":\"Another "), "{frames}");
        assert_eq!(bed.world.model.requests(), 2);
        assert_settled(&bed);
        bed.assert_chain_held();
    }
}

/// Ends an instance at each durable step and before each write of a session with background responses.
#[test]
fn wherever_the_instance_ends_there_is_one_response_for_each_id_that_was_known() {
    let request = turn("t1", "One [plan: two-servers, mode:ddr]");
    let expected = "Welcome to records.\n\nAnswer to One.";
    let whole = in_background();
    let first = whole.post(&request);
    assert_eq!(first.final_text(), expected);
    let outcome = first.text;
    let (steps, writes) = (whole.disk.steps.get(), whole.disk.writes.get());
    let made = whole.world.model.requests();
    let mut resumed = 0;
    let crashes = (1..=steps).map(Crash::AfterStep).chain((1..=writes).map(Crash::BeforeWrite));
    for crash in crashes {
        for repeats in [true, false] {
            let bed = in_background_to_crash(Some(crash));
            let heard = bed.try_post(&request);
            let was_known = is_pending(&bed);
            if heard.is_none() || !bed.alive() {
                bed.restart();
                if !repeats {
                    bed.alarm();
                    bed.settle();
                }
            }
            let heard = bed.post(&request);
            let what = format!("{crash:?}, repeats: {repeats}");
            assert_eq!(heard.final_text(), expected, "{what}");
            bed.settle();
            // Only a response whose id was not durable yet is made again.
            let more = bed.world.model.requests() - made;
            assert!(more <= 1, "{what}: {more}");
            if was_known {
                resumed += 1;
                assert_eq!(heard.text, outcome, "{what}");
                assert_eq!(
                    (more, bed.turn("t1").result()["Attempts"].clone()),
                    (0, json!(1)),
                    "{what}"
                );
                assert_eq!(reads(&bed), ["stream"], "{what}");
            } else if more == 1 {
                assert_eq!(bed.turn("t1").result()["Attempts"], 2, "{what}");
            }
            assert_eq!(cancels(&bed), Vec::<String>::new(), "{what}");
            assert!(bed.world.tools.executions().values().all(|times| *times <= 2));
            assert_settled(&bed);
            super::super::replays::assert_replays(&bed, &what);
            bed.post(&turn("t2", "Two")).final_text();
            bed.assert_chain_held();
        }
    }
    assert!(resumed >= 6, "{resumed}");
}

fn is_pending(bed: &Bed) -> bool {
    let tables = bed.disk.read("SELECT 1 FROM sqlite_master WHERE name = 'turns'");
    !tables.is_empty()
        && !bed.disk.read("SELECT 1 FROM turns WHERE progress LIKE '%\"pending\":{%'").is_empty()
}

/// So many instances, one after the other, read a pending response and are lost; another one begins.
fn lose_instances(bed: &Bed, count: usize) {
    for _ in 0..count {
        bed.world.model.background.drop_script();
        bed.world.model.background.script([ReadAgain::Silent(2)]);
        bed.restart();
        bed.alarm();
        bed.run_at_once();
    }
    bed.world.model.background.drop_script();
    bed.restart();
}

/// Background responses, which the service is to delete with the session.
fn ask_for_deletion(catalog: &mut Value) {
    ask_for_background(catalog);
    catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true);
}

#[test]
fn a_response_is_read_through_five_lost_instances_and_then_the_turn_fails() {
    for lost in 1..=5 {
        let bed = in_background();
        bed.world.model.script([long().paced(1_000).silent_after(4).into()]);
        let _ = bed.send(&streamed());
        bed.run_until(is_pending, "the id is durable");
        lose_instances(&bed, lost);
        let heard = bed.post(&streamed());
        if lost < 5 {
            assert_eq!(heard.final_text(), TEXT, "{lost}");
            assert_eq!((bed.world.model.requests(), cancels(&bed).len()), (1, 0));
        } else {
            assert_eq!(heard.failure(), (500, "turn_interrupted"), "{lost}");
            bed.settle();
            assert_eq!(cancels(&bed), ["resp_1"]);
            assert_eq!(bed.post(&streamed()).final_text(), "Answer to Hello.");
        }
        assert_settled(&bed);
    }
}

#[test]
fn a_failed_turn_that_is_sent_again_is_read_through_as_many_lost_instances_again() {
    let bed = in_background();
    bed.world.model.script([long().paced(1_000).silent_after(4).into()]);
    let _ = bed.send(&streamed());
    bed.run_until(is_pending, "the id is durable");
    lose_instances(&bed, 3);
    let fault = http_error(401, json!({ "code": "invalid_api_key" }), &[]);
    bed.world.model.background.script([ReadAgain::Reply(fault)]);
    assert_eq!(bed.post(&streamed()).failure(), (502, "upstream_rejected"));
    bed.world.model.background.script([ReadAgain::Silent(2)]);
    let _ = bed.send(&streamed());
    bed.run_at_once();
    lose_instances(&bed, 3);
    assert_eq!(bed.post(&streamed()).final_text(), TEXT);
    assert_eq!((bed.world.model.requests(), cancels(&bed).len()), (1, 0));
    assert_settled(&bed);
}

#[test]
fn a_response_that_is_given_up_hides_no_lost_call_from_the_receipt() {
    let bed = in_background();
    bed.configure(ask_for_deletion);
    let stuck = || long().paced(1_000).silent_after(4).into();
    bed.world.model.script([stuck(), stuck()]);
    let _ = bed.send(&streamed());
    bed.run_until(|bed| bed.world.model.requests() == 1, "a call is under way");
    bed.restart();
    bed.alarm();
    bed.run_until(is_pending, "the id of the second response is durable");
    lose_instances(&bed, 5);
    assert_eq!(bed.post(&streamed()).failure(), (500, "turn_interrupted"));
    let erased = bed.try_erase().unwrap();
    assert_eq!(erased.result()["StoredResponses"]["Unknown"], 1, "{}", erased.text);
}

#[test]
fn a_crash_in_the_second_reading_is_followed_by_a_third_and_pays_nothing() {
    let whole = {
        let bed = lost_at(8);
        let before = bed.disk.steps.get();
        bed.post(&streamed()).final_text();
        bed.disk.steps.get() - before
    };
    for step in 1..=whole {
        let bed = lost_at(8);
        bed.restart_to_crash(Some(Crash::AfterStep(bed.disk.steps.get() + step)));
        let _ = bed.try_post(&streamed());
        bed.restart();
        assert_eq!(bed.post(&streamed()).final_text(), TEXT, "{step}");
        assert_eq!(bed.world.model.requests(), 1);
        assert_eq!(bed.turn("t1").result()["Usage"]["TotalTokens"], USAGE);
        assert_settled(&bed);
    }
}

#[test]
fn the_receipt_of_an_erasure_knows_each_response_once_wherever_an_instance_ended() {
    let configured = |crash| {
        let bed = Bed::with_crash(crash);
        bed.configure(ask_for_deletion);
        bed
    };
    let request = turn("t1", "One [plan: server]");
    let whole = configured(None);
    whole.post(&request).final_text();
    for step in 1..=whole.disk.steps.get() {
        let bed = configured(Some(Crash::AfterStep(step)));
        let _ = bed.try_post(&request);
        bed.restart();
        bed.post(&request).final_text();
        let made = bed.world.model.requests() as u64;
        let counts = bed.try_erase().unwrap().result()["StoredResponses"].clone();
        let sum = ["Deleted", "Unknown"].iter().map(|name| counts[*name].as_u64().unwrap());
        assert!(sum.sum::<u64>() >= made, "{step}: {counts} of {made}");
        let deleted: BTreeSet<String> =
            bed.world.model.deletions.borrow().iter().cloned().collect();
        assert_eq!(counts["Deleted"], deleted.len(), "{step}");
        assert_eq!(bed.world.model.held.borrow().len(), 0, "{step}: a response is left");
    }
}

/// A first attempt whose response has an id and fails, and a second one of which nothing is heard.
fn lost_in_the_second_attempt(background: bool) -> Bed {
    let bed = Bed::new();
    bed.configure(ask_for_deletion);
    if !background {
        bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
    }
    let failing = Answer { ending: Ending::Failed("server_error"), ..says(Vec::new()) };
    bed.world.model.script([failing.into(), Reply::Silence]);
    let _ = bed.send(&turn("t1", "Hello"));
    bed.run_until(|bed| bed.world.model.requests() == 2, "the second attempt is under way");
    bed.run_at_once();
    bed.restart();
    bed
}

#[test]
fn an_instance_that_is_lost_in_a_second_attempt_loses_its_response_though_the_first_had_an_id() {
    for background in [true, false] {
        let unknown = |bed: &Bed| {
            let erased = bed.try_erase().unwrap();
            erased.result()["StoredResponses"]["Unknown"].clone()
        };
        let bed = lost_in_the_second_attempt(background);
        assert_eq!(unknown(&bed), 1, "background: {background}, erased at once");
        let bed = lost_in_the_second_attempt(background);
        bed.post(&turn("t1", "Hello")).final_text();
        assert_eq!(unknown(&bed), 1, "background: {background}, gone on");
        assert_eq!(bed.world.model.held.borrow().len(), 0);
    }
}

#[test]
fn an_attempt_without_an_id_counts_once_though_the_response_behind_it_is_given_up() {
    for goes_on in [true, false] {
        let bed = in_background();
        bed.configure(ask_for_deletion);
        bed.world
            .model
            .script([long().breaks_after(0).into(), long().paced(1_000).silent_after(4).into()]);
        let _ = bed.send(&streamed());
        bed.run_until(is_pending, "the id of the second response is durable");
        lose_instances(&bed, if goes_on { 2 } else { 5 });
        match goes_on {
            true => assert_eq!(bed.post(&streamed()).final_text(), TEXT),
            false => assert_eq!(bed.post(&streamed()).failure(), (500, "turn_interrupted")),
        }
        let erased = bed.try_erase().unwrap();
        assert_eq!(erased.result()["StoredResponses"]["Unknown"], 1, "{}", erased.text);
    }
}
