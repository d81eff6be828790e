//! The change at each moment of a turn, and with an instance that ends at each step.

use super::*;
use crate::turns::crash::table_writes;

/// What happens of a session in which `old` gets its `Instead`.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// No turn has begun.
    Between,
    Running,
    WaitingForTool,
    WaitingForApproval,
    /// A turn has failed, and is repeated before the next one.
    Failed,
    /// It is repeated after the next one.
    FailedLong,
    /// It fails once more when it is repeated.
    FailedTwice,
    /// It is cancelled when it is repeated.
    Cancelled,
}

const MOMENTS: [Moment; 8] = [
    Moment::Between,
    Moment::Running,
    Moment::WaitingForTool,
    Moment::WaitingForApproval,
    Moment::Failed,
    Moment::FailedLong,
    Moment::FailedTwice,
    Moment::Cancelled,
];

/// Posts until the service answers; the instance may end meanwhile, and an alarm rings in the next one.
fn insist(bed: &Bed, request: &Value) -> Heard {
    if let Some(heard) = bed.try_post(request) {
        return heard;
    }
    bed.restart();
    bed.alarm();
    bed.post(request)
}

/// The results that a turn waits for.
fn answers(bed: &Bed, id: &str) -> Value {
    let view = bed.turn(id);
    let calls = view.result()["ToolCalls"].as_array().cloned().unwrap_or_default();
    let given: Vec<(&str, Value)> = calls
        .iter()
        .map(|call| {
            let is_question = call["Name"] == "agent_approve_tool";
            let answer = if is_question { json!({ "Approved": true }) } else { json!(1) };
            (call["ToolCallId"].as_str().unwrap(), answer)
        })
        .collect();
    results(id, &given)
}

/// Sends what a turn waits for until it has ended.
fn answer(bed: &Bed, id: &str) {
    while bed.alive() && bed.status(id) == "awaiting_tools" || !bed.alive() {
        if !bed.alive() {
            bed.restart();
            bed.alarm();
            bed.settle();
            continue;
        }
        let request = answers(bed, id);
        insist(bed, &request);
    }
}

/// Plays a moment; the instance ends at `crash`.
fn play(moment: Moment, continuation: &str, crash: Option<Crash>) -> (Bed, Seen) {
    let bed = Bed::with_crash(crash);
    put(&bed, continuation, Old::Serves);
    let seen = Seen::by(&bed);
    let refused = || http_error(401, json!({}), &[]);
    let change = || put(&bed, continuation, Old::Leads);
    match moment {
        Moment::Between => {
            insist(&bed, &said("t1", "Before [plan: server]"));
            change();
        }
        Moment::Running => {
            let request = said("t1", "Before [plan: server, server]");
            let running = bed.send(&request);
            let calls = |bed: &Bed| bed.world.model.requests() >= 2;
            bed.run_until(|bed| !bed.alive() || calls(bed), "the model is asked");
            change();
            if bed.wait(&running).is_none() {
                bed.restart();
                bed.alarm();
                insist(&bed, &request);
            }
        }
        Moment::WaitingForTool | Moment::WaitingForApproval => {
            let plan = match moment {
                Moment::WaitingForApproval => "[plan: gated, server]",
                _ => "[plan: mixed, server]",
            };
            insist(&bed, &said("t1", &format!("Before {plan}")));
            change();
            answer(&bed, "t1");
        }
        Moment::Failed | Moment::FailedLong | Moment::FailedTwice | Moment::Cancelled => {
            bed.world.model.spoil_once_after(1, refused());
            let request = said("t1", "Before [plan: server]");
            insist(&bed, &request);
            change();
            match moment {
                Moment::FailedLong => drop(insist(&bed, &turn("t0", "After-0"))),
                Moment::FailedTwice => {
                    insist(&bed, &turn("t0", "After-0"));
                    bed.world.model.script([refused()]);
                    insist(&bed, &request);
                    while bed.world.model.drop_scripted() {}
                }
                Moment::Cancelled => {
                    insist(&bed, &turn("t0", "After-0"));
                    let calls = bed.world.model.requests();
                    bed.world.model.script([Reply::Silence]);
                    let repeated = bed.send(&request);
                    let is_asked = |bed: &Bed| {
                        bed.world.model.requests() > calls || repeated.heard().is_some()
                    };
                    bed.run_until(|bed| !bed.alive() || is_asked(bed), "the model is asked");
                    if bed.alive() {
                        bed.try_cancel("t1");
                    }
                    bed.world.model.drop_scripted();
                    bed.settle();
                    if !bed.alive() {
                        bed.restart();
                        bed.alarm();
                        bed.settle();
                    }
                }
                _ => {}
            }
            if !matches!(moment, Moment::Cancelled) {
                insist(&bed, &request);
            }
        }
    }
    if bed.alive() && bed.asked("GET", "/sessions/s", "").status == 200 {
        assert!([old(), new()].contains(&contexts(&bed)), "{:?}", contexts(&bed));
    }
    insist(&bed, &turn("t2", "After-1 [plan: server]"));
    bed.settle();
    if !bed.alive() {
        bed.restart();
        bed.alarm();
        bed.settle();
    }
    insist(&bed, &turn("t3", "After-2")).final_text();
    (bed, seen)
}

