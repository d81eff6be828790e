//! Removing sessions of users, erasing users and voiding what was issued to them.

use std::rc::Rc;

use aptix_edge::ports::ObjectClass;
use aptix_edge::users::LONGEST_CREDENTIAL_MS;
use bed::*;
use serde_json::{Value, json};

use super::people::{Asking, people, rows, words};

/// Every session of the user has an empty storage.
pub(crate) fn assert_erased(bed: &Bed, user: &str) {
    for (name, session) in bed.world.sessions.borrow().iter() {
        if name.starts_with(&format!("local/~{user}/")) {
            let tables = session.disk.read("SELECT name FROM sqlite_master");
            assert_eq!(tables.len(), 0, "{name} has {tables:?}");
        }
    }
}

fn erase(bed: &Bed, user: &str) -> Heard {
    bed.asked("DELETE", &format!("/users/{user}"), "")
}

fn next_ms(bed: &Bed) {
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 1);
}

#[test]
fn deleting_a_session_takes_it_out_of_the_list_and_gives_its_receipt() {
    let bed = people();
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.say("alice", "b", "t1", "Hello").final_text();
    let receipt = bed.ask_as("alice", "DELETE", "/sessions/a", "");
    assert_eq!(receipt.result()["Turns"], 1);
    assert_eq!(bed.ids("alice", ""), ["b"]);
    assert_eq!(rows(&bed, "alice", "session_id"), [json!({ "session_id": "b" })]);
    assert_eq!(bed.ask_as("alice", "GET", "/sessions/a", "").failure().0, 404);
    for user in ["alice", "bob"] {
        let again = bed.ask_as(user, "DELETE", "/sessions/a", "");
        assert_eq!(again.failure(), (404, "session_not_found"));
    }
    // The same id begins anew.
    next_ms(&bed);
    bed.say("alice", "a", "t1", "Anew").final_text();
    assert_eq!(bed.list("alice", "?Query=anew").len(), 1);
    bed.ring_for(2);
    assert_eq!(bed.ids("alice", "?Order=Created"), ["a", "b"]);
    for id in ["a", "b"] {
        bed.ask_as("alice", "DELETE", &format!("/sessions/{id}"), "").result();
    }
    bed.ring_for(2);
    assert_erased(&bed, "alice");
    let disk = &bed.world.user("local/~alice").disk;
    assert_eq!(disk.read("SELECT name FROM sqlite_master").len(), 0, "nothing is known any more");
}

#[test]
fn a_session_that_does_not_hear_that_its_receipt_is_counted_was_erased_all_the_same() {
    let bed = people();
    bed.say("alice", "a", "t1", "Hello").final_text();
    let sent = bed.send_as("alice", "DELETE", "/sessions/a", "");
    let user = bed.world.user("local/~alice");
    let counted = "SELECT 1 FROM sessions WHERE listing_state = 'collected'";
    bed.run_until(|_| !user.disk.read(counted).is_empty(), "the receipt is counted");
    bed.world.session("local/~alice/a").restart(&bed.world);
    assert_eq!(bed.wait(&sent).unwrap().result()["Turns"], 1);
    bed.ring_for(2);
    assert_erased(&bed, "alice");
    assert!(rows(&bed, "alice", "session_id").is_empty());
}

#[test]
fn a_session_whose_responses_are_still_to_be_deleted_stays_hidden_until_they_are() {
    let bed = people();
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.world.model.keeps_everything.set(true);
    let receipt = bed.ask_as("alice", "DELETE", "/sessions/a", "");
    assert_eq!(receipt.result()["StoredResponses"]["Pending"], 1);
    assert_eq!(bed.ids("alice", ""), Vec::<String>::new());
    assert_eq!(rows(&bed, "alice", "listing_state"), [json!({ "listing_state": "erasing" })]);
    // Meanwhile the same id begins anew, and what is owed is not forgotten.
    next_ms(&bed);
    bed.say("alice", "a", "t1", "Anew").final_text();
    assert_eq!(bed.ids("alice", ""), ["a"]);
    bed.ring_for(1);
    assert_eq!(bed.ids("alice", ""), ["a"], "the new session lives");
    bed.world.model.keeps_everything.set(false);
    let receipt = bed.ask_as("alice", "DELETE", "/sessions/a", "");
    assert_eq!(receipt.result()["Turns"], 1);
    bed.ring_for(5);
    assert_erased(&bed, "alice");
    assert_eq!(bed.world.model.held.borrow().len(), 0);
    assert_eq!(rows(&bed, "alice", "listing_state").len(), 0);
}

