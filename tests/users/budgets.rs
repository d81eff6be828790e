//! Tokens of users (interface §13): whoever cancels and whoever erases has spent what went out.

use aptix_edge::ports::{INNER_PROTOCOL, ObjectClass};
use bed::*;
use serde_json::json;

use super::people::{Asking, people, words};

const TEXT: &str = "A whole text which the client reads to its end before it cancels.";

/// Users who may spend 2,000 tokens a day, in sessions that lease 100 at a time.
fn bounded() -> Bed {
    let bed = people();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Budget"] =
            json!({ "UserTokensPerDay": 2_000, "Lease": 100 });
    });
    bed
}

/// Sends a long turn and cancels it when its whole text has come; false where the budget has refused it.
fn read_and_cancel(bed: &Bed, session: &str, id: &str) -> bool {
    let deltas = TEXT.split_inclusive(' ').count();
    bed.world.model.script([say(TEXT).silent_after(2 + 2 + deltas + 3).into()]);
    let turn = with(words(session, id, &"Words ".repeat(200)), json!({ "Streaming": true }));
    let pending = bed.send_as("alice", "POST", "/execute", &turn.to_string());
    let until = bed.world.executor.now_ms() + 2_000;
    while bed.world.executor.now_ms() < until && pending.heard().is_none() {
        assert!(bed.step());
    }
    if let Some(heard) = pending.heard() {
        assert_eq!(heard.failure().1, "budget_exceeded", "{}", heard.text);
        assert!(bed.world.model.drop_scripted());
        return false;
    }
    let target = format!("/sessions/{session}/turns/{id}/cancel");
    bed.ask_as("alice", "POST", &target, "").result();
    true
}

fn spent(bed: &Bed) -> u64 {
    let view = bed.asked("GET", "/users/alice", "");
    view.result()["Tokens"]["Today"].as_u64().unwrap()
}

#[test]
fn whoever_reads_the_text_and_cancels_has_spent_it() {
    let bed = bounded();
    let mut read = 0;
    while read_and_cancel(&bed, "a", &format!("t{read}")) {
        read += 1;
        assert!(read < 12, "cancelled calls are free");
    }
    assert!(read > 1, "{read}");
    bed.ring_for(2);
    assert!(spent(&bed) >= 2_000, "{}", spent(&bed));
    // Another session of the user's has nothing left, either.
    assert_eq!(bed.say("alice", "b", "t1", "Hello").failure().1, "budget_exceeded");
}

#[test]
fn what_a_session_has_spent_stays_spent_when_it_is_erased() {
    for same_id in [true, false] {
        let bed = bounded();
        // As long as the user has a session, the operator sees what was spent.
        bed.say("alice", "other", "t", "Hello").final_text();
        let mut erased = 0;
        let session = |number: usize| if same_id { "a".to_owned() } else { format!("a{number}") };
        while read_and_cancel(&bed, &session(erased), "t") {
            let target = format!("/sessions/{}", session(erased));
            assert_eq!(bed.ask_as("alice", "DELETE", &target, "").status, 200);
            erased += 1;
            assert!(erased < 12, "an erasure gives the tokens back");
            assert!(spent(&bed) >= 300 * erased as u64, "{}", spent(&bed));
        }
        assert!(erased > 1, "{erased}");
        assert!(spent(&bed) >= 2_000, "{}", spent(&bed));
    }
}

#[test]
fn what_is_left_of_a_lease_is_not_spent_beside_the_limit_of_the_next_day() {
    const DAY_MS: u64 = 86_400_000;
    let bed = people();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Budget"] =
            json!({ "UserTokensPerDay": 2_000, "Lease": 2_000 });
    });
    let midnight = (bed.world.executor.now_ms() / DAY_MS + 1) * DAY_MS;
    bed.world.executor.set_now_ms(midnight - 10_000);
    bed.say("alice", "a", "t", "Hello").final_text();
    // No alarm of the session has given the rest of the lease back.
    bed.world.executor.set_now_ms(midnight + 5_000);
    let (mut spent_today, mut longest) = (0, 0);
    for number in 0..100 {
        let heard = bed.say("alice", "a", &format!("t{number}"), "Hello");
        if heard.status != 200 {
            assert_eq!(heard.failure().1, "budget_exceeded");
            break;
        }
        let tokens = heard.result()["Usage"]["TotalTokens"].as_u64().unwrap();
        (spent_today, longest) = (spent_today + tokens, longest.max(tokens));
    }
    assert!(spent_today < 2_000 + longest, "{spent_today} of 2,000");
    assert!(spent(&bed) >= spent_today, "{} of {spent_today}", spent(&bed));
}

