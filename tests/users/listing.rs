//! The list of a user's sessions.

use aptix_edge::users::{ListingState, Registration, SessionStatus, SessionSummary, UserIndex};
use bed::*;
use serde_json::{Value, json};

use super::people::{Asking, people, rows, words};

/// Lets the alarms ring that report.
const AN_ALARM: u64 = 1;

#[test]
fn a_first_turn_shows_at_once_and_later_ones_with_the_next_alarm() {
    let bed = people();
    assert_eq!(bed.list("alice", ""), Vec::<Value>::new());
    bed.say("alice", "trip", "t1", "## Plan a *trip*\nto Rome").final_text();
    let listed = bed.list("alice", "");
    assert_eq!(listed.len(), 1);
    let tokens = listed[0]["Tokens"].as_u64().unwrap();
    assert!(tokens > 0);
    assert_eq!(
        listed[0],
        json!({
            "SessionId": "trip", "Title": "Plan a trip", "CreatedAt": listed[0]["CreatedAt"],
            "ActiveAt": listed[0]["ActiveAt"], "ModeDisplayName": "General", "Status": "idle",
            "Turns": 1, "Tokens": tokens,
        })
    );
    assert_eq!(bed.list("bob", ""), Vec::<Value>::new());
    bed.say("alice", "trip", "t2", "And Naples").final_text();
    assert_eq!(bed.list("alice", "")[0]["Turns"], 1, "no alarm rang yet");
    bed.ring_for(AN_ALARM);
    let later = &bed.list("alice", "")[0];
    assert_eq!((&later["Turns"], &later["Title"]), (&json!(2), &json!("Plan a trip")));
    assert!(later["Tokens"].as_u64().unwrap() > tokens);
}

#[test]
fn a_human_s_inbox_is_the_list_by_status() {
    let bed = people();
    bed.configure(|catalog| catalog["ServerTools"][1]["Approval"] = json!("Always"));
    bed.world.model.script([says(vec![call("fragile", json!({}))]).into()]);
    bed.say("alice", "asks", "t1", "Break it");
    bed.say("alice", "calls", "t1", "Look [plan: client]");
    bed.say("alice", "rests", "t1", "Hello").final_text();
    bed.world.model.script([error_event("unknown", true)]);
    assert_eq!(bed.say("alice", "fails", "t1", "Hello").status, 502);
    for (status, ids) in [
        ("awaiting_approval", vec!["asks"]),
        ("awaiting_tools", vec!["calls"]),
        ("failed", vec!["fails"]),
    ] {
        assert_eq!(bed.ids("alice", &format!("?Status={status}")), ids, "{status}");
    }
    let asking = &bed.list("alice", "?Status=awaiting_approval")[0];
    assert_eq!(asking["Waiting"]["TurnId"], "t1");
    assert_eq!(asking["Waiting"]["Tools"], json!(["fragile"]));
    assert_eq!(asking["Waiting"]["Since"], asking["ActiveAt"]);
    // The decision takes it out of the inbox, with the alarm at the latest.
    let turn = bed.ask_as("alice", "GET", "/sessions/asks/turns/t1", "");
    let call = turn.result()["ToolCalls"][0]["ToolCallId"].as_str().unwrap().to_owned();
    let answer = with(
        results("t1", &[(&call, json!({ "Approved": false }))]),
        json!({ "SessionId": "asks" }),
    );
    bed.ask_as("alice", "POST", "/execute", &answer.to_string()).final_text();
    bed.ring_for(AN_ALARM);
    assert_eq!(bed.ids("alice", "?Status=awaiting_approval"), Vec::<String>::new());
    // A cancelled pause leaves it, too.
    bed.ask_as("alice", "POST", "/sessions/calls/turns/t1/cancel", "");
    bed.ring_for(AN_ALARM);
    assert_eq!(bed.ids("alice", "?Status=awaiting_tools"), Vec::<String>::new());
    let counts = bed.asked("GET", "/users/alice", "");
    let expected = json!({ "Total": 4, "Running": 0, "AwaitingTools": 0, "AwaitingApproval": 0,
        "Idle": 3, "Failed": 1, "Erasing": 0 });
    assert_eq!(counts.result(), &json!({ "User": "alice", "Sessions": expected }));
}