#[test]
fn a_session_begins_anew_without_waiting_for_a_service_that_is_silent_about_its_responses() {
    let bed = people();
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
    bed.say("alice", "a", "t1", "Hello").final_text();
    let service = &bed.world.model;
    service.keeps_everything.set(true);
    service.answers_no_deletion.set(true);
    let receipt = bed.ask_as("alice", "DELETE", "/sessions/a", "");
    assert_eq!(receipt.result()["StoredResponses"]["Pending"], 1);
    next_ms(&bed);
    let began = bed.world.executor.now_ms();
    bed.say("alice", "a", "t1", "Anew").final_text();
    assert!(bed.world.executor.now_ms() < began + 5_000, "it waited");
    service.keeps_everything.set(false);
    service.answers_no_deletion.set(false);
    bed.ring_for(5);
    assert_eq!(service.held.borrow().len(), 1, "what is owed was not forgotten");
    bed.say("alice", "a", "t2", "On").final_text();
}

#[test]
fn the_receipt_of_a_session_that_begins_anew_while_it_erases_itself_counts_once() {
    let rows_erased = |begins_anew: bool| {
        let bed = people();
        bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
        bed.say("alice", "a", "t1", "Hello").final_text();
        bed.world.model.keeps_everything.set(true);
        bed.world.model.answers_no_deletion.set(true);
        next_ms(&bed);
        let erased = bed.ask("DELETE", "/users/alice", &[], "");
        let session = bed.world.session("local/~alice/a");
        bed.run_until(
            |_| session.disk.read("SELECT 1 AS n FROM turns").is_empty(),
            "the session erases itself",
        );
        if begins_anew {
            next_ms(&bed);
            bed.say("alice", "a", "t1", "Anew").final_text();
            assert!(erased.heard().is_none(), "the first reply is still awaited");
        }
        bed.wait(&erased).unwrap().result()["Rows"].clone()
    };
    assert_eq!(rows_erased(true), rows_erased(false));
}

#[test]
fn retention_takes_the_way_of_a_deletion_and_spares_a_session_that_goes_on() {
    let bed = people();
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["RetentionDays"] = json!(1));
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.say("alice", "b", "t1", "Hello").final_text();
    bed.ring_for(12 * 60);
    bed.say("alice", "b", "t2", "Hello").final_text();
    bed.ring_for(20 * 60);
    assert_eq!(bed.ids("alice", ""), ["b"]);
    assert_eq!(rows(&bed, "alice", "session_id").len(), 1);
    bed.ring_for(24 * 60);
    assert_eq!(bed.ids("alice", ""), Vec::<String>::new());
    bed.ring_for(60);
    assert_erased(&bed, "alice");
}

