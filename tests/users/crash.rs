//! The proof of completeness: the session's instance and that of the user's object end at every durable step and before
//! every write of a registration, a report, a removal and an erasure. Afterwards no session has a row that the index does
//! not know, no list shows a session that is gone, and the sums of a receipt are right.

use bed::*;
use serde_json::{Value, json};

use super::erasing::assert_erased;
use super::people::{Asking, people, rows};

const USER: &str = "local/~alice";
const SESSION: &str = "local/~alice/a";

/// An act of a client or the machine; what it meets when an object is lost is for [`holds`] to judge.
type Act = fn(&Bed);

/// Before the crash, what is cut, and how the client goes on.
struct Scenario {
    name: &'static str,
    before: Act,
    cut: Act,
    /// The client repeats what it did; the state that is expected then.
    after: Act,
}

fn first_turn(bed: &Bed) {
    drop(bed.say("alice", "a", "t1", "First"));
    bed.settle();
}

fn second_turn(bed: &Bed) {
    drop(bed.say("alice", "a", "t2", "Second"));
    bed.settle();
}

fn erase_session(bed: &Bed) {
    drop(bed.ask_as("alice", "DELETE", "/sessions/a", ""));
    bed.settle();
}

fn erase_user(bed: &Bed) {
    drop(bed.asked("DELETE", "/users/alice", ""));
    bed.settle();
}

fn two_sessions(bed: &Bed) {
    first_turn(bed);
    bed.say("alice", "b", "t1", "Other").final_text();
    bed.ring_for(1);
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 1);
}

fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "register",
            before: |_| {},
            cut: first_turn,
            after: |bed| {
                bed.say("alice", "a", "t1", "First").final_text();
                assert_eq!(bed.ids("alice", ""), ["a"]);
            },
        },
        Scenario {
            name: "report",
            before: first_turn,
            cut: |bed| {
                second_turn(bed);
                bed.ring_for(1);
            },
            after: |bed| {
                bed.say("alice", "a", "t2", "Second").final_text();
                bed.ring_for(2);
                assert_eq!(bed.list("alice", "")[0]["Turns"], 2);
                assert_eq!(bed.list("alice", "")[0]["Status"], "idle");
            },
        },
        Scenario {
            name: "pause",
            before: first_turn,
            cut: |bed| {
                drop(bed.say("alice", "a", "t2", "Wait [plan: client]"));
                bed.ring_for(1);
            },
            after: |bed| {
                bed.say("alice", "a", "t2", "Wait [plan: client]").calls();
                bed.ring_for(2);
                assert_eq!(bed.ids("alice", "?Status=awaiting_tools"), ["a"]);
            },
        },
        Scenario {
            name: "remove",
            before: two_sessions,
            cut: erase_session,
            after: |bed| {
                let again = bed.ask_as("alice", "DELETE", "/sessions/a", "");
                assert!([200, 404].contains(&again.status), "{}", again.text);
                assert_eq!(bed.ids("alice", ""), ["b"]);
                bed.ring_for(2);
                assert_eq!(rows(bed, "alice", "session_id").len(), 1);
                assert_eq!(
                    bed.world.session(SESSION).disk.read("SELECT 1 FROM sqlite_master").len(),
                    0
                );
            },
        },
        Scenario {
            name: "begin anew",
            before: |bed| {
                two_sessions(bed);
                erase_session(bed);
                bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 1);
            },
            cut: first_turn,
            after: |bed| {
                bed.say("alice", "a", "t1", "First").final_text();
                bed.ring_for(2);
                assert_eq!(bed.list("alice", "?Query=first")[0]["Turns"], 1);
            },
        },
        Scenario {
            name: "erase",
            before: two_sessions,
            cut: erase_user,
            after: |bed| {
                bed.ring_for(2);
                let last = bed.asked("DELETE", "/users/alice", "");
                if last.status == 200 {
                    let receipt = last.result();
                    assert_eq!(
                        receipt["Sessions"],
                        json!({ "Erased": 2, "Pending": 0, "Failed": 0 })
                    );
                    // A turn, a submission, two entries and a model call, and a system message for each.
                    assert_eq!(receipt["Rows"], 2 * 6, "{receipt}");
                }
                assert_eq!(
                    last.failure().1,
                    if last.status == 200 { "" } else { "user_not_found" }
                );
                bed.ring_for(2);
                assert_erased(bed, "alice");
                assert_eq!(rows(bed, "alice", "session_id"), Vec::<Value>::new());
            },
        },
    ]
}

