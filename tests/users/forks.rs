//! Forks of a user's sessions: who may make one, the list that shows it, and what an erasure or a revocation does to one
//! that is being made.

use aptix_edge::ports::ObjectClass;
use bed::*;
use serde_json::{Value, json};

use super::people::{Asking, people, rows};

fn fork_body(id: &str) -> String {
    json!({ "SessionId": id }).to_string()
}

fn ticket_for(bed: &Bed, members: Value) -> String {
    let body = with(json!({ "User": "alice", "ExpiresInS": 3600 }), members);
    bed.asked("POST", "/tickets", &body.to_string()).result()["Ticket"].as_str().unwrap().to_owned()
}

#[test]
fn a_user_forks_a_session_and_the_list_shows_the_fork_with_its_parent_s_title() {
    let bed = people();
    bed.say("alice", "a", "t1", "Holidays in Rome").final_text();
    bed.say("bob", "f", "t1", "Mine").final_text();
    let ticket = ticket_for(&bed, json!({}));
    let made = bed.ask_with(&ticket, "POST", "/sessions/a/fork", &fork_body("f"));
    assert_eq!(made.status, 201, "{}", made.text);
    let listed = bed.list("alice", "");
    let mut ids: Vec<&str> =
        listed.iter().map(|session| session["SessionId"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["a", "f"]);
    assert!(listed.iter().all(|session| session["Title"] == "Holidays in Rome"));
    assert_eq!(bed.ids("bob", ""), ["f"]);
    bed.say("alice", "f", "t2", "Go on").final_text();
    assert_eq!(bed.ask_as("alice", "DELETE", "/sessions/f", "").status, 200);
    bed.ring_for(2);
    assert_eq!(bed.ids("alice", ""), ["a"]);
    assert_eq!(bed.ids("bob", ""), ["f"]);
    // The same id begins a life of its own.
    assert_eq!(bed.ask_with(&ticket, "POST", "/sessions/a/fork", &fork_body("f")).status, 201);
}

#[test]
fn a_fork_of_a_renamed_session_keeps_the_name() {
    let bed = people();
    bed.say("alice", "a", "t1", "First words").final_text();
    let renamed = bed.ask_as("alice", "PATCH", "/sessions/a", r#"{"Title":"New name"}"#);
    assert_eq!(renamed.status, 200, "{}", renamed.text);
    let made = bed.ask_as("alice", "POST", "/sessions/a/fork", &fork_body("f"));
    assert_eq!(made.status, 201, "{}", made.text);
    bed.say("alice", "f", "t2", "Go on").final_text();
    bed.ring_for(2);
    let listed = bed.list("alice", "");
    let titles: Vec<_> = listed.iter().map(|session| &session["Title"]).collect();
    assert_eq!(titles, ["New name", "New name"]);
}

#[test]
fn whoever_reads_the_list_ends_no_fork_that_takes_minutes() {
    let bed = people();
    bed.say("alice", "a", "t1", "One").final_text();
    let made = bed.send_as("alice", "POST", "/sessions/a/fork", &fork_body("f"));
    let is_begun = |bed: &Bed| {
        let sessions = bed.world.sessions.borrow();
        let builds = "SELECT 1 FROM sqlite_master WHERE name = 'fork'";
        sessions.get("local/~alice/f").is_some_and(|fork| !fork.disk.read(builds).is_empty())
    };
    bed.run_until(is_begun, "the build begins");
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 6 * 60_000);
    let listed = bed.send_as("alice", "GET", "/sessions", "");
    let made = bed.wait(&made).unwrap();
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(bed.wait(&listed).unwrap().status, 200);
    assert_eq!(bed.list("alice", "").len(), 2);
}

#[test]
fn a_fork_that_a_deploy_cuts_is_built_though_the_user_s_object_begins_again_too() {
    let bed = people();
    bed.say("alice", "a", "t1", "One").final_text();
    bed.ring_for(1);
    let made = bed.send_as("alice", "POST", "/sessions/a/fork", &fork_body("f"));
    let is_begun = |bed: &Bed| {
        let sessions = bed.world.sessions.borrow();
        let attempted = r#"SELECT 1 FROM fork WHERE build LIKE '%"attempts":1,%'"#;
        sessions.get("local/~alice/f").is_some_and(|fork| !fork.disk.read(attempted).is_empty())
    };
    bed.run_until(is_begun, "the build is attempted");
    bed.world.session("local/~alice/f").restart(&bed.world);
    bed.world.begins_again.set(Some(ObjectClass::User));
    bed.wait(&made);
    bed.ring_for(3);
    assert_eq!(bed.world.begins_again.get(), None);
    assert_eq!(bed.list("alice", "").len(), 2);
    bed.say("alice", "f", "t2", "Go on").final_text();
}

#[test]
fn a_credential_needs_both_operations_both_sessions_and_the_context() {
    let bed = people();
    bed.say("alice", "a", "t1", "One").final_text();
    let fork = |members: Value, id: &str, context: Option<&str>| {
        let ticket = ticket_for(&bed, members);
        let mut body = json!({ "SessionId": id });
        if let Some(context) = context {
            body["ConversationContextId"] = json!(context);
        }
        bed.ask_with(&ticket, "POST", "/sessions/a/fork", &body.to_string())
    };
    for (operations, lacks) in [(json!(["Execute"]), "Read"), (json!(["Read"]), "Execute")] {
        let refused = fork(json!({ "Operations": operations }), "f", None);
        assert_eq!(refused.failure(), (403, "forbidden"));
        assert_eq!(refused.details()["Operation"], lacks);
    }
    assert_eq!(fork(json!({ "Turns": ["t1"] }), "f", None).failure(), (403, "forbidden"));
    let named = json!({ "Sessions": ["a", "draft-*"] });
    assert_eq!(fork(named.clone(), "f", None).failure(), (404, "session_not_found"));
    let contexts = json!({ "Contexts": ["default"] });
    let refused = fork(contexts.clone(), "f", Some("replay"));
    assert_eq!(refused.failure(), (404, "context_not_found"));
    assert_eq!(rows(&bed, "alice", "session_id").len(), 1);
    assert_eq!(fork(named, "draft-1", None).status, 201);
    assert_eq!(fork(contexts, "f", Some("default")).status, 201);
}

#[test]
fn what_ends_the_user_or_the_credential_meanwhile_leaves_no_part_of_a_fork() {
    let mut met = std::collections::BTreeMap::<(usize, u16), usize>::new();
    for seed in 0..120_u64 {
        let bed = people();
        for turn in ["t1", "t2", "t3"] {
            bed.say("alice", "a", turn, "Words [plan: server]").final_text();
        }
        bed.ring_for(1);
        let ticket = ticket_for(&bed, json!({}));
        bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 1_500);
        bed.world.shake(seed);
        let bearer = format!("Bearer {ticket}");
        let headers = [("Authorization", bearer.as_str())];
        let fork = bed.ask("POST", "/sessions/a/fork", &headers, &fork_body("f"));
        for _ in 0..seed / 3 {
            bed.step();
        }
        let act = seed as usize % 3;
        let other = match act {
            0 => bed.ask("DELETE", "/users/alice", &[], ""),
            1 => bed.ask("POST", "/users/alice/revoke", &[], ""),
            _ => bed.send_as("alice", "DELETE", "/sessions/f", ""),
        };
        let heard = bed.wait(&fork).unwrap();
        let ended = bed.wait(&other).unwrap();
        *met.entry((act, heard.status)).or_default() += 1;
        assert!([201, 401, 404, 409].contains(&heard.status), "{seed}: {}", heard.text);
        bed.ring_for(10);
        let shown = bed.ask_as("alice", "GET", "/sessions/f", "").status;
        let is_left = heard.status == 201 && (act == 1 || act == 2 && ended.status == 404);
        if heard.status != 201 || act == 0 {
            assert_eq!(shown, 404, "{seed}");
            let disk = &bed.world.session("local/~alice/f").disk;
            assert_eq!(disk.read("SELECT name FROM sqlite_master").len(), 0, "{seed}");
        }
        if is_left {
            assert_eq!(shown, 200, "{seed}");
        }
        let listed = bed.ids("alice", "");
        assert_eq!(listed.contains(&"f".to_owned()), shown == 200, "{seed}: {listed:?}");
    }
    println!("{met:?}");
    assert!(met.contains_key(&(0, 201)) && met.keys().any(|(_, status)| *status != 201), "{met:?}");
}

