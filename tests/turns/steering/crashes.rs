//! A steer whose acceptance was durable survives a crash at every durable step and before every write.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;

/// Sends a request until it is answered, over as many instances as that takes.
fn persist(bed: &Bed, again: &[Crash], send: impl Fn(&Bed) -> Pending) -> Heard {
    let mut again = again.iter().copied();
    loop {
        if !bed.alive() {
            bed.restart_to_crash(again.next());
        }
        if let Some(heard) = bed.wait(&send(bed)) {
            return heard;
        }
    }
}

/// A turn with one steer that is delivered and one that is pending when it pauses, until it has completed. Returns the
/// words that were accepted: none are while the turn is failed, before it is repeated.
fn steered_turn(bed: &Bed, context: &str, interrupt: bool, again: &[Crash]) -> Vec<&'static str> {
    let request = with(
        turn("t1", "Words [plan: server, client]"),
        json!({ "ConversationContextId": context }),
    );
    let first =
        with(steer("s1", "First [plan: server, client]"), json!({ "Interrupt": interrupt }));
    let mut accepted = BTreeSet::new();
    let mut take = |bed: &Bed, steered: &Value, words: &'static str| {
        let heard = persist(bed, again, |bed| bed.send_steer("t1", steered));
        match heard.failure() {
            (200 | 202, _) => _ = accepted.insert(words),
            (409, "turn_ended") => assert!(!accepted.contains(words), "{}", heard.text),
            other => panic!("{other:?}: {}", heard.text),
        }
    };
    let running = bed.send(&request);
    bed.run_until(
        |bed| !bed.alive() || bed.world.model.requests() >= 1 || running.heard().is_some(),
        "the turn runs",
    );
    if bed.alive() && bed.world.model.requests() >= 1 {
        // It is repeated below where the instance ends.
        bed.wait(&bed.send_steer("t1", &first));
    }
    persist(bed, again, |bed| bed.send(&request));
    take(bed, &first, "First");
    let mut latest = request;
    loop {
        persist(bed, again, |bed| bed.send(&latest));
        let view = persist(bed, again, |bed| bed.ask("GET", "/sessions/s/turns/t1", &[], ""));
        match view.result()["Status"].as_str().unwrap() {
            "running" => {
                assert!(bed.step());
                continue;
            }
            "failed" => continue,
            "awaiting_tools" => {}
            _ => break,
        }
        take(bed, &steer("s2", "Second."), "Second.");
        let view = persist(bed, again, |bed| bed.ask("GET", "/sessions/s/turns/t1", &[], ""));
        let calls = view.result()["ToolCalls"].as_array().cloned().unwrap_or_default();
        let given: Vec<(&str, Value)> =
            calls.iter().map(|call| (call["ToolCallId"].as_str().unwrap(), json!(1))).collect();
        if !given.is_empty() {
            latest = results("t1", &given);
        }
    }
    accepted.into_iter().collect()
}

fn assert_survived(bed: &Bed, accepted: &[&str], place: &str) {
    bed.restart();
    let steers = states(bed, "t1");
    assert_eq!(steers.len(), accepted.len(), "{place}");
    for (id, state) in &steers {
        assert_eq!(state, "delivered", "{place}: {id}");
    }
    let hears_each_once = || {
        let conversation = bed.world.model.conversation();
        for words in ["First", "Second."] {
            let times = usize::from(accepted.contains(&words));
            assert_eq!(conversation.heard(words), times, "{place}: {words}");
        }
    };
    hears_each_once();
    bed.assert_chain_held();
    bed.post(&turn("t2", "Next")).final_text();
    hears_each_once();
}

#[test]
fn no_crash_loses_or_doubles_a_steer() {
    for context in ["default", "replay"] {
        for interrupt in [false, true] {
            let bed = Bed::new();
            let accepted = steered_turn(&bed, context, interrupt, &[]);
            assert_eq!(accepted, ["First", "Second."]);
            let (steps, writes) = (bed.disk.steps.get(), bed.disk.writes.get());
            assert_survived(&bed, &accepted, "no crash");
            let at_steps = (1..=steps).map(Crash::AfterStep);
            for crash in at_steps.chain((1..=writes).map(Crash::BeforeWrite)) {
                let bed = Bed::with_crash(Some(crash));
                let accepted = steered_turn(&bed, context, interrupt, &[]);
                assert_survived(
                    &bed,
                    &accepted,
                    &format!("{context}, interrupt {interrupt}, {crash:?}"),
                );
            }
        }
    }
}

#[test]
fn no_second_crash_does_either() {
    let bed = Bed::new();
    steered_turn(&bed, "default", false, &[]);
    let steps = bed.disk.steps.get();
    for first in 1..=steps {
        for second in 1..=3 {
            let bed = Bed::with_crash(Some(Crash::AfterStep(first)));
            let again = [Crash::AfterStep(first + second)];
            let accepted = steered_turn(&bed, "default", false, &again);
            assert_survived(
                &bed,
                &accepted,
                &format!("after steps {first} and {}", first + second),
            );
        }
    }
}
