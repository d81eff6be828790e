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

/// The tables that hold something.
fn tables(bed: &Bed) -> usize {
    let tables = bed.disk.read("SELECT name FROM sqlite_master WHERE type = 'table'");
    let holds = |name: &str| !bed.disk.read(&format!("SELECT 1 FROM {name} LIMIT 1")).is_empty();
    tables.iter().filter(|table| holds(table["name"].as_str().unwrap())).count()
}

/// Rings the alarm at its time.
fn ring(bed: &Bed) {
    let now = bed.world.executor.now_ms();
    bed.world.executor.set_now_ms(bed.world.alarm_at.get().unwrap().max(now));
    bed.try_alarm().unwrap();
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
fn a_service_that_is_silent_about_many_responses_holds_neither_a_request_nor_an_alarm_for_long() {
    let bed = Bed::new();
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
    for number in 0..60 {
        bed.post(&turn(&format!("t{number}"), "Hello")).final_text();
    }
    let service = &bed.world.model;
    service.answers_no_deletion.set(true);
    service.keeps_everything.set(true);
    let began = bed.world.executor.now_ms();
    let receipt = bed.try_erase().unwrap();
    assert_eq!(receipt.result()["StoredResponses"]["Pending"], 60);
    assert!(bed.world.executor.now_ms() - began < 300_000);
    let ring = || {
        let executor = &bed.world.executor;
        executor.set_now_ms(executor.now_ms().max(bed.world.alarm_at.get().unwrap()));
        bed.alarm();
        bed.settle();
    };
    (0..30).for_each(|_| ring());
    let mut asked = service.deletions.borrow().clone();
    asked.sort();
    asked.dedup();
    assert_eq!(asked.len(), 60, "each has its time");
    service.answers_no_deletion.set(false);
    service.keeps_everything.set(false);
    while bed.world.alarm_at.get().is_some() {
        ring();
    }
    assert_eq!(service.held.borrow().len(), 0);
}

#[test]
fn an_erasure_that_is_cut_anywhere_has_happened_or_not_and_is_completed_by_repeating_it() {
    let bed = filled(None);
    let before = (bed.disk.steps.get(), bed.disk.writes.get());
    assert_eq!(bed.world.model.stored(), 3);
    let receipt = bed.try_erase().unwrap().result().clone();
    assert_eq!(
        receipt["StoredResponses"],
        json!({ "Deleted": 3, "Pending": 0, "Refused": 0, "Unreachable": 0, "Unknown": 0 })
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
    // Whoever asks sooner than the alarm makes nobody give up sooner.
    for _ in 0..20 {
        told.push(bed.try_erase().unwrap().result()["StoredResponses"].clone());
    }
    loop {
        bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 30_000);
        let heard = bed.try_erase().unwrap();
        if heard.status == 404 {
            break;
        }
        told.push(heard.result()["StoredResponses"].clone());
    }
    let (last, earlier) = told.split_last().unwrap();
    assert!(earlier.iter().all(|told| *told
        == json!({ "Deleted": 0, "Pending": 3, "Refused": 0, "Unreachable": 0, "Unknown": 0 })));
    assert_eq!(
        *last,
        json!({ "Deleted": 0, "Pending": 0, "Refused": 3, "Unreachable": 0, "Unknown": 0 })
    );
    assert_eq!((told.len(), tables(&bed)), (20 + 9, 0));
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
    let waiting =
        json!({ "Deleted": 0, "Pending": 3, "Refused": 0, "Unreachable": 0, "Unknown": 0 });
    for _ in 0..20 {
        assert_eq!(bed.try_erase().unwrap().result()["StoredResponses"], waiting);
        ring(&bed);
    }
    bed.configure(|_| ());
    ring(&bed);
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

#[test]
fn a_session_begun_anew_is_not_touched_by_an_earlier_request_to_erase_that_ends_late() {
    let bed = filled(None);
    let file = json!({ "Name": "a.txt", "MimeType": "text/plain", "Text": "kept" });
    bed.world.tools.think(move |_| ToolAnswer::Json(json!({ "Files": [file] })));
    // The bucket is slow for the first of two.
    bed.world.erasing_ms.set(60_000);
    let (one, two) = (bed.send_erase(), bed.send_erase());
    bed.run_until(|_| one.heard().is_some() || two.heard().is_some(), "one of them is done");
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 1);
    let anew = bed.post(&turn("t1", "Anew [plan: server]"));
    assert_eq!(anew.final_text(), "Answer to Anew.");
    let told = [one, two].map(|erased| bed.wait(&erased).unwrap().status);
    assert!(told.contains(&200), "{told:?}");
    bed.settle();
    assert_eq!(bed.status("t1"), "completed");
    assert_eq!(bed.world.files.borrow().len(), 1, "the new session's file stays");
}

#[test]
fn after_an_erasure_a_clock_that_is_set_back_keeps_no_session_from_beginning() {
    let (bed, hour) = (Bed::new(), 3_600_000);
    let now = bed.world.executor.now_ms();
    bed.world.executor.set_now_ms(now + hour);
    bed.post(&turn("t1", "One")).final_text();
    bed.try_erase().unwrap().result();
    bed.world.executor.set_now_ms(now);
    assert_eq!(bed.post(&turn("t1", "Anew")).final_text(), "Answer to Anew.");
}

fn stored(deleted: u64, pending: u64, refused: u64, unreachable: u64) -> Value {
    json!({ "Deleted": deleted, "Pending": pending, "Refused": refused, "Unreachable": unreachable, "Unknown": 0 })
}

fn told(heard: &Heard) -> Value {
    heard.result()["StoredResponses"].clone()
}

#[test]
fn the_id_of_a_response_outlives_the_instance_that_heard_it() {
    for heard_by_somebody in [false, true] {
        let bed = Bed::new();
        bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
        bed.world.model.script([say("Never to be ended.").silent_after(4).into()]);
        bed.send(&with(turn("t1", "One"), json!({ "Streaming": heard_by_somebody })));
        bed.run_until(|bed| !bed.world.model.held.borrow().is_empty(), "a response begins");
        bed.restart();
        assert_eq!(told(&bed.try_erase().unwrap()), stored(1, 0, 0, 0));
        assert_eq!((tables(&bed), bed.world.model.held.borrow().len()), (0, 0));
    }
}

/// What the receipt says that is owed and is not, `(Deleted, Unknown)`, and the number of responses that are left.
fn settled(bed: &Bed) -> (u64, u64, usize) {
    let receipt = bed.try_erase().unwrap();
    let told = &receipt.result()["StoredResponses"];
    let (deleted, unknown) = (&told["Deleted"], &told["Unknown"]);
    let left = bed.world.model.held.borrow().len();
    assert_eq!((tables(bed), bed.world.model.open.get()), (0, 0));
    (deleted.as_u64().unwrap(), unknown.as_u64().unwrap(), left)
}

fn deleting(reply: impl Into<Reply>) -> Bed {
    let bed = Bed::new();
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
    bed.world.model.script([reply.into()]);
    bed
}

fn ends(bed: &Bed, how: &str, turn: &Pending) {
    match how {
        "is cancelled" => drop(bed.wait(&bed.send_cancel("t1")).unwrap()),
        "is out of time" => drop(bed.wait(turn).unwrap()),
        _ => {}
    }
}

#[test]
fn a_call_that_is_stopped_goes_on_for_the_id_of_its_response_and_for_nothing_else() {
    for how in ["is cancelled", "is out of time", "is erased"] {
        // Id, calls and end come at once.
        let reply = says(vec![call("lookup", json!({ "query": "x" }))]);
        let bed = deleting(reply.in_chunks_of(1 << 20).paced(1500));
        bed.deploy("TURN_TIMEOUT_MS", "1000");
        let running = bed.send(&turn("t1", "One"));
        bed.run_until(|bed| bed.world.model.requests() == 1, "the call is sent");
        ends(&bed, how, &running);
        assert_eq!(settled(&bed), (1, 0, 0), "it {how}");
        assert!(bed.world.tools.calls().is_empty(), "it {how}, and its tool runs");
        assert_eq!(bed.world.model.requests(), 1, "it {how}");
    }
}

#[test]
fn a_response_whose_id_never_came_is_counted_as_unknown() {
    for (how, reply, unknown) in [
        // The id would come after the wait for it.
        ("is cancelled", say("Late.").paced(4000).into(), 1),
        ("is erased", say("Late.").paced(4000).into(), 1),
        ("is out of time", Reply::Silence, 1),
        ("fails", say("Cut.").breaks_after(0).into(), 1),
        ("fails", Reply::Unreachable, 1),
        ("fails", http_error(504, json!({}), &[]), 1),
        ("fails", http_error(500, json!({}), &[]), 0),
        ("fails", failed("server_error"), 0),
    ] {
        let bed = deleting(reply.clone());
        bed.deploy("TURN_TIMEOUT_MS", "60000");
        let running = bed.send(&turn("t1", "One"));
        bed.run_until(|bed| bed.world.model.requests() == 1, "the call is sent");
        ends(&bed, how, &running);
        if how == "fails" {
            bed.wait(&running).unwrap();
        }
        let (_, told, left) = settled(&bed);
        assert_eq!((told, left), (unknown, 0), "it {how} with {reply:?}");
    }
}

#[test]
fn a_call_that_lost_its_instance_leaves_an_unknown_response_unless_its_id_was_kept() {
    for goes_on in [false, true] {
        for (reply, unknown) in [(Reply::Silence, 1), (say("Half.").silent_after(1).into(), 0)] {
            let bed = deleting(reply);
            bed.send(&turn("t1", "One"));
            let model = &bed.world.model;
            let begun =
                |_: &Bed| model.requests() == 1 && (unknown == 1 || model.held.borrow().len() == 1);
            bed.run_until(begun, "the call is made");
            bed.restart();
            if goes_on {
                bed.try_alarm().unwrap();
                bed.settle();
                assert_eq!(bed.status("t1"), "completed");
            }
            let (_, told, left) = settled(&bed);
            assert_eq!((told, left), (unknown, 0), "the turn goes on: {goes_on}");
        }
    }
}

#[test]
fn where_nothing_is_to_be_deleted_a_stopped_call_is_dropped_at_once() {
    let bed = Bed::new();
    let before = bed.world.executor.now_ms();
    bed.send_to_silence(&turn("t1", "One"));
    bed.wait(&bed.send_cancel("t1")).unwrap();
    assert!(bed.world.executor.now_ms() - before < 100);
    assert!(bed.try_erase().unwrap().result().get("StoredResponses").is_none());
}

#[test]
fn ids_of_a_context_that_asked_for_no_deletion_are_found_in_the_transcripts() {
    let bed = Bed::new();
    bed.world.model.script([failed("server_error"), say("Cut.").breaks_after(3).into()]);
    for id in ["t1", "t2", "t3"] {
        bed.post(&turn(id, "Words"));
    }
    let held = bed.world.model.held.borrow().len() as u64;
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
    bed.post(&turn("t4", "Words")).final_text();
    assert_eq!(told(&bed.try_erase().unwrap()), stored(held + 1, 0, 0, 0));
    assert_eq!((tables(&bed), bed.world.model.held.borrow().len()), (0, 0));
}

#[test]
fn responses_that_nobody_can_be_asked_about_are_told_as_unreachable_until_that_is_mended() {
    type Change = fn(&mut Value);
    let changes: [Change; 2] = [
        |catalog| catalog["AgentContexts"]["default"]["ApiKeySecret"] = json!("GONE_KEY"),
        |catalog| {
            for (_, conversation) in catalog["ConversationContexts"].as_object_mut().unwrap() {
                conversation["AgentContextId"] = json!("replay");
            }
            catalog["AgentContexts"].as_object_mut().unwrap().remove("default").unwrap();
        },
    ];
    let deletes = |change: Change| {
        move |catalog: &mut Value| {
            catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true);
            change(catalog);
        }
    };
    for change in changes {
        let bed = filled(None);
        bed.configure(deletes(change));
        assert_eq!(told(&bed.try_erase().unwrap()), stored(0, 0, 0, 3));
        assert_eq!(bed.session().status, 404);
        bed.restart();
        bed.try_alarm().unwrap();
        assert_eq!(told(&bed.try_erase().unwrap()), stored(0, 0, 0, 3));
        assert!(bed.world.model.deletions.borrow().is_empty());
        bed.configure(deletes(|_| ()));
        assert_eq!(told(&bed.try_erase().unwrap()), stored(3, 0, 0, 0));
        assert_eq!((tables(&bed), bed.world.model.held.borrow().len()), (0, 0));

        let bed = filled(None);
        bed.configure(deletes(change));
        let mut last = Value::Null;
        while let heard = bed.try_erase().unwrap()
            && heard.status == 200
        {
            last = told(&heard);
            bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 30_000);
        }
        assert_eq!(last, stored(0, 0, 0, 3), "given up, and not left out");
        assert_eq!(tables(&bed), 0);
    }
}

