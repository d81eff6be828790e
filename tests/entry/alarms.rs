//! The alarm of a session's object: it watches over accepted work from the moment of admission.

use bed::*;
use serde_json::json;

const EVERY_MS: u64 = 30_000;

fn alarm_in(bed: &Bed) -> Option<u64> {
    bed.world.alarm_at.get().map(|at| at - bed.world.executor.now_ms())
}

#[test]
fn what_is_accepted_sets_the_alarm_and_what_is_refused_or_only_looked_at_does_not() {
    let bed = Bed::new();
    bed.session();
    bed.post(&json!({ "SessionId": "s", "TurnId": "t" }));
    bed.post(&with(turn("t", "Hello"), json!({ "AgentContextId": "none" })));
    bed.post(&results("t", &[("call", json!(1))]));
    assert_eq!(alarm_in(&bed), None);
    bed.send_to_silence(&turn("t", "Hello"));
    assert_eq!(alarm_in(&bed), Some(EVERY_MS));
}

#[test]
fn an_alarm_that_cannot_be_set_accepts_nothing() {
    let bed = Bed::new();
    bed.world.alarm_fails.set(true);
    assert_eq!(bed.post(&turn("t", "Hello")).failure(), (500, "internal"));
    assert_eq!((bed.disk.rows_written.get(), bed.world.model.requests()), (0, 0));
    bed.world.alarm_fails.set(false);
    bed.post(&turn("t", "Hello")).final_text();
}

#[test]
fn a_turn_that_runs_keeps_its_alarm_and_one_that_has_ended_does_not() {
    let bed = Bed::new();
    let pending = bed.send_to_silence(&turn("t", "Hello"));
    for _ in 0..3 {
        bed.alarm();
        assert_eq!(alarm_in(&bed), Some(EVERY_MS));
    }
    bed.try_cancel("t").unwrap();
    bed.wait(&pending).unwrap();
    bed.alarm();
    assert_eq!(alarm_in(&bed), None);
}

#[test]
fn an_alarm_that_can_not_do_its_work_rings_again_and_says_why() {
    let bed = Bed::new();
    bed.deploy("TURN_ALARM_MS", "5000");
    bed.send_to_silence(&turn("t", "Hello"));
    assert_eq!(alarm_in(&bed), Some(5_000));
    bed.restart();
    bed.spoil_catalog();
    bed.alarm();
    assert_eq!(alarm_in(&bed), Some(5_000));
    let log = bed.world.log.take();
    assert!(
        log.iter().any(|line| line["event"] == "alarm_failed" && line["code"] == "catalog_invalid")
    );
    // An invalid variable does not stop the alarm.
    bed.deploy("TURN_ALARM_MS", "soon");
    bed.alarm();
    assert_eq!(alarm_in(&bed), Some(EVERY_MS));
    bed.deploy("TURN_ALARM_MS", "5000");
    bed.configure(|_| ());
    bed.alarm();
    bed.settle();
    assert_eq!(bed.status("t"), "completed");
}

#[test]
fn a_turn_that_waits_for_its_context_for_days_says_so_ever_more_rarely() {
    const MINUTE_MS: u64 = 60_000;
    let bed = Bed::new();
    bed.send_to_silence(&turn("t", "Hello"));
    bed.restart();
    bed.configure(|catalog| {
        let contexts = catalog["ConversationContexts"].as_object_mut().unwrap();
        let default = contexts.remove("default").unwrap();
        contexts.insert("other".to_owned(), default);
    });
    let until = bed.world.executor.now_ms() + 24 * 60 * MINUTE_MS;
    while bed.world.executor.now_ms() < until {
        let wait_ms = alarm_in(&bed).unwrap();
        assert!((EVERY_MS..=10 * MINUTE_MS).contains(&wait_ms), "{wait_ms}");
        bed.world.executor.set_now_ms(bed.world.executor.now_ms() + wait_ms);
        bed.alarm();
    }
    let log = bed.world.log.take();
    let failed = log.iter().filter(|line| line["event"] == "alarm_failed");
    assert!(failed.count() < 6 * 24 + 60);
    bed.configure(|_| ());
    bed.world.model.script([say("Done.").into()]);
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + alarm_in(&bed).unwrap());
    bed.alarm();
    bed.settle();
    assert_eq!(bed.status("t"), "completed");
}

#[test]
fn an_erased_session_leaves_no_alarm_unless_responses_are_still_to_be_deleted() {
    let bed = Bed::new();
    bed.post(&turn("t", "Hello")).final_text();
    bed.try_erase().unwrap();
    assert_eq!(alarm_in(&bed), None);
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
    bed.post(&turn("t", "Hello")).final_text();
    bed.world.model.keeps_everything.set(true);
    let receipt = bed.try_erase().unwrap();
    assert_eq!(receipt.result()["StoredResponses"]["Pending"], 1);
    assert_eq!(alarm_in(&bed), Some(EVERY_MS));
    bed.world.model.keeps_everything.set(false);
    bed.world.executor.set_now_ms(bed.world.alarm_at.get().unwrap());
    bed.try_alarm().unwrap();
    assert_eq!(alarm_in(&bed), None);
}