#[test]
fn erasing_a_user_erases_every_session_and_the_receipt_adds_up() {
    let bed = people();
    for number in 0..25 {
        let id = format!("s{number}");
        bed.say("alice", &id, "t1", "Hello [plan: two-servers]").final_text();
        if number % 5 == 0 {
            bed.say("alice", &id, "t2", "Wait [plan: client]").calls();
        }
    }
    bed.say("bob", "s1", "t1", "Hello").final_text();
    let mut expected = 0;
    for session in bed.world.sessions.borrow().iter().filter(|(name, _)| name.contains("~alice")) {
        let count = |statement: &str| {
            session.1.disk.read(statement).first().map_or(0, |row| row["n"].as_u64().unwrap())
        };
        for table in
            ["turns", "conversation", "submissions", "model_calls", "calls", "mode_history"]
        {
            expected += count(&format!("SELECT COUNT(*) AS n FROM {table}"));
        }
        expected += count("SELECT COUNT(*) AS n FROM turns");
        expected += count("SELECT COUNT(model_call) AS n FROM turns");
    }
    let first = erase(&bed, "alice");
    let sessions = |heard: &Heard| heard.result()["Sessions"].clone();
    assert_eq!(sessions(&first), json!({ "Erased": 10, "Pending": 15, "Failed": 0 }));
    assert_eq!(first.result()["CompletedAt"], Value::Null);
    assert_eq!(bed.ids("alice", ""), Vec::<String>::new());
    let counts = bed.asked("GET", "/users/alice", "");
    assert_eq!(counts.result()["Sessions"]["Erasing"], 15);
    bed.ring_for(1);
    let last = erase(&bed, "alice");
    assert_eq!(sessions(&last), json!({ "Erased": 25, "Pending": 0, "Failed": 0 }));
    let receipt = last.result();
    assert_eq!(receipt["Rows"], expected);
    assert_eq!((&receipt["User"], &receipt["Files"]), (&json!("alice"), &json!(0)));
    assert_eq!(receipt["Kept"], json!(["workspaces", "logs"]));
    assert_eq!(receipt["StartedAt"], first.result()["StartedAt"]);
    assert!(receipt["CompletedAt"].is_string() && receipt["TicketsBefore"].is_string());
    assert_eq!(erase(&bed, "alice").failure(), (404, "user_not_found"));
    assert_eq!(bed.asked("GET", "/users/alice", "").failure(), (404, "user_not_found"));
    assert_erased(&bed, "alice");
    assert_eq!(bed.ids("bob", ""), ["s1"]);
    let lines = bed.world.log.borrow();
    let erased: Vec<_> = lines.iter().filter(|line| line["event"] == "user_erased").collect();
    assert_eq!(erased.len(), 1);
    assert_eq!(erased[0]["sessions"], 25);
    drop(lines);
    // What is void stays known as long as a credential lives, and then nothing is known.
    let disk = &bed.world.user("local/~alice").disk;
    assert_eq!(disk.read("SELECT credentials_valid_from FROM user").len(), 1);
    bed.ring_for(LONGEST_CREDENTIAL_MS / 60_000 + 1);
    assert_eq!(disk.read("SELECT name FROM sqlite_master").len(), 0);
}

#[test]
fn the_tools_that_a_server_lists_for_a_user_are_stored_nowhere() {
    let bed = people();
    bed.configure(|catalog| {
        catalog["McpServers"]["docs"] = json!({
            "Url": "https://docs.example/mcp", "Headers": { "X-User": "${USER}" },
        });
        catalog["Modes"][0]["Tools"] = json!(["docs/*"]);
    });
    bed.world.mcp.ttl_ms.set(3_600_000);
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.post(&turn("t1", "Hello")).final_text();
    assert_eq!(erase(&bed, "alice").status, 200);
    let tables = |name: &str| {
        let lists = bed.world.mcp_lists.borrow();
        lists[name].disk.read("SELECT name FROM sqlite_master").len()
    };
    assert_eq!((tables("local/~alice/docs"), tables("local/docs")), (0, 1));
    // In memory the list is kept as ever.
    bed.say("alice", "b", "t1", "Hello").final_text();
    bed.deploy("ANY", "");
    bed.say("alice", "c", "t1", "Hello").final_text();
    assert_eq!(bed.world.mcp.count("tools/list"), 2);
}

#[test]
fn what_is_void_stays_known_as_long_as_a_providers_token_can_live() {
    let bed = people();
    let provider = json!({
        "Issuer": "https://login.example.com/", "JwksUrl": "https://login.example.com/keys",
        "Audiences": ["aptix"], "Tenant": "local", "MaxAgeS": 7 * 86_400, "ClockSkewS": 60,
    });
    bed.deploy("IDENTITY_PROVIDERS", &json!([provider]).to_string());
    bed.say("alice", "a", "t1", "Hello").final_text();
    assert_eq!(erase(&bed, "alice").status, 200);
    let disk = &bed.world.user("local/~alice").disk;
    bed.ring_for(7 * 24 * 60);
    assert_eq!(disk.read("SELECT credentials_valid_from FROM user").len(), 1);
    bed.ring_for(2);
    assert_eq!(disk.read("SELECT name FROM sqlite_master").len(), 0);
}

