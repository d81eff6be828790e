//! Responses that nobody reads any more are cancelled at the service: at once, and by the alarm where it gave no answer.

use super::*;

fn running(bed: &Bed, events: usize) -> Pending {
    bed.world.model.script([long().paced(10_000).silent_after(events).into()]);
    let pending = bed.send(&with(turn("t1", "Hello"), json!({ "Streaming": true })));
    let is_pending = "SELECT 1 FROM turns WHERE progress LIKE '%\"pending\":{%'";
    bed.run_until(|bed| bed.disk.read(is_pending).len() == 1, "the id is durable");
    pending
}

#[test]
fn a_cancelled_turn_cancels_its_response_once_wherever_the_response_is() {
    for events in 1..EVENTS {
        for crashes in [false, true] {
            let bed = in_background();
            let pending = running(&bed, events);
            let now = bed.world.executor.now_ms();
            bed.world.executor.set_now_ms(now + 10_000 * events as u64);
            if crashes {
                bed.restart();
            }
            bed.try_cancel("t1").unwrap();
            if !crashes {
                assert_eq!(bed.wait(&pending).unwrap().failure(), (409, "turn_aborted"));
            }
            bed.settle();
            assert_eq!(cancels(&bed), ["resp_1"], "{events} events, crash: {crashes}");
            assert_eq!(bed.world.model.requests(), 1);
            assert_settled(&bed);
            bed.try_alarm().unwrap();
            assert_eq!(cancels(&bed).len(), 1);
            bed.post(&turn("t2", "Two")).final_text();
            bed.assert_chain_held();
        }
    }
}

#[test]
fn a_turn_that_is_cancelled_before_the_response_has_a_name_waits_for_the_name() {
    let bed = in_background();
    bed.world.model.script([long().paced(1_500).into()]);
    let pending = bed.send(&turn("t1", "Hello"));
    bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
    bed.run_at_once();
    bed.try_cancel("t1").unwrap();
    assert_eq!(bed.wait(&pending).unwrap().failure(), (409, "turn_aborted"));
    bed.settle();
    assert_eq!(cancels(&bed), ["resp_1"]);
    assert_settled(&bed);
    bed.post(&turn("t2", "Two")).final_text();
    super::super::replays::assert_replays(&bed, "cancelled");
}

#[test]
fn a_turn_that_is_out_of_time_cancels_its_response() {
    let bed = in_background();
    bed.deploy("TURN_TIMEOUT_MS", "60000");
    bed.world.model.script([long().paced(10_000).breaks_after(2).into()]);
    bed.world.model.background.script(vec![ReadAgain::Reply(http_error(404, json!({}), &[]))]);
    assert_eq!(bed.post(&turn("t1", "Hello")).failure(), (504, "upstream_timeout"));
    bed.settle();
    assert_eq!(cancels(&bed), ["resp_1"]);
    assert_settled(&bed);
    bed.post(&turn("t1", "Hello")).final_text();
}

#[test]
fn a_steer_that_interrupts_cancels_the_response_that_it_drops() {
    for crashes in [false, true] {
        let bed = in_background();
        let pending = running(&bed, 6);
        let steered = bed.steer("t1", &with(steer("s1", "Other."), json!({ "Interrupt": true })));
        assert_eq!(steered.status, 202);
        if crashes {
            bed.restart();
            bed.alarm();
        }
        bed.settle();
        assert_eq!(cancels(&bed), ["resp_1"], "crash: {crashes}");
        assert_eq!(bed.status("t1"), "completed");
        assert_eq!(bed.world.model.requests(), 2);
        assert_eq!(bed.world.model.conversation().heard("Other."), 1);
        assert_settled(&bed);
        drop(pending);
        bed.assert_chain_held();
    }
}

#[test]
fn a_steer_that_finds_a_lost_instance_interrupts_the_response_that_is_read_on() {
    let bed = in_background();
    let _ = running(&bed, 6);
    bed.restart();
    let steered = bed.steer("t1", &with(steer("s1", "Other."), json!({ "Interrupt": true })));
    assert_eq!(steered.status, 202);
    bed.settle();
    assert_eq!((bed.status("t1").as_str(), cancels(&bed).len()), ("completed", 1));
    let calls = model_calls(&bed, "t1");
    assert_eq!((calls.len(), &calls[0]["Interrupted"]), (2, &json!(true)));
    assert_eq!(calls[0]["Usage"]["Estimated"], true);
    assert_eq!(bed.world.model.conversation().heard("Other."), 1);
    assert_settled(&bed);
    bed.assert_chain_held();
}

#[test]
fn a_steer_that_does_not_interrupt_waits_for_the_response_even_through_a_crash() {
    let bed = in_background();
    let _ = running(&bed, 6);
    assert_eq!(bed.steer("t1", &steer("s1", "Other.")).status, 202);
    bed.restart();
    bed.alarm();
    bed.settle();
    assert_eq!((bed.status("t1").as_str(), bed.world.model.requests()), ("completed", 2));
    assert_eq!((cancels(&bed).len(), reads(&bed)), (0, vec!["stream".to_owned()]));
    let conversation = bed.world.model.conversation();
    assert_eq!((conversation.heard("Hello"), conversation.heard("Other.")), (1, 1));
    assert_settled(&bed);
    bed.assert_chain_held();
}