/// The turns that changed the context.
fn changes(bed: &Bed) -> Vec<String> {
    let turns = bed.look("s", "/turns");
    let ids = turns["Turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["TurnId"].as_str().unwrap().to_owned());
    ids.filter(|id| {
        let change = trace(bed, id).get("ContextChanged").cloned();
        assert!(change.is_none() || change == Some(json!({ "From": "old", "To": "new" })));
        change.is_some()
    })
    .collect()
}

#[test]
fn a_turn_that_has_begun_ends_under_its_own_context_and_the_next_one_begins_under_the_other() {
    for continuation in ["stored", "replay"] {
        for moment in MOMENTS {
            let (bed, seen) = play(moment, continuation, None);
            let under = |words: &str| seen.under(words).unwrap_or_default();
            assert_eq!(under("Before"), "m-old", "{moment:?}");
            assert_eq!(
                (under("After-1"), under("After-2")),
                ("m-new".into(), "m-new".into()),
                "{moment:?}"
            );
            assert_eq!(contexts(&bed), new(), "{moment:?}");
            assert_eq!(changes(&bed).len(), 1, "{moment:?}");
            let ends = if matches!(moment, Moment::Cancelled) { "aborted" } else { "completed" };
            assert_eq!(bed.status("t1"), ends, "{moment:?}");
            // What has ended is shown as it was.
            if ends == "completed" {
                let calls = bed.world.model.requests();
                assert!(
                    bed.post(&said(
                        "t1",
                        match moment {
                            Moment::Running => "Before [plan: server, server]",
                            Moment::WaitingForTool => "Before [plan: mixed, server]",
                            Moment::WaitingForApproval => "Before [plan: gated, server]",
                            _ => "Before [plan: server]",
                        }
                    ))
                    .replayed
                );
                assert_eq!(bed.world.model.requests(), calls);
            }
            let conversation = bed.world.model.conversation();
            assert!(conversation.heard("[INSTRUCTION]\nBefore") >= 1, "the conversation stays");
            bed.assert_chain_held();
        }
    }
}

#[test]
fn the_change_is_whole_where_an_instance_ends_at_any_step() {
    let mut points = 0;
    for continuation in ["stored", "replay"] {
        for moment in MOMENTS {
            type CrashAt = fn(u64) -> Crash;
            // The tables are created before anything of the change is written.
            let kinds: [(CrashAt, u64); 2] =
                [(Crash::AfterStep, 1), (Crash::BeforeWrite, table_writes())];
            for (kind, first) in kinds {
                for number in first.. {
                    let crash = kind(number);
                    let (bed, seen) = play(moment, continuation, Some(crash));
                    if bed.lives_since_the_first() {
                        break;
                    }
                    points += 1;
                    let place = format!("{moment:?} {continuation} {crash:?}");
                    assert_eq!(contexts(&bed), new(), "{place}");
                    let was_old = seen.under("Before").as_deref() == Some("m-old");
                    let changes = changes(&bed).len();
                    assert!(changes == 1 || !was_old && changes == 0, "{place}: {changes}");
                    assert_eq!(seen.under("After-2").as_deref(), Some("m-new"), "{place}");
                    bed.assert_chain_held();
                }
            }
        }
    }
    assert!(points > 300, "{points}");
}

#[test]
fn with_nothing_but_instead_a_turn_that_has_begun_waits_until_its_context_is_back() {
    let bed = Bed::new();
    put(&bed, "stored", Old::Serves);
    let seen = Seen::by(&bed);
    let paused = bed.post(&said("t1", "Before [plan: client]"));
    put(&bed, "stored", Old::IsGone);
    let given = results("t1", &[(&paused.calls()[0], json!(1))]);
    assert_eq!(bed.post(&given).failure(), (404, "context_not_found"));
    assert_eq!(bed.post(&turn("t2", "After")).failure(), (409, "turn_awaiting_tools"));
    put(&bed, "stored", Old::Leads);
    bed.post(&given).final_text();
    assert_eq!(seen.under("Before").unwrap(), "m-old");

    // One that has failed waits, too, also after the session has gone on.
    bed.world.model.script([http_error(401, json!({}), &[])]);
    let bed = Bed::new();
    put(&bed, "replay", Old::Serves);
    let seen = Seen::by(&bed);
    bed.world.model.script([http_error(401, json!({}), &[])]);
    bed.post(&said("t1", "Before")).failure();
    put(&bed, "replay", Old::IsGone);
    assert_eq!(bed.post(&said("t1", "Before")).failure(), (404, "context_not_found"));
    bed.post(&turn("t2", "After")).final_text();
    assert_eq!(bed.post(&said("t1", "Before")).failure(), (404, "context_not_found"));
    assert_eq!(contexts(&bed), new());
    put(&bed, "replay", Old::Leads);
    bed.post(&said("t1", "Before")).final_text();
    assert_eq!((seen.under("Before").unwrap(), contexts(&bed)), ("m-old".to_owned(), new()));
    bed.post(&turn("t3", "Later")).final_text();
    assert_eq!(seen.under("Later").unwrap(), "m-new");
    bed.assert_chain_held();
}