#[test]
fn what_is_void_is_not_forgotten_while_no_provider_can_be_read() {
    let bed = people();
    bed.say("alice", "a", "t1", "Hello").final_text();
    assert_eq!(erase(&bed, "alice").status, 200);
    bed.deploy("IDENTITY_PROVIDERS", "[{]");
    let disk = &bed.world.user("local/~alice").disk;
    bed.ring_for(7 * 24 * 60);
    assert_eq!(disk.read("SELECT credentials_valid_from FROM user").len(), 1);
    bed.deploy("IDENTITY_PROVIDERS", "[]");
    bed.ring_for(2 * 24 * 60);
    assert_eq!(disk.read("SELECT name FROM sqlite_master").len(), 0);
}

#[test]
fn of_a_user_without_sessions_an_erasure_finds_nothing_and_voids_what_was_issued() {
    let bed = people();
    let before = bed.ticket("alice");
    assert_eq!(erase(&bed, "alice").failure(), (404, "user_not_found"));
    let turn = words("a", "t1", "Hello").to_string();
    let late = bed.ask_with(&before, "POST", "/execute", &turn);
    assert_eq!(late.failure(), (401, "credential_expired"));
    bed.ask_with(&bed.ticket("alice"), "POST", "/execute", &turn).final_text();
    assert_eq!(erase(&bed, "alice").status, 200);
    let disk = &bed.world.user("local/~alice").disk;
    bed.ring_for(7 * 24 * 60 + 2);
    assert_eq!(disk.read("SELECT name FROM sqlite_master").len(), 0);
    assert_eq!(bed.asked("DELETE", "/users/%20a", "").failure(), (400, "invalid_field"));
}

#[test]
fn after_an_erasure_by_a_clock_that_is_set_back_sessions_begin() {
    let bed = people();
    let now_ms = bed.world.executor.now_ms();
    bed.world.executor.set_now_ms(now_ms + 3_600_000);
    bed.say("alice", "a", "t1", "Hello").final_text();
    erase(&bed, "alice").result();
    bed.world.executor.set_now_ms(now_ms);
    bed.say("alice", "b", "t1", "Anew").final_text();
    assert_eq!(bed.ids("alice", ""), ["b"]);
}

#[test]
fn a_session_that_cannot_be_erased_is_tried_again() {
    let bed = people();
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.say("alice", "b", "t1", "Hello").final_text();
    bed.world.objects_fail.set(true);
    let first = erase(&bed, "alice");
    assert_eq!(first.result()["Sessions"], json!({ "Erased": 0, "Pending": 2, "Failed": 2 }));
    let mut waits = Vec::new();
    for _ in 0..7 {
        let at = bed.world.user("local/~alice").rings_at(&bed.world).unwrap();
        waits.push((at - bed.world.executor.now_ms()).div_ceil(1_000));
        bed.world.executor.set_now_ms(at);
        bed.ring_due();
        bed.settle();
    }
    assert_eq!(waits[1..], [2, 4, 8, 16, 30, 30]);
    bed.world.objects_fail.set(false);
    bed.ring_for(1);
    let last = erase(&bed, "alice");
    assert_eq!(last.result()["Sessions"], json!({ "Erased": 2, "Pending": 0, "Failed": 0 }));
    assert_erased(&bed, "alice");
}

#[test]
fn a_session_that_waits_for_the_model_service_alone_has_failed_no_more() {
    let bed = people();
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.world.objects_fail.set(true);
    let first = erase(&bed, "alice");
    assert_eq!(first.result()["Sessions"], json!({ "Erased": 0, "Pending": 1, "Failed": 1 }));
    bed.world.objects_fail.set(false);
    bed.world.model.keeps_everything.set(true);
    let next = erase(&bed, "alice");
    assert_eq!(next.result()["Sessions"], json!({ "Erased": 0, "Pending": 1, "Failed": 0 }));
}

#[test]
fn what_was_issued_before_an_erasure_opens_no_session_that_cannot_be_erased_yet() {
    let bed = people();
    let ids: Vec<String> = (0..12).map(|number| format!("s{number}")).collect();
    for id in &ids {
        bed.say("alice", id, "t1", "Hello").final_text();
    }
    bed.ring_for(1);
    let early = bed.ticket("alice");
    bed.spoil_catalog();
    let erased = erase(&bed, "alice");
    assert_eq!(erased.result()["Sessions"], json!({ "Erased": 0, "Pending": 12, "Failed": 12 }));
    for is_lost in [false, true] {
        for id in &ids {
            let session = bed.world.session(&format!("local/~alice/{id}"));
            if is_lost {
                session.restart(&bed.world);
            }
            let heard = bed.ask_with(&early, "GET", &format!("/sessions/{id}/turns/t1"), "");
            assert_eq!(heard.failure(), (401, "credential_expired"), "{id} {is_lost}");
        }
    }
    bed.configure(|_| ());
    bed.ring_for(2);
    assert_erased(&bed, "alice");
}

