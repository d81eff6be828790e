//! Sessions that their user's object does not know, since a version began them that registered none: each registers with
//! its next report.

use std::cell::RefCell;
use std::rc::Rc;

use bed::*;
use serde_json::json;

use super::people::{Asking, people, rows};

/// The user's object forgets its sessions, and nobody tells it.
fn forget(bed: &Bed, user: &str) {
    let user = bed.world.user(&format!("local/~{user}"));
    user.disk.write("DELETE FROM sessions");
    user.restart(&bed.world);
}

#[test]
fn a_session_that_nobody_registered_is_listed_after_its_next_report_and_erased_like_any_other() {
    let bed = people();
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.ring_for(1);
    forget(&bed, "alice");
    assert_eq!(bed.ids("alice", ""), Vec::<String>::new());
    bed.say("alice", "a", "t2", "Hello again").final_text();
    bed.ring_for(1);
    let listed = bed.list("alice", "");
    assert_eq!((&listed[0]["SessionId"], &listed[0]["Turns"]), (&json!("a"), &json!(2)));
    assert_eq!(listed[0]["Title"], "Hello");
    assert_eq!(bed.ask_as("alice", "DELETE", "/sessions/a", "").result()["Turns"], 2);
    bed.ring_for(1);
    super::erasing::assert_erased(&bed, "alice");
}

#[test]
fn a_session_that_an_erasure_of_its_user_missed_is_erased_when_it_reports() {
    let bed = people();
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.say("alice", "b", "t1", "Hello").final_text();
    bed.ring_for(1);
    let user = bed.world.user("local/~alice");
    user.disk.write("DELETE FROM sessions WHERE session_id = 'a'");
    user.restart(&bed.world);
    bed.asked("DELETE", "/users/alice", "").result();
    bed.say("alice", "a", "t2", "Hello again").final_text();
    bed.ring_for(2);
    assert_eq!(bed.ids("alice", ""), Vec::<String>::new());
    super::erasing::assert_erased(&bed, "alice");
}

#[test]
fn a_report_that_comes_after_the_erasure_of_its_session_brings_nothing_back() {
    let bed = people();
    bed.say("alice", "a", "t1", "Hello").final_text();
    bed.say("alice", "b", "t1", "Hello").final_text();
    let mut report = json!({ "SessionId": "a", "Expired": false });
    let told = &rows(&bed, "alice", "incarnation, created_at, active_at")[0];
    report["Summary"] = json!({
        "Incarnation": told["incarnation"], "CreatedAt": told["created_at"], "ActiveAt": told["active_at"],
        "Status": "idle", "Mode": "plain", "Turns": 1, "Tokens": 0, "Title": "Hello",
    });
    bed.ask_as("alice", "DELETE", "/sessions/a", "").result();
    let asked = bed.world.ask_user("local/~alice", "/user/report", report.to_string());
    let replied = Rc::new(RefCell::new(None));
    let reply = Rc::clone(&replied);
    let ask = async move {
        reply.replace(Some(asked.await));
    };
    bed.world.executor.spawn(u64::MAX, Box::pin(ask));
    bed.settle();
    let replied = replied.take().expect("the user's object replies").unwrap();
    assert!(replied.contains("CredentialsValidFrom"), "{replied}");
    assert_eq!(rows(&bed, "alice", "session_id"), [json!({ "session_id": "b" })]);
}
