//! The erasure of a session succeeds whatever happens meanwhile: its rows go in one step, its
//! stored responses at the model service later.

use bed::*;
use serde_json::{Value, json};

/// A session with three responses at the model service, and a turn that waits for its client.
fn filled(crash: Option<Crash>) -> Bed {
    let bed = Bed::with_crash(crash);
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
    bed.post(&turn("t1", "One [plan: server]")).final_text();
    bed.post(&turn("t2", "Two [plan: client]")).calls();
    bed
}

fn tables(bed: &Bed) -> usize {
    bed.disk.read("SELECT 1 FROM sqlite_master WHERE type = 'table'").len()
}

fn counts(receipt: &Value) -> Value {
    let mut counts = receipt.clone();
    let members = counts.as_object_mut().unwrap();
    for changing in ["ErasedAt", "StoredResponses"] {
        members.remove(changing).unwrap();
    }
    counts
}

#[test]
fn an_erasure_that_is_cut_anywhere_has_happened_or_not_and_is_completed_by_repeating_it() {
    let bed = filled(None);
    let before = (bed.disk.steps.get(), bed.disk.writes.get());
    assert_eq!(bed.world.model.stored(), 3);
    let receipt = bed.try_erase().unwrap().result().clone();
    assert_eq!(
        receipt["StoredResponses"],
        json!({ "Deleted": 3, "Pending": 0, "Refused": 0, "Unreachable": 0 })
    );
    assert_eq!((tables(&bed), bed.world.model.stored()), (0, 0));
    let after = (bed.disk.steps.get(), bed.disk.writes.get());
    assert!(after.0 > before.0 + 1 && after.1 > before.1 + 8, "{before:?} {after:?}");

    let crashes = (before.0..after.0).map(|step| Crash::AfterStep(step + 1));
    for crash in crashes.chain((before.1..after.1).map(|write| Crash::BeforeWrite(write + 1))) {
        let bed = filled(Some(crash));
        let heard = bed.try_erase();
        assert_eq!(heard, None, "{crash:?}");
        bed.restart();
        // The session is whole or gone.
        let erased = bed.session().status == 404;
        assert!(erased || bed.turn("t2").result()["Status"] == "awaiting_tools", "{crash:?}");
        let completed = bed.world.model.stored() == 0 && tables(&bed) == 0;
        match bed.try_erase().unwrap() {
            // No receipt is left.
            again if again.status == 404 => assert!(completed, "{crash:?}"),
            again => assert_eq!(counts(again.result()), counts(&receipt), "{crash:?}"),
        }
        assert_eq!((tables(&bed), bed.world.model.stored()), (0, 0), "{crash:?}");
        assert_eq!(bed.post(&turn("t1", "Anew")).final_text(), "Answer to Anew.", "{crash:?}");
    }
}

#[test]
fn an_alarm_completes_an_erasure_that_was_cut() {
    let bed = filled(None);
    let steps = bed.disk.steps.get();
    let bed = filled(Some(Crash::AfterStep(steps + 1)));
    assert_eq!(bed.try_erase(), None);
    assert_eq!(bed.world.model.stored(), 3);
    bed.restart();
    bed.try_alarm().unwrap();
    assert_eq!((tables(&bed), bed.world.model.stored()), (0, 0));
    bed.try_alarm().unwrap();
}

#[test]
fn an_alarm_that_rings_while_an_erasure_goes_on_leaves_it_alone() {
    let bed = filled(None);
    bed.world.model.keeps_everything.set(true);
    bed.world.shake(1);
    let erased = bed.send_erase();
    bed.run_until(|bed| bed.session().status == 404, "the rows are erased");
    assert!(erased.heard().is_none());
    bed.try_alarm().unwrap();
    bed.wait(&erased).unwrap();
    let attempts = bed.disk.read("SELECT DISTINCT attempts FROM responses");
    assert_eq!(attempts, [[("attempts".to_owned(), json!(1))].into()]);
}