#[test]
fn a_service_whose_key_stands_in_a_header_is_asked_without_the_secret_that_the_header_replaces() {
    let bed = filled(None);
    bed.configure(|catalog| {
        let agent = &mut catalog["AgentContexts"]["default"];
        agent["DeleteStored"] = json!(true);
        agent["ApiKeySecret"] = json!("GONE_KEY");
        agent["Headers"] = json!({ "api-key": "${OPENAI_API_KEY}" });
    });
    assert_eq!(told(&bed.try_erase().unwrap()), stored(3, 0, 0, 0));
    assert_eq!((tables(&bed), bed.world.model.held.borrow().len()), (0, 0));
}

#[test]
fn a_long_list_that_is_partly_refused_is_asked_for_to_its_end() {
    let bed = Bed::new();
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
    for number in 1..=250 {
        bed.post(&turn(&format!("t{number}"), "Hello")).final_text();
    }
    bed.world.model.keeps_everything.set(true);
    assert_eq!(told(&bed.try_erase().unwrap()), stored(0, 250, 0, 0));
    assert_eq!(told(&bed.try_erase().unwrap()), stored(0, 250, 0, 0));
    let asked: std::collections::BTreeSet<String> =
        bed.world.model.deletions.borrow().iter().cloned().collect();
    assert_eq!(asked.len(), 250, "those that were refused do not stand in the others' way");
    bed.world.model.keeps_everything.set(false);
    assert_eq!(told(&bed.try_erase().unwrap()), stored(200, 50, 0, 0));
    assert_eq!(told(&bed.try_erase().unwrap()), stored(250, 0, 0, 0));
    assert_eq!((tables(&bed), bed.world.model.held.borrow().len()), (0, 0));
}