#[test]
fn what_is_spent_while_nothing_bounds_a_user_is_not_counted_when_something_does_again() {
    let bed = bounded();
    bed.say("alice", "a", "bounded", "Hello").final_text();
    bed.ring_for(2);
    let bounded_to = |per_day: Option<u64>| {
        bed.configure(|catalog| {
            if let Some(tokens) = per_day {
                catalog["AgentContexts"]["default"]["Budget"] =
                    json!({ "UserTokensPerDay": tokens, "Lease": 100 });
            }
        });
    };
    bounded_to(None);
    let mut longest = 0;
    for number in 0..30 {
        let heard = bed.say("alice", "a", &format!("t{number}"), "Hello");
        longest = longest.max(heard.result()["Usage"]["TotalTokens"].as_u64().unwrap());
    }
    bounded_to(Some(2_000));
    let before = spent(&bed);
    let heard = bed.say("alice", "a", "again", "Hello");
    heard.final_text();
    longest = longest.max(heard.result()["Usage"]["TotalTokens"].as_u64().unwrap());
    bed.ring_for(2);
    assert!(spent(&bed) <= before + 2 * longest, "{} after {before}", spent(&bed));
}

#[test]
fn a_user_s_object_that_begins_again_while_a_session_takes_a_lease_is_asked_once_more() {
    let bed = people();
    // Each call takes the next lease.
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Budget"] =
            json!({ "UserTokensPerDay": 2_000, "Lease": 1 });
    });
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.world.begins_again.set(Some(ObjectClass::User));
    bed.say("alice", "a", "t2", "Hello").final_text();
    assert_eq!(bed.world.begins_again.get(), None);
}

#[test]
fn a_turn_whose_user_s_object_is_of_another_version_goes_on_when_it_is_sent_again() {
    let bed = people();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Budget"] =
            json!({ "UserTokensPerDay": 2_000, "Lease": 1 });
    });
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.world.objects_protocol.set(INNER_PROTOCOL + 1);
    let refused = bed.say("alice", "a", "t2", "Hello");
    assert_eq!(refused.failure(), (503, "overloaded"));
    assert_eq!(refused.headers["Retry-After"], "5");
    bed.world.objects_protocol.set(INNER_PROTOCOL);
    bed.say("alice", "a", "t2", "Hello").final_text();
}

#[test]
fn a_call_is_made_again_though_its_first_attempt_has_used_up_the_lease() {
    let bed = people();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Budget"] =
            json!({ "UserTokensPerDay": 2_000, "Lease": 1 });
    });
    let mut failing = Answer { ending: Ending::Failed("server_error"), ..says(Vec::new()) };
    failing.failing_usage = true;
    bed.world.model.script([failing.into()]);
    let heard = bed.say("alice", "a", "t1", "Hello");
    heard.final_text();
    bed.ring_for(2);
    assert_eq!(spent(&bed), heard.result()["Usage"]["TotalTokens"].as_u64().unwrap());
}

#[test]
fn a_turn_that_has_spent_what_a_ticket_grants_goes_on_with_a_ticket_of_more() {
    let bed = people();
    let ticket = |tokens: u64| {
        let body = json!({ "User": "alice", "TurnTokens": tokens }).to_string();
        bed.asked("POST", "/tickets", &body).result()["Ticket"].as_str().unwrap().to_owned()
    };
    let request = words("a", "t1", "Look [plan: server, server, server]").to_string();
    let send = |ticket: &str| bed.ask_with(ticket, "POST", "/execute", &request);
    let refused = send(&ticket(130));
    assert_eq!(refused.failure(), (403, "budget_exceeded"));
    assert_eq!(refused.details()["Budget"]["TurnTokens"], 130);
    bed.world.session("local/~alice/a").restart(&bed.world);
    // What was spent counts, and so does the ticket of whoever repeats it.
    let refused = send(&ticket(250));
    assert_eq!(refused.details()["Budget"]["TurnTokens"], 250);
    let spent = refused.details()["TurnTokens"].as_u64().unwrap();
    assert!((250..400).contains(&spent), "{spent}");
    assert_eq!(send(&ticket(spent)).failure(), (403, "budget_exceeded"));
    send(&ticket(10_000)).final_text();
    assert_eq!(bed.world.tools.executions().values().max(), Some(&1));
}