#[test]
fn an_erasure_after_a_complete_one_erases_what_has_begun_since() {
    let bed = people();
    for number in 0..12 {
        bed.say("alice", &format!("s{number}"), "t1", "Hello").final_text();
    }
    assert_eq!(erase(&bed, "alice").result()["Sessions"]["Pending"], 2);
    bed.ring_for(1);
    // Nobody asked for the last receipt.
    assert_eq!(bed.asked("GET", "/users/alice", "").failure(), (404, "user_not_found"));
    next_ms(&bed);
    let ticket = bed.ticket("alice");
    bed.ask_with(&ticket, "POST", "/execute", &words("new", "t1", "Hello").to_string())
        .final_text();
    let again = erase(&bed, "alice");
    assert_eq!(again.result()["Sessions"], json!({ "Erased": 1, "Pending": 0, "Failed": 0 }));
    let late = bed.ask_with(&ticket, "GET", "/sessions/new", "");
    assert_eq!(late.failure(), (401, "credential_expired"));
    assert_eq!(bed.ids("alice", ""), Vec::<String>::new());
    assert_erased(&bed, "alice");
    assert_eq!(erase(&bed, "alice").failure(), (404, "user_not_found"));
}

#[test]
fn a_model_service_that_is_down_for_minutes_holds_no_session_back_and_deletes_all_in_the_end() {
    const SESSIONS: usize = 130;
    let bed = people();
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
    for number in 0..SESSIONS {
        bed.say("alice", &format!("s{number}"), "t1", "Hello").final_text();
    }
    bed.world.model.keeps_everything.set(true);
    erase(&bed, "alice");
    bed.ring_for(1);
    for (name, session) in bed.world.sessions.borrow().iter() {
        let turns = session.disk.read("SELECT 1 FROM sqlite_master WHERE name = 'turns'");
        assert_eq!(turns.len(), 0, "the rows of {name} are there");
    }
    // Whoever asks again and again makes nobody give up.
    for _ in 0..20 {
        erase(&bed, "alice");
    }
    bed.ring_for(2);
    let asked = bed.world.model.deletions.borrow().len();
    assert!(asked < SESSIONS * 30, "{asked}");
    bed.world.model.keeps_everything.set(false);
    bed.ring_for(1);
    let last = erase(&bed, "alice");
    assert_eq!(last.result()["Sessions"]["Pending"], 0);
    assert_eq!(last.result()["StoredResponses"]["Deleted"], SESSIONS);
    assert_eq!(bed.world.model.held.borrow().len(), 0);
    assert_erased(&bed, "alice");
}

#[test]
fn an_alarm_asks_no_more_sessions_after_five_minutes_and_the_next_one_asks_the_others() {
    let bed = people();
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
    for number in 0..110 {
        bed.say("alice", &format!("s{number}"), "t1", "Hello").final_text();
    }
    bed.world.model.answers_no_deletion.set(true);
    erase(&bed, "alice");
    bed.settle();
    let (user, executor) = (bed.world.user("local/~alice"), &bed.world.executor);
    executor.set_now_ms(executor.now_ms().max(user.rings_at(&bed.world).unwrap()));
    let began = executor.now_ms();
    bed.ring_due();
    bed.settle();
    let lasted = executor.now_ms() - began;
    assert!(lasted < 500_000, "{lasted}");
    assert!(user.rings_at(&bed.world).is_some());
    bed.world.model.answers_no_deletion.set(false);
    bed.ring_for(5);
    let receipt = erase(&bed, "alice");
    assert_eq!(receipt.result()["Sessions"], json!({ "Erased": 110, "Pending": 0, "Failed": 0 }));
    assert_erased(&bed, "alice");
}