#[test]
fn the_deletions_of_an_erased_session_leave_the_responses_of_the_next_one_alone() {
    let bed = filled(None);
    bed.world.model.keeps_everything.set(true);
    assert_eq!(told(&bed.try_erase().unwrap()), stored(0, 3, 0, 0));
    bed.post(&turn("t1", "Anew")).final_text();
    bed.world.model.keeps_everything.set(false);
    ring(&bed);
    assert_eq!(bed.world.model.held.borrow().len(), 1);
    assert_eq!(bed.post(&turn("t2", "Again")).final_text(), "Answer to Again.");
    bed.assert_chain_held();
    assert_eq!(told(&bed.try_erase().unwrap()), stored(2, 0, 0, 0));
    assert_eq!((tables(&bed), bed.world.model.held.borrow().len()), (0, 0));
}

const DAY_MS: u64 = 86_400_000;

/// Rings the alarm at a time; returns when it rings next.
fn ring_at(bed: &Bed, at: u64) -> Option<u64> {
    bed.world.executor.set_now_ms(at);
    bed.world.alarm_at.set(None);
    bed.try_alarm().unwrap();
    bed.world.alarm_at.get()
}

#[test]
fn a_session_that_nobody_touched_for_its_days_erases_itself_with_its_responses() {
    let bed = Bed::new();
    let retained = |catalog: &mut Value| {
        catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true);
        catalog["AgentContexts"]["default"]["RetentionDays"] = json!(2);
    };
    bed.configure(retained);
    let begun = bed.world.executor.now_ms();
    bed.post(&turn("t1", "One [plan: server]")).final_text();
    assert_eq!(bed.world.alarm_at.get(), Some(begun + 30_000), "a running turn comes first");
    assert_eq!(ring_at(&bed, begun + 30_000), Some(begun + 2 * DAY_MS));
    // A turn a day later puts it off; the alarm is not set anew for that.
    let touched = begun + DAY_MS;
    bed.world.executor.set_now_ms(touched);
    bed.restart();
    bed.post(&turn("t2", "Two [plan: client]")).calls();
    assert_eq!(ring_at(&bed, touched + 30_000), Some(touched + 2 * DAY_MS));
    assert_eq!(ring_at(&bed, begun + 2 * DAY_MS), Some(touched + 2 * DAY_MS));
    // Without a catalog nobody knows how long it is kept.
    bed.spoil_catalog();
    let due = touched + 2 * DAY_MS;
    assert_eq!(ring_at(&bed, due), Some(due + 3_600_000));
    bed.configure(retained);
    bed.restart();
    assert_eq!(ring_at(&bed, due + 3_600_000), None);
    assert_eq!(bed.session().failure(), (404, "session_not_found"));
    assert_eq!((tables(&bed), bed.world.model.held.borrow().len()), (0, 0));
    let log = bed.world.log.borrow();
    let receipt = &log.iter().rfind(|line| line["event"] == "erased").unwrap()["receipt"];
    assert_eq!((&receipt["Turns"], &receipt["StoredResponses"]["Deleted"]), (&json!(2), &json!(3)));
}