/// What always holds, once nothing is left to happen.
fn holds(bed: &Bed) {
    let known = rows(bed, "alice", "session_id, listing_state, incarnation");
    let listed = bed.ids("alice", "");
    for (name, session) in bed.world.sessions.borrow().iter() {
        let Some(id) = name.strip_prefix("local/~alice/") else { continue };
        let begun = session.disk.session();
        let row = known.iter().find(|row| row["session_id"] == id);
        if let Some(session) = begun {
            let state = &session["state"];
            let row = row.unwrap_or_else(|| panic!("the index does not know {name}"));
            assert_eq!(row["incarnation"], state["registration"], "{name}");
        } else {
            assert!(!listed.contains(&id.to_owned()), "{name} is a ghost");
        }
    }
}

/// The steps and writes of an object during the cut.
fn counts(disk: &Disk) -> (u64, u64) {
    (disk.steps.get(), disk.writes.get())
}

fn crashes(from: (u64, u64), to: (u64, u64)) -> Vec<Crash> {
    let steps = (from.0 + 1..=to.0).map(Crash::AfterStep);
    steps.chain((from.1 + 1..=to.1).map(Crash::BeforeWrite)).collect()
}

fn prepared(scenario: &Scenario) -> Bed {
    let bed = people();
    (scenario.before)(&bed);
    bed
}

#[test]
fn no_crash_of_a_session_or_of_its_user_s_object_loses_a_session_or_leaves_a_ghost() {
    let mut survived = 0;
    for scenario in scenarios() {
        let whole = prepared(&scenario);
        let (session, user) = (whole.world.session(SESSION), whole.world.user(USER));
        let before = (counts(&session.disk), counts(&user.disk));
        (scenario.cut)(&whole);
        let of_session = crashes(before.0, counts(&session.disk));
        let of_user = crashes(before.1, counts(&user.disk));
        assert!(!of_user.is_empty(), "{}", scenario.name);
        let cuts = of_session.iter().map(|crash| (true, *crash));
        for (is_session, crash) in cuts.chain(of_user.iter().map(|crash| (false, *crash))) {
            for rings in [false, true] {
                let run = std::panic::AssertUnwindSafe(|| {
                    let bed = prepared(&scenario);
                    if is_session {
                        bed.world.session(SESSION).restart_to_crash(&bed.world, Some(crash));
                    } else {
                        bed.world.user(USER).restart_to_crash(&bed.world, Some(crash));
                    }
                    (scenario.cut)(&bed);
                    bed.world.session(SESSION).restart(&bed.world);
                    bed.world.user(USER).restart(&bed.world);
                    if rings {
                        bed.ring_for(2);
                        holds(&bed);
                    }
                    (scenario.after)(&bed);
                    bed.ring_for(2);
                    holds(&bed);
                    bed.assert_chain_held();
                });
                if let Err(panic) = std::panic::catch_unwind(run) {
                    println!(
                        "{}: {crash:?} of the session: {is_session}, rings: {rings}",
                        scenario.name
                    );
                    std::panic::resume_unwind(panic);
                }
                survived += 1;
            }
        }
        println!("{}: {} and {} crashes", scenario.name, of_session.len(), of_user.len());
    }
    println!("{survived} crashes survived");
}