#[test]
fn a_title_is_the_user_s_once_it_was_set() {
    let bed = people();
    bed.say("alice", "a", "t1", "First").final_text();
    let rename = |user: &str, id: &str, body: Value| {
        bed.ask_as(user, "PATCH", &format!("/sessions/{id}"), &body.to_string())
    };
    let renamed = rename("alice", "a", json!({ "Title": "Änderung # 1" }));
    assert_eq!(renamed.result()["Title"], "Änderung # 1");
    bed.say("alice", "a", "t2", "Second").final_text();
    bed.ring_for(AN_ALARM);
    assert_eq!(bed.list("alice", "")[0]["Title"], "Änderung # 1");
    assert_eq!(rename("bob", "a", json!({ "Title": "x" })).failure(), (404, "session_not_found"));
    assert_eq!(rename("alice", "b", json!({ "Title": "x" })).failure(), (404, "session_not_found"));
    for (body, code) in [
        (json!({}), "missing_field"),
        (json!({ "Title": "" }), "invalid_field"),
        (json!({ "Title": "x".repeat(201) }), "invalid_field"),
        (json!({ "Title": "a\nb" }), "invalid_field"),
        (json!({ "Title": "a", "title": "b" }), "unknown_field"),
    ] {
        assert_eq!(rename("alice", "a", body).failure(), (400, code));
    }
    // Only users have titles and lists.
    let by_nobody = bed.asked("PATCH", "/sessions/a", &json!({ "Title": "x" }).to_string());
    assert_eq!(
        (by_nobody.failure().1, &by_nobody.body["Errors"][0]["Path"]),
        ("missing_field", &json!("/User"))
    );
    assert_eq!(bed.asked("GET", "/sessions", "").failure(), (400, "missing_field"));
}

#[test]
fn the_first_instruction_that_has_words_gives_the_title() {
    let bed = people();
    for (id, words) in [("t1", "***"), ("t2", "Plan a trip"), ("t3", "And Naples")] {
        bed.say("alice", "a", id, words).final_text();
    }
    bed.ring_for(AN_ALARM);
    assert_eq!(bed.list("alice", "")[0]["Title"], "Plan a trip");
}

#[test]
fn titles_stay_out_of_the_list_where_the_catalog_says_so() {
    let bed = people();
    bed.configure(|catalog| catalog["Titles"] = json!("None"));
    bed.say("alice", "a", "t1", "A secret").final_text();
    bed.ring_for(AN_ALARM);
    assert_eq!(bed.list("alice", "")[0]["Title"], "");
    let disk = &bed.world.user("local/~alice").disk;
    assert_eq!(disk.read("SELECT 1 FROM sessions WHERE title <> ''").len(), 0);
}

#[test]
fn a_search_compares_titles_without_the_case_of_ascii_letters() {
    let bed = people();
    for (id, words) in [("a", "A TRIP to Ürümqi"), ("b", "100% of it"), ("c", "Trips_x")] {
        bed.say("alice", id, "t1", words).final_text();
    }
    for (query, ids) in [
        ("trip", vec!["a", "c"]),
        ("TRIP+to", vec!["a"]),
        ("%C3%9Cr", vec!["a"]),
        ("%C3%BCr", vec![]),
        ("%25", vec!["b"]),
        ("_", vec!["c"]),
        ("rip%20to", vec!["a"]),
        ("%00", vec![]),
        ("trip%00", vec![]),
    ] {
        let mut found = bed.ids("alice", &format!("?Query={query}"));
        found.sort();
        assert_eq!(found, ids, "{query}");
    }
}

/// The ids on a page of alice's list, and where the next one begins.
fn page_of(bed: &Bed, query: &str) -> (Vec<String>, Option<String>) {
    let heard = bed.ask_as("alice", "GET", &format!("/sessions?{query}"), "");
    let result = heard.result();
    let listed = result["Sessions"].as_array().unwrap();
    let ids = listed.iter().map(|it| it["SessionId"].as_str().unwrap().to_owned()).collect();
    (ids, result["Next"].as_str().map(str::to_owned))
}