#[test]
fn a_turn_by_a_clock_that_is_set_back_makes_no_session_end_sooner() {
    let bed = Bed::new();
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["RetentionDays"] = json!(2));
    let used = bed.world.executor.now_ms() + 10 * DAY_MS;
    bed.world.executor.set_now_ms(used);
    bed.post(&turn("t1", "One")).final_text();
    bed.world.executor.set_now_ms(used - 9 * DAY_MS);
    bed.post(&turn("t2", "Two")).final_text();
    assert_eq!(ring_at(&bed, used + DAY_MS), Some(used + 2 * DAY_MS));
    assert_eq!(bed.session().status, 200);
}

#[test]
fn without_days_a_session_is_kept_and_sets_no_alarm() {
    let bed = Bed::new();
    bed.post(&turn("t1", "One")).final_text();
    bed.world.alarm_at.set(None);
    bed.try_alarm().unwrap();
    assert_eq!(bed.world.alarm_at.get(), None);
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 100_000 * DAY_MS);
    bed.try_alarm().unwrap();
    assert_eq!((bed.session().status, bed.world.alarm_at.get()), (200, None));
}

#[test]
fn a_session_whose_contexts_are_missing_when_its_days_are_over_is_erased_once_they_are_back() {
    let bed = Bed::new();
    let add = || {
        bed.configure(|catalog| {
            let agent =
                with(catalog["AgentContexts"]["default"].clone(), json!({ "RetentionDays": 2 }));
            let of_agent = json!({ "AgentContextId": "gone" });
            let context = with(catalog["ConversationContexts"]["default"].clone(), of_agent);
            catalog["AgentContexts"]["gone"] = agent;
            catalog["ConversationContexts"]["gone"] = context;
        });
    };
    add();
    let first = with(turn("t1", "One"), json!({ "ConversationContextId": "gone" }));
    bed.post(&first).final_text();
    bed.configure(|catalog| {
        for contexts in ["AgentContexts", "ConversationContexts"] {
            catalog[contexts].as_object_mut().unwrap().remove("gone");
        }
    });
    bed.restart();
    let over = bed.world.executor.now_ms() + 2 * DAY_MS;
    assert_eq!(ring_at(&bed, over), Some(over + DAY_MS), "it is looked at again");
    add();
    bed.restart();
    assert_eq!(ring_at(&bed, over + DAY_MS), None);
    assert_eq!((bed.session().status, tables(&bed)), (404, 0));
}