#[test]
fn an_erasure_waits_for_none_of_the_responses_of_an_earlier_deletion() {
    let bed = people();
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
    for number in 0..20 {
        bed.say("alice", &format!("s{number}"), "t1", "Hello").final_text();
    }
    bed.world.model.keeps_everything.set(true);
    bed.ask_as("alice", "DELETE", "/sessions/s0", "");
    bed.ring_for(2);
    erase(&bed, "alice");
    let user = bed.world.user("local/~alice");
    let soon = bed.world.executor.now_ms() + 2_000;
    assert!(user.rings_at(&bed.world).is_some_and(|at| at <= soon));
}

#[test]
fn what_was_issued_before_an_erasure_begins_no_new_life() {
    let bed = people();
    let before = bed.ticket("alice");
    bed.ask_with(&before, "POST", "/execute", &words("a", "t1", "Hello").to_string()).final_text();
    assert!(erase(&bed, "alice").result()["CompletedAt"].is_string());
    let turn = words("a", "t2", "Hello").to_string();
    for (method, target, body) in [
        ("POST", "/execute", turn.as_str()),
        ("GET", "/sessions", ""),
        ("DELETE", "/sessions/a", ""),
    ] {
        let late = bed.ask_with(&before, method, target, body);
        assert_eq!(late.failure(), (401, "credential_expired"), "{method} {target}");
        assert_eq!(late.headers["WWW-Authenticate"], "Bearer error=\"invalid_token\"");
    }
    assert_erased(&bed, "alice");
    // A credential of afterwards begins one.
    let after = bed.ticket("alice");
    bed.ask_with(&after, "POST", "/execute", &turn).final_text();
    let listed = bed.ask_with(&after, "GET", "/sessions", "");
    assert_eq!(listed.result()["Sessions"][0]["Turns"], 1);
    assert_eq!(bed.ask_with(&before, "GET", "/sessions/a", "").failure().1, "credential_expired");
}

#[test]
fn after_an_erasure_every_session_begins_anew_and_knows_earlier_credentials_as_void() {
    for is_silent in [false, true] {
        let bed = people();
        bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
        let before = bed.ticket("alice");
        let ids: Vec<_> = (0..13).map(|number| format!("s{number}")).collect();
        for id in &ids {
            bed.say("alice", id, "t1", "Hello").final_text();
        }
        bed.world.model.keeps_everything.set(is_silent);
        bed.world.model.answers_no_deletion.set(is_silent);
        let sessions = erase(&bed, "alice").result()["Sessions"].clone();
        assert!(sessions["Pending"].as_u64() >= Some(3), "{sessions}");
        for id in &ids {
            let late = bed.ask_with(&before, "GET", &format!("/sessions/{id}"), "");
            assert_eq!(late.failure(), (401, "credential_expired"), "{id}");
            bed.say("alice", id, "t1", "Anew").final_text();
        }
        bed.world.model.keeps_everything.set(false);
        bed.world.model.answers_no_deletion.set(false);
        bed.ring_for(5);
        let listed = bed.list("alice", "");
        assert_eq!(listed.len(), ids.len());
        assert!(listed.iter().all(|session| session["Turns"] == 1), "{listed:?}");
        assert_eq!(bed.world.model.held.borrow().len(), ids.len());
        let receipt = erase(&bed, "alice");
        assert_eq!(receipt.result()["Sessions"]["Erased"], 10, "another erasure has begun");
    }
}

#[test]
fn the_receipt_counts_the_rows_of_every_session_that_a_newer_version_wrote() {
    let bed = people();
    for number in 0..13 {
        bed.say("alice", &format!("s{number}"), "t1", "Hello").final_text();
    }
    for (name, session) in bed.world.sessions.borrow().iter() {
        if name.contains("~alice") {
            session.disk.write("UPDATE session SET schema_version = schema_version + 1");
            session.restart(&bed.world);
        }
    }
    assert_eq!(erase(&bed, "alice").result()["Sessions"]["Pending"], 3);
    bed.ring_for(1);
    let receipt = erase(&bed, "alice");
    assert_eq!(receipt.result()["Sessions"]["Erased"], 13);
    let rows = receipt.result()["Rows"].as_u64().unwrap();
    assert!(rows > 0 && rows.is_multiple_of(13), "{}", receipt.text);
    assert_erased(&bed, "alice");
}