#[test]
fn pages_lead_through_all_sessions_while_others_become_active() {
    let bed = people();
    let ids: Vec<String> = (0..23).map(|number| format!("s{number:02}")).collect();
    for id in &ids {
        bed.say("alice", id, "t1", "Hello").final_text();
        bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 1_000);
    }
    bed.ring_for(AN_ALARM);
    for order in ["Activity", "Created"] {
        let (mut seen, mut query) = (Vec::new(), String::new());
        for page in 0.. {
            let (listed, next) = page_of(&bed, &format!("Limit=5&Order={order}{query}"));
            seen.extend(listed);
            if page == 1 {
                // One that was seen, and one that was not, become active: both are on the first page now.
                for id in ["s22", "s03"] {
                    bed.say("alice", id, order, "Again").final_text();
                }
                bed.ring_for(AN_ALARM);
                assert_eq!(bed.ids("alice", "?Limit=2"), ["s03", "s22"]);
            }
            let Some(next) = next else { break };
            query = format!("&After={next}");
        }
        let mut newest_first = ids.clone();
        newest_first.reverse();
        match order {
            "Created" => assert_eq!(seen, newest_first),
            _ => assert_eq!(
                seen,
                newest_first.into_iter().filter(|id| id != "s03").collect::<Vec<_>>()
            ),
        }
    }
    let other = bed.ask_as("alice", "GET", "/sessions?Limit=1&Order=Created", "");
    let next = other.result()["Next"].as_str().unwrap();
    let wrong = bed.ask_as("alice", "GET", &format!("/sessions?After={next}"), "");
    assert_eq!(wrong.failure(), (400, "invalid_field"));
}

#[test]
fn a_ticket_for_some_sessions_lists_those_alone() {
    let bed = people();
    for id in ["chat", "chat-1", "chat-2", "other"] {
        bed.say("alice", id, "t1", "Hello").final_text();
    }
    let minted = |sessions: Value| {
        let body = json!({ "User": "alice", "Sessions": sessions }).to_string();
        bed.asked("POST", "/tickets", &body).result()["Ticket"].as_str().unwrap().to_owned()
    };
    for (sessions, shown) in [
        (json!(["chat-*"]), vec!["chat-1", "chat-2"]),
        (json!(["chat"]), vec!["chat"]),
        (json!(["c*", "other"]), vec!["chat", "chat-1", "chat-2", "other"]),
        (json!(["nothing"]), vec![]),
    ] {
        let heard = bed.ask_with(&minted(sessions.clone()), "GET", "/sessions", "");
        let listed = heard.result()["Sessions"].as_array().unwrap().clone();
        let mut ids: Vec<_> = listed.iter().map(|it| it["SessionId"].as_str().unwrap()).collect();
        ids.sort_unstable();
        assert_eq!(ids, shown, "{sessions}");
    }
}

#[test]
fn a_session_that_never_began_is_not_listed_and_is_forgotten_after_minutes() {
    let bed = people();
    // Admission refuses the choice of a tool after the session was registered: only then it is known.
    let request = with(words("a", "t1", "Hello"), json!({ "ToolChoiceName": "unknown" }));
    let refused = bed.ask_as("alice", "POST", "/execute", &request.to_string());
    assert_eq!(refused.failure(), (400, "invalid_field"));
    assert_eq!(rows(&bed, "alice", "session_id, listing_state").len(), 1);
    assert_eq!(bed.list("alice", ""), Vec::<Value>::new());
    assert_eq!(rows(&bed, "alice", "session_id").len(), 1, "it may still begin");
    assert_eq!(bed.asked("GET", "/users/alice", "").failure(), (404, "user_not_found"));
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 5 * 60_000);
    assert_eq!(bed.list("alice", ""), Vec::<Value>::new());
    assert_eq!(rows(&bed, "alice", "session_id").len(), 0);
    bed.ring_for(1);
    let disk = &bed.world.user("local/~alice").disk;
    assert_eq!(disk.read("SELECT 1 FROM sqlite_master").len(), 0, "nothing is known of the user");
    // It begins after all.
    bed.say("alice", "a", "t2", "Hello").final_text();
    assert_eq!(bed.ids("alice", ""), ["a"]);
}