#[test]
fn a_session_whose_agent_context_is_gone_is_kept_for_the_days_of_the_next_one() {
    let bed = Bed::new();
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["RetentionDays"] = json!(2));
    bed.post(&turn("t1", "One")).final_text();
    let begun = bed.world.executor.now_ms();
    bed.configure(|catalog| {
        let agents = catalog["AgentContexts"].as_object_mut().unwrap();
        let agent = agents.remove("default").unwrap();
        agents.insert("other".to_owned(), with(agent, json!({ "RetentionDays": 5 })));
        for (_, context) in catalog["ConversationContexts"].as_object_mut().unwrap() {
            context["AgentContextId"] = json!("other");
        }
    });
    bed.restart();
    let over = ring_at(&bed, begun + 2 * DAY_MS).unwrap();
    assert!(over > begun + 4 * DAY_MS && over <= begun + 5 * DAY_MS, "{begun} {over}");
    ring_at(&bed, over);
    assert_eq!(bed.session().status, 404);
}

#[test]
fn a_session_whose_turn_waits_for_its_context_is_erased_when_its_days_are_over() {
    let bed = Bed::new();
    let put = |is_there: bool| {
        bed.configure(|catalog| {
            catalog["AgentContexts"]["default"]["RetentionDays"] = json!(2);
            if is_there {
                let context = catalog["ConversationContexts"]["default"].clone();
                catalog["ConversationContexts"]["gone"] = context;
            }
        });
    };
    put(true);
    let begun = bed.world.executor.now_ms();
    bed.send_to_silence(&with(turn("t1", "One"), json!({ "ConversationContextId": "gone" })));
    put(false);
    bed.restart();
    assert!(ring_at(&bed, begun + DAY_MS).is_some(), "it waits");
    assert_eq!(bed.status("t1"), "running");
    ring_at(&bed, begun + 2 * DAY_MS + 60_000);
    assert_eq!((bed.session().status, tables(&bed)), (404, 0));
    assert_eq!(bed.world.alarm_at.get(), None);
}