#[test]
fn a_fork_that_is_too_long_by_itself_is_told_of_no_wait() {
    let bed = people();
    bed.deploy("MAX_FORK_BYTES_PER_HOUR", "10");
    bed.say("alice", "a", "t1", "Small").final_text();
    let ticket = ticket_for(&bed, json!({}));
    let refused = bed.ask_with(&ticket, "POST", "/sessions/a/fork", &fork_body("f"));
    assert_eq!(refused.failure(), (429, "rate_limited"));
    assert!(refused.text.contains("Fork an earlier turn"), "{}", refused.text);
    assert!(!refused.text.contains("Wait as"), "{}", refused.text);
}

#[test]
fn forks_of_a_user_copy_no_more_bytes_in_an_hour_than_they_may() {
    let bed = people();
    bed.deploy("MAX_FORK_BYTES_PER_HOUR", "1500000");
    bed.say("alice", "a", "t1", "Small").final_text();
    bed.say("alice", "a", "t2", &"long ".repeat(100_000)).final_text();
    bed.say("alice", "b", "t1", "Hello").final_text();
    let ticket = ticket_for(&bed, json!({}));
    let fork = |parent: &str, id: &str| {
        bed.ask_with(&ticket, "POST", &format!("/sessions/{parent}/fork"), &fork_body(id))
    };
    let mut made = 0;
    let refused = loop {
        let heard = fork("a", &format!("f{made}"));
        if heard.status != 201 {
            break heard;
        }
        made += 1;
        assert!(made < 10, "nothing bounds the copies");
    };
    assert!((1..=3).contains(&made), "each has the 500 kB of the words, at least once: {made}");
    assert_eq!(refused.failure(), (429, "rate_limited"));
    let wait: u64 = refused.headers["Retry-After"].parse().unwrap();
    assert!((1..=3_660).contains(&wait), "{wait}");
    assert_eq!(refused.details()["Limit"], "fork_bytes");
    assert!(refused.text.contains("Wait as Retry-After says"), "{}", refused.text);
    let id = format!("f{made}");
    assert_eq!(bed.ask_with(&ticket, "GET", &format!("/sessions/{id}"), "").status, 404);

    // What was made before is shown, what is short has room, and what comes later in the conversation is not counted.
    let again = fork("a", "f0");
    assert_eq!((again.status, again.headers["Idempotent-Replayed"].as_str()), (201, "true"));
    assert_eq!(fork("b", "g").status, 201);
    // The count outlives the sessions and the instance of the user's object.
    for made in 0..made {
        assert_eq!(bed.ask_as("alice", "DELETE", &format!("/sessions/f{made}"), "").status, 200);
    }
    bed.world.user("local/~alice").restart(&bed.world);
    assert_eq!(fork("a", &id).failure(), (429, "rate_limited"));
    // Neither another user's forks count nor those of the tenant's keys.
    for key in 0..4 {
        let heard = bed.ask_as("alice", "POST", "/sessions/a/fork", &fork_body(&format!("k{key}")));
        assert_eq!(heard.status, 201, "{}", heard.text);
    }
    assert!(bed.asked("GET", "/users/alice", "").result().get("Tokens").is_none());
    bed.ring_for(wait.div_ceil(60) + 1);
    let later = ticket_for(&bed, json!({}));
    let heard = bed.ask_with(&later, "POST", "/sessions/a/fork", &fork_body(&id));
    assert_eq!(heard.status, 201, "{}", heard.text);
}