#[test]
fn revoking_reaches_every_session_before_it_is_answered() {
    let bed = people();
    let before = bed.ticket("alice");
    for id in ["a", "b"] {
        bed.ask_with(&before, "POST", "/execute", &words(id, "t1", "Hello").to_string())
            .final_text();
    }
    let revoked = bed.asked("POST", "/users/alice/revoke", "");
    assert_eq!(
        (&revoked.result()["User"], &revoked.result()["Sessions"]),
        (&json!("alice"), &json!(2))
    );
    let after = bed.ticket("alice");
    for restarted in [false, true] {
        for id in ["a", "b"] {
            let target = format!("/sessions/{id}");
            if restarted {
                bed.world.session(&format!("local/~alice/{id}")).restart(&bed.world);
            }
            let old = bed.ask_with(&before, "GET", &target, "");
            assert_eq!(old.failure(), (401, "credential_expired"), "{id}");
            bed.ask_with(&after, "GET", &target, "").result();
            bed.ask_as("alice", "GET", &target, "").result();
        }
    }
    for id in ["a", "new"] {
        let old = bed.ask_with(&before, "POST", "/execute", &words(id, "t2", "Hello").to_string());
        assert_eq!(old.failure().1, "credential_expired");
        bed.ask_with(&after, "POST", "/execute", &words(id, "t2", "Hello").to_string())
            .final_text();
    }
    let view = bed.asked("GET", "/users/alice", "");
    assert_eq!(view.result()["TicketsBefore"], revoked.result()["TicketsBefore"]);
    let lines = bed.world.log.borrow();
    let line = lines.iter().find(|line| line["event"] == "user_revoked").unwrap();
    assert_eq!((&line["sessions"], &line["unreached"]), (&json!(2), &json!(0)));
}

#[test]
fn a_session_that_begins_again_while_it_is_told_of_a_revocation_is_told_once_more() {
    let bed = people();
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.world.begins_again.set(Some(ObjectClass::Session));
    assert_eq!(bed.asked("POST", "/users/alice/revoke", "").result()["Sessions"], 1);
    assert_eq!(bed.world.begins_again.get(), None);
}

#[test]
fn a_user_without_sessions_can_be_revoked_and_is_forgotten_in_time() {
    let bed = people();
    let before = bed.ticket("alice");
    assert_eq!(bed.asked("POST", "/users/alice/revoke", "").result()["Sessions"], 0);
    let late = bed.ask_with(&before, "POST", "/execute", &words("a", "t1", "Hello").to_string());
    assert_eq!(late.failure().1, "credential_expired");
    assert_eq!(bed.asked("GET", "/users/alice", "").failure().1, "user_not_found");
    bed.ring_for(LONGEST_CREDENTIAL_MS / 60_000 + 1);
    let disk = &bed.world.user("local/~alice").disk;
    assert_eq!(disk.read("SELECT name FROM sqlite_master").len(), 0);
}

#[test]
fn a_revocation_that_not_every_session_heard_is_said_to_be_so() {
    let bed = people();
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.world.objects_fail.set(true);
    assert_eq!(bed.asked("POST", "/users/alice/revoke", "").failure(), (500, "internal"));
    bed.world.objects_fail.set(false);
    assert_eq!(bed.asked("POST", "/users/alice/revoke", "").result()["Sessions"], 1);
}

#[test]
fn a_session_whose_storage_fails_has_not_heard_of_a_revocation() {
    let bed = people();
    let before = bed.ticket("alice");
    bed.ask_with(&before, "POST", "/execute", &words("a", "t1", "Hello").to_string()).final_text();
    let session = bed.world.session("local/~alice/a");
    for event in ["INSERT", "UPDATE"] {
        session.disk.write(&format!(
            "CREATE TRIGGER spoiled_{event} BEFORE {event} ON session
             BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END"
        ));
    }
    assert_eq!(bed.asked("POST", "/users/alice/revoke", "").failure(), (500, "internal"));
    session.disk.write("DROP TRIGGER spoiled_INSERT; DROP TRIGGER spoiled_UPDATE");
    assert_eq!(bed.asked("POST", "/users/alice/revoke", "").result()["Sessions"], 1);
    session.restart(&bed.world);
    assert_eq!(bed.ask_with(&before, "GET", "/sessions/a", "").failure().1, "credential_expired");
}