#[test]
fn a_first_turn_that_is_on_its_way_while_the_list_is_read_begins_its_session() {
    let bed = people();
    let request = with(words("a", "t1", "Hello"), json!({ "ToolChoiceName": "unknown" }));
    let refused = bed.ask_as("alice", "POST", "/execute", &request.to_string());
    assert_eq!(refused.failure(), (400, "invalid_field"));
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 5 * 60_000);
    // Its body takes seconds, in which the list forgets the session that did not begin.
    let body = vec![Piece::Silence(5_000), Piece::text(&words("a", "t2", "Hello").to_string())];
    let sent = bed.ask_in_pieces("POST", "/execute", &[("Aptix-User", "alice")], body);
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 1);
    assert_eq!(bed.list("alice", ""), Vec::<Value>::new());
    assert_eq!(rows(&bed, "alice", "session_id").len(), 0);
    bed.wait(&sent).unwrap().final_text();
    assert_eq!(bed.ids("alice", ""), ["a"]);
}

#[test]
fn a_page_of_which_many_sessions_never_began_leads_on_to_those_that_did() {
    // After minutes those that were asked are gone when the next page begins behind them.
    for (orders, wait_ms) in [(["Activity", "Created"].as_slice(), 0), (&["Activity"], 5 * 60_000)]
    {
        let bed = people();
        bed.say("alice", "began", "t1", "Hello").final_text();
        bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 1_000);
        for number in 0..70 {
            let request = words(&format!("never{number}"), "t1", "Hello");
            let request = with(request, json!({ "ToolChoiceName": "unknown" }));
            let refused = bed.ask_as("alice", "POST", "/execute", &request.to_string());
            assert_eq!(refused.failure(), (400, "invalid_field"));
        }
        bed.world.executor.set_now_ms(bed.world.executor.now_ms() + wait_ms);
        for order in orders {
            let (mut seen, mut query) = (Vec::new(), String::new());
            for _ in 0..10 {
                let (listed, next) = page_of(&bed, &format!("Limit=1&Order={order}{query}"));
                seen.extend(listed);
                let Some(next) = next else { break };
                query = format!("&After={next}");
            }
            assert_eq!(seen, ["began"], "{order}");
        }
    }
}

#[test]
fn a_session_of_a_user_is_not_begun_where_the_list_cannot_know_it() {
    let bed = people();
    for unbound in [true, false] {
        bed.world.has_users.set(!unbound);
        bed.world.objects_fail.set(!unbound);
        assert_eq!(bed.say("alice", "a", "t1", "Hello").failure(), (500, "internal"));
        let session = bed.world.session("local/~alice/a");
        assert_eq!(session.disk.read("SELECT 1 FROM sqlite_master").len(), 0);
        assert_eq!(
            bed.ask_as("alice", "GET", "/sessions/a", "").failure(),
            (404, "session_not_found")
        );
    }
    bed.world.has_users.set(false);
    bed.world.objects_fail.set(false);
    assert_eq!(bed.ask_as("alice", "GET", "/sessions", "").failure(), (500, "internal"));
    // The tenant's own sessions need no list.
    bed.post(&turn("t1", "Hello")).final_text();
}

#[test]
fn lost_reports_cost_freshness_alone_and_come_with_a_later_alarm() {
    let bed = people();
    bed.say("alice", "a", "t1", "Hello").final_text();
    assert_eq!(bed.list("alice", "")[0]["Turns"], 1);
    bed.world.objects_fail.set(true);
    bed.say("alice", "a", "t2", "Hello").final_text();
    assert!(bed.ring_next());
    bed.world.objects_fail.set(false);
    assert_eq!(bed.list("alice", "")[0]["Turns"], 1);
    bed.ring_for(1);
    assert_eq!(bed.list("alice", "")[0]["Turns"], 2);
    // One that is never heard stops asking.
    bed.world.objects_fail.set(true);
    bed.say("alice", "a", "t3", "Hello").final_text();
    bed.ring_for(60);
    assert_eq!(bed.world.session("local/~alice/a").alarm_at.get(), None);
}