#[test]
fn responses_of_a_session_begun_anew_have_all_their_attempts_where_earlier_ones_wait() {
    let bed = filled(None);
    bed.world.model.keeps_everything.set(true);
    bed.try_erase().unwrap().result();
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 10 * 30_000);
    bed.post(&turn("t9", "Anew")).final_text();
    for _ in 0..12 {
        let told = bed.try_erase().unwrap().result()["StoredResponses"].clone();
        assert_eq!(told["Refused"], 0, "{told}");
    }
    bed.world.model.keeps_everything.set(false);
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 30_000);
    let told = bed.try_erase().unwrap().result()["StoredResponses"].clone();
    assert_eq!((&told["Deleted"], &told["Pending"]), (&json!(4), &json!(0)));
    assert_eq!(bed.world.model.held.borrow().len(), 0);
}

#[test]
fn a_service_that_names_another_response_in_each_event_has_few_of_them_kept() {
    for background in [false, true] {
        let bed = Bed::new();
        bed.configure(|catalog| {
            let agent = &mut catalog["AgentContexts"]["default"];
            agent["DeleteStored"] = json!(true);
            if background {
                agent["Background"] = json!("Always");
            }
        });
        let named = |n: usize| {
            format!(
                "data: {{\"type\":\"response.in_progress\",\"response\":{{\"id\":\"r{n}\",\"usage\":null}}}}\n\n"
            )
        };
        let events: Vec<String> = (0..500).map(named).collect();
        let pieces = events.iter().map(|event| Piece::text(event)).chain([Piece::EndlessSilence]);
        bed.world.model.script([Reply::Http(HttpReply::in_pieces(200, pieces))]);
        let before = bed.disk.writes.get();
        let _ = bed.send(&with(turn("t1", "One"), json!({ "Streaming": true })));
        let began = bed.world.executor.now_ms();
        bed.run_until(|bed| bed.world.executor.now_ms() >= began + 5_000, "all have come");
        let written = bed.disk.writes.get() - before;
        assert!(written < 100, "background: {background}, {written} writes");
    }
}

#[test]
fn the_kept_ids_of_a_long_session_are_read_in_pages() {
    let bed = deleting(Reply::Silence);
    bed.send(&turn("t1", "One"));
    bed.run_until(|bed| bed.world.model.requests() == 1, "the call is made");
    bed.restart();
    bed.try_alarm().unwrap();
    bed.settle();
    bed.disk.write(
        "WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 2500)
         INSERT INTO responses SELECT 'r' || id, 'default', 'kept', 0 FROM n",
    );
    bed.disk.watch();
    bed.try_erase().unwrap().result();
    let read = bed.disk.statements();
    let of_kept = read.iter().filter(|(statement, _)| statement.contains("standing = 'kept'"));
    let most = of_kept.map(|(_, cost)| (cost.runs, cost.most_rows)).collect::<Vec<_>>();
    assert_eq!(most, [(4, 1_000)]);
}