#[test]
fn an_erasure_that_is_cut_at_any_moment_gives_its_receipt_to_the_next_request() {
    for steps in 0.. {
        assert!(steps < 1_000, "no end");
        let bed = people();
        bed.say("alice", "a", "t1", "Hello").final_text();
        next_ms(&bed);
        let first = bed.ask("DELETE", "/users/alice", &[], "");
        for _ in 0..steps {
            bed.step();
        }
        if first.heard().is_some() {
            assert_eq!(erase(&bed, "alice").failure(), (404, "user_not_found"));
            break;
        }
        bed.world.user("local/~alice").restart(&bed.world);
        let sessions = erase(&bed, "alice").result()["Sessions"].clone();
        assert_eq!(sessions["Erased"], 1, "cut after {steps} steps");
    }
}

#[test]
fn two_requests_to_erase_a_user_at_once_give_the_same_receipt() {
    let bed = people();
    bed.say("alice", "a", "t1", "Hello").final_text();
    next_ms(&bed);
    let both =
        [bed.ask("DELETE", "/users/alice", &[], ""), bed.ask("DELETE", "/users/alice", &[], "")];
    let receipts = both.map(|sent| bed.wait(&sent).unwrap().result().clone());
    assert_eq!(receipts[0], receipts[1]);
    assert_eq!(receipts[0]["Sessions"]["Erased"], 1);
    assert_eq!(erase(&bed, "alice").failure(), (404, "user_not_found"));
}

#[test]
fn an_erasure_meets_a_first_turn_at_every_moment() {
    // A first turn is cut by the erasure of its user after any number of steps of the world.
    let mut met = std::collections::BTreeMap::<String, usize>::new();
    for steps in 0..60 {
        let bed = people();
        bed.say("alice", "old", "t1", "Hello").final_text();
        let first =
            bed.send_as("alice", "POST", "/execute", &words("new", "t1", "Hello").to_string());
        for _ in 0..steps {
            bed.step();
        }
        next_ms(&bed);
        let erased = erase(&bed, "alice");
        assert!(erased.status == 200, "{}", erased.text);
        bed.settle();
        let heard = first.heard().unwrap();
        *met.entry(format!("{:?}", heard.failure())).or_default() += 1;
        assert!([(200, ""), (409, "turn_aborted")].contains(&heard.failure()), "{}", heard.text);
        bed.ring_for(2);
        assert_eq!(bed.ids("alice", ""), Vec::<String>::new(), "after {steps} steps");
        assert_erased(&bed, "alice");
    }
    assert!(met.len() == 2, "{met:?}");
}

#[test]
fn an_erasure_ends_a_turn_that_runs_and_one_that_pauses() {
    let bed = people();
    bed.say("alice", "pauses", "t1", "Wait [plan: client]").calls();
    bed.world.model.script([Reply::Silence]);
    let running =
        bed.send_as("alice", "POST", "/execute", &words("runs", "t1", "Hello").to_string());
    let calls = bed.world.model.requests();
    bed.run_until(
        |bed| bed.world.model.open.get() > 0 || bed.world.model.requests() > calls,
        "it runs",
    );
    next_ms(&bed);
    let erased = erase(&bed, "alice");
    assert_eq!(erased.result()["Sessions"]["Erased"], 2);
    assert_eq!(bed.wait(&running).unwrap().failure(), (409, "turn_aborted"));
    bed.ring_for(2);
    assert_erased(&bed, "alice");
    assert_eq!(bed.world.model.open.get(), 0);
}

#[test]
fn a_session_that_goes_on_keeps_the_alarm_that_a_lost_instance_has_set() {
    let bed = people();
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["RetentionDays"] = json!(30));
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.settle();
    let (session, world) = (bed.world.session("local/~alice/a"), Rc::clone(&bed.world));
    let soon = world.executor.now_ms() + 30_000;
    session.alarm_at.set(Some(soon));
    session.restart(&world);
    let body = json!({ "SessionId": "a", "Incarnation": 1_u64 << 52, "ReceivedAt": 0, "OnlyExpired": true });
    let asked = world.ask_session("local/~alice/a", "/session/erase", body.to_string());
    let question = async move {
        let reply = asked.await.unwrap();
        assert!(reply.contains("kept"), "{reply}");
    };
    bed.world.executor.spawn(1 << 40, Box::pin(question));
    bed.settle();
    assert!(session.alarm_at.get().is_some_and(|at_ms| at_ms <= soon));
}