#[test]
fn a_service_that_gives_no_answer_is_asked_three_times_more_by_the_alarm() {
    let no_answer = || CancelReply::Unreachable;
    for (script, expected) in [
        (vec![no_answer(), CancelReply::Status(500), CancelReply::Status(401)], 4),
        (vec![no_answer()], 2),
        (vec![CancelReply::Status(404)], 1),
        (vec![no_answer(); 9], 4),
    ] {
        let bed = in_background();
        bed.world.model.background.script_cancels(script.clone());
        let _ = running(&bed, 4);
        bed.try_cancel("t1").unwrap();
        bed.settle();
        for _ in 0..6 {
            let Some(at) = bed.world.alarm_at.get() else { break };
            bed.world.executor.set_now_ms(at.max(bed.world.executor.now_ms()));
            bed.alarm();
            bed.settle();
        }
        assert_eq!(cancels(&bed).len(), expected, "{script:?}");
        assert_settled(&bed);
        let given_up = bed.world.log.borrow().iter().any(|line| line["event"] == "cancel_failed");
        assert_eq!(given_up, script.len() == 9);
    }
}

#[test]
fn an_erasure_cancels_before_it_deletes_and_its_receipt_adds_up() {
    for (delete_stored, crash) in [(true, false), (true, true), (false, false)] {
        let bed = in_background();
        bed.configure(|catalog| {
            ask_for_background(catalog);
            catalog["AgentContexts"]["default"]["DeleteStored"] = json!(delete_stored);
        });
        bed.world.model.script([say("Yes.").into()]);
        bed.post(&turn("t0", "First")).final_text();
        let _ = running(&bed, 6);
        if crash {
            bed.restart();
            bed.spoil_catalog();
            // The turn waits for the operator, and nobody reads its response.
            bed.alarm();
            bed.settle();
            bed.configure(|catalog| {
                ask_for_background(catalog);
                catalog["AgentContexts"]["default"]["DeleteStored"] = json!(delete_stored);
            });
        }
        let receipt = bed.try_erase().unwrap().result().clone();
        bed.settle();
        assert_eq!(cancels(&bed), ["resp_2"], "{delete_stored} {crash}");
        let deletions = bed.world.model.deletions.borrow().clone();
        if delete_stored {
            let counts = &receipt["StoredResponses"];
            assert_eq!(
                (&counts["Deleted"], &counts["Unknown"]),
                (&json!(2), &json!(0)),
                "{counts}"
            );
            assert_eq!(deletions, ["resp_1", "resp_2"]);
        } else {
            assert_eq!(deletions, Vec::<String>::new());
        }
        bed.try_alarm().unwrap();
        bed.settle();
        assert_eq!(bed.session().status, 404);
    }
}

#[test]
fn the_response_of_a_failed_turn_is_cancelled_when_its_session_is_erased() {
    let bed = in_background();
    bed.world.model.script([long().paced(100_000).breaks_after(6).into()]);
    let refused = http_error(401, json!({}), &[]);
    bed.world.model.background.script([ReadAgain::Reply(refused)]);
    bed.world.model.background.script_cancels([CancelReply::Unreachable]);
    assert_eq!(bed.post(&turn("t1", "One")).failure(), (502, "upstream_rejected"));
    bed.try_erase().unwrap();
    assert_eq!(cancels(&bed), ["resp_1"]);
    // The alarm goes on without a session, and frees the storage afterwards.
    for _ in 0..3 {
        let at = bed.world.alarm_at.get().unwrap_or_default();
        bed.world.executor.set_now_ms(at.max(bed.world.executor.now_ms()));
        bed.try_alarm().unwrap();
        bed.settle();
    }
    assert_eq!(cancels(&bed), ["resp_1", "resp_1"]);
    assert_eq!(bed.world.alarm_at.get(), None);
}

#[test]
fn the_response_of_a_turn_whose_progress_is_long_is_cancelled_too() {
    let bed = in_background();
    let words = Item::Text(vec!["Long words. ".repeat(50_000)]);
    bed.world.model.script([says(vec![words, call("ask", json!({}))]).into()]);
    let paused = bed.post(&turn("t1", "One"));
    bed.world.model.script([long().paced(100_000).breaks_after(6).into()]);
    bed.world.model.background.script([ReadAgain::Reply(http_error(401, json!({}), &[]))]);
    let failed = bed.post(&results("t1", &[(&paused.calls()[0], json!(1))]));
    assert_eq!(failed.failure(), (502, "upstream_rejected"));
    assert_eq!(bed.disk.read("SELECT 1 FROM turns WHERE progress LIKE '@%'").len(), 1);
    bed.try_erase().unwrap();
    bed.settle();
    assert_eq!(cancels(&bed).len(), 1);
}

#[test]
fn a_session_that_begins_anew_in_the_same_instance_has_its_responses_cancelled_too() {
    let bed = in_background();
    for life in 1..=3 {
        let _ = running(&bed, 4);
        bed.try_cancel("t1").unwrap();
        bed.settle();
        assert_eq!(cancels(&bed).len(), life);
        assert_eq!(bed.try_erase().unwrap().status, 200);
        bed.settle();
        let tables = bed.disk.read("SELECT 1 FROM sqlite_master");
        assert_eq!(tables.len(), 0, "the storage is free");
    }
}

#[test]
fn a_response_is_cancelled_however_long_the_catalog_was_invalid() {
    let bed = in_background();
    let _ = running(&bed, 4);
    bed.restart();
    bed.spoil_catalog();
    bed.try_cancel("t1").unwrap();
    for _ in 0..10 {
        bed.settle();
        let at = bed.world.alarm_at.get().expect("a cancellation waits without an alarm");
        bed.world.executor.set_now_ms(at.max(bed.world.executor.now_ms()));
        bed.alarm();
    }
    bed.settle();
    assert_eq!(cancels(&bed).len(), 0, "nobody can be asked");
    bed.configure(ask_for_background);
    let at = bed.world.alarm_at.get().unwrap();
    bed.world.executor.set_now_ms(at.max(bed.world.executor.now_ms()));
    bed.alarm();
    bed.settle();
    assert_eq!(cancels(&bed).len(), 1);
    assert_settled(&bed);
}