#[test]
fn a_session_that_runs_is_stopped_and_erased_whenever_that_is_asked() {
    for calls in 1..=2 {
        let bed = Bed::new();
        // The model never responds.
        bed.world.model.spoil_once_after(calls - 1, Reply::Silence);
        let running = bed.send(&turn("t1", "One [plan: server, server]"));
        bed.run_until(|bed| bed.world.model.requests() >= calls, "the turn runs");
        let erased = bed.send_erase();
        let waiting = bed.wait(&erased).unwrap();
        assert_eq!(waiting.result()["Turns"], 1);
        assert_eq!(bed.wait(&running).unwrap().failure(), (409, "turn_aborted"));
        assert_eq!(bed.session().failure(), (404, "session_not_found"));
        bed.settle();
        assert_eq!((tables(&bed), bed.world.model.open.get()), (0, 0));
    }
}

#[test]
fn a_session_begun_anew_while_the_old_one_s_responses_are_deleted_is_not_touched() {
    let bed = filled(None);
    let erased = bed.send_erase();
    bed.run_until(|bed| bed.session().status == 404, "the rows are erased");
    let anew = bed.send(&turn("t1", "Anew"));
    assert_eq!(bed.wait(&anew).unwrap().final_text(), "Answer to Anew.");
    bed.wait(&erased).unwrap();
    bed.settle();
    assert_eq!(bed.status("t1"), "completed");
    assert_eq!(bed.post(&turn("t2", "Again")).final_text(), "Answer to Again.");
    bed.assert_chain_held();
}

#[test]
fn what_the_model_service_refuses_to_delete_is_told_and_given_up_in_the_end() {
    let bed = filled(None);
    bed.world.model.keeps_everything.set(true);
    let mut told = Vec::new();
    loop {
        let heard = bed.try_erase().unwrap();
        if heard.status == 404 {
            break;
        }
        told.push(heard.result()["StoredResponses"].clone());
    }
    let (last, earlier) = told.split_last().unwrap();
    assert!(
        earlier
            .iter()
            .all(|told| *told
                == json!({ "Deleted": 0, "Pending": 3, "Refused": 0, "Unreachable": 0 }))
    );
    assert_eq!(*last, json!({ "Deleted": 0, "Pending": 0, "Refused": 3, "Unreachable": 0 }));
    assert_eq!((told.len(), tables(&bed)), (10, 0));
}

#[test]
fn an_erasure_that_a_spoilt_catalog_refuses_touches_nothing() {
    let bed = Bed::new();
    bed.send_to_silence(&turn("t1", "One"));
    bed.spoil_catalog();
    let before = bed.disk.writes.get();
    assert_eq!(bed.try_erase().unwrap().failure(), (500, "catalog_invalid"));
    assert_eq!((bed.disk.writes.get(), bed.status("t1").as_str()), (before, "running"));
    bed.configure(|_| ());
    assert_eq!(bed.try_erase().unwrap().result()["Turns"], 1);
}

#[test]
fn an_erasure_waits_for_a_catalog_that_says_whom_to_ask() {
    let bed = filled(None);
    bed.world.model.keeps_everything.set(true);
    bed.try_erase().unwrap();
    bed.world.model.keeps_everything.set(false);
    bed.spoil_catalog();
    let waiting = json!({ "Deleted": 0, "Pending": 3, "Refused": 0, "Unreachable": 0 });
    for _ in 0..20 {
        assert_eq!(bed.try_erase().unwrap().result()["StoredResponses"], waiting);
        bed.try_alarm().unwrap();
    }
    bed.configure(|_| ());
    bed.try_alarm().unwrap();
    assert_eq!((tables(&bed), bed.world.model.stored()), (0, 0));
}

#[test]
fn two_who_erase_at_once_erase_once() {
    let bed = filled(None);
    bed.world.shake(7);
    let (one, two) = (bed.send_erase(), bed.send_erase());
    let (one, two) = (bed.wait(&one).unwrap(), bed.wait(&two).unwrap());
    let told: Vec<&Value> =
        [&one, &two].into_iter().filter(|heard| heard.status == 200).map(Heard::result).collect();
    assert!(!told.is_empty());
    for receipt in told {
        assert_eq!(receipt["Turns"], 2);
    }
    bed.settle();
    assert_eq!((tables(&bed), bed.world.model.stored()), (0, 0));
}