#[test]
fn equal_requests_at_the_same_time_count_the_bytes_of_one_fork() {
    for seed in 0..20 {
        let bed = people();
        bed.say("alice", "a", "t1", &"long ".repeat(1_000)).final_text();
        let bearer = format!("Bearer {}", ticket_for(&bed, json!({})));
        let headers = [("Authorization", bearer.as_str())];
        let fork = |id: &str| bed.ask("POST", "/sessions/a/fork", &headers, &fork_body(id));
        let counted = || {
            let row = bed.world.user("local/~alice").disk.read("SELECT spent FROM user").remove(0);
            let spent: Value = serde_json::from_str(row["spent"].as_str().unwrap()).unwrap();
            let copies = spent["Copies"].as_array().cloned().unwrap_or_default();
            copies.iter().map(|copied| copied["Bytes"].as_u64().unwrap()).sum::<u64>()
        };
        let alone = fork("f");
        assert_eq!(bed.wait(&alone).unwrap().status, 201);
        let of_one = counted();
        assert!(of_one > 5_000, "{of_one}");
        bed.world.shake(seed);
        for equal in [fork("g"), fork("g"), fork("g")] {
            assert_eq!(bed.wait(&equal).unwrap().status, 201);
        }
        assert_eq!(counted(), 2 * of_one, "{seed}");
    }
}