#[test]
fn a_list_that_an_earlier_version_stored_stays_the_same_after_an_upgrade() {
    let bed = people();
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.say("alice", "b", "t1", "Hello").final_text();
    let listed = bed.list("alice", "");
    let user = bed.world.user("local/~alice");
    for statement in [
        "ALTER TABLE user RENAME COLUMN credentials_valid_from TO tickets_before",
        "ALTER TABLE sessions RENAME COLUMN listing_state TO standing",
        "ALTER TABLE sessions RENAME COLUMN incarnation TO registration",
        "UPDATE user SET schema_version = 1",
    ] {
        user.disk.write(statement);
    }
    user.restart(&bed.world);
    assert_eq!(bed.list("alice", ""), listed);
    assert_eq!(user.disk.read("SELECT schema_version FROM user")[0]["schema_version"], 2);
}

#[test]
fn a_list_that_a_newer_version_wrote_stays_closed_and_its_object_says_so_once() {
    let bed = people();
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.ring_for(1);
    let user = bed.world.user("local/~alice");
    user.disk.write("UPDATE user SET schema_version = schema_version + 1");
    user.restart(&bed.world);
    for _ in 0..2 {
        assert_eq!(bed.ask_as("alice", "GET", "/sessions", "").failure(), (500, "internal"));
        assert_eq!(bed.say("alice", "b", "t1", "Hello").failure(), (500, "internal"));
    }
    // A session that has begun goes on.
    bed.say("alice", "a", "t2", "Hello again").final_text();
    let log = bed.world.log.borrow();
    let said: Vec<_> = log.iter().filter(|line| line["event"] == "newer_form").collect();
    assert_eq!(said.len(), 1);
    // Of a user nothing is erased meanwhile.
    assert!(!said[0]["message"].to_string().contains("DELETE"), "{}", said[0]);
}

/// The index of a user with one session, which has not begun.
fn registered_at_1() -> (UserIndex<SqliteDatabase>, Registration) {
    let index = UserIndex::new(Disk::new().database());
    let registration = json!({
        "SessionId": "s", "ReceivedAt": 1, "IssuedAt": null, "Mode": "general", "Title": "One",
    });
    let registration: Registration = serde_json::from_value(registration).unwrap();
    index.register(&registration, 1).unwrap();
    (index, registration)
}

#[test]
fn an_erasure_after_a_clock_was_set_back_bars_what_was_received_before_it() {
    let (index, _) = registered_at_1();
    let erased_at = |received_at: u64| {
        index.bar_earlier(received_at, 0, received_at, None).unwrap();
        index.user().unwrap().unwrap().erased_at
    };
    assert_eq!(erased_at(3_600_000), 3_600_000);
    // The clocks of two machines differ.
    assert_eq!(erased_at(3_300_000), 3_600_000);
    // A revocation is no erasure.
    assert_eq!(erased_at(0), 3_600_000);
    assert_eq!(erased_at(1_000), 1_000);
}

#[test]
fn a_session_that_registers_while_the_list_asks_whether_it_began_is_not_taken_out() {
    let (index, registration) = registered_at_1();
    let known = || index.session(&registration.session_id).unwrap().unwrap();
    let overdue = known();
    index.register(&registration, 400_000).unwrap();
    index.mark(&overdue, ListingState::Expiring).unwrap();
    assert_eq!(known().listing_state, ListingState::Registered);
    index.mark(&known(), ListingState::Expiring).unwrap();
    assert_eq!(known().listing_state, ListingState::Expiring);
}

#[test]
fn what_a_session_has_answered_before_it_told_newer_things_changes_nothing() {
    let (index, registration) = registered_at_1();
    let asked = index.session(&registration.session_id).unwrap().unwrap();
    let answered = SessionSummary { turns: 1, ..asked.summary.clone() };
    // It pauses while another session is waited for, and tells so once.
    let told = SessionSummary { status: SessionStatus::AwaitingApproval, ..answered.clone() };
    index.report(&registration.session_id, &told).unwrap();
    index.list(&asked, &answered).unwrap();
    let known = index.session(&registration.session_id).unwrap().unwrap();
    assert_eq!(known.summary.status, SessionStatus::AwaitingApproval);
}
