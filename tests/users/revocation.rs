//! Revocation and erasure where no session is asked: at workspaces, when a ticket is minted, and at sessions that have not
//! begun.

use bed::*;
use serde_json::json;

use super::people::{Asking, people, words};

const DOCUMENTS: &str = r#"{"Documents":[{"Path":"a.md","Contents":"Pelicans eat fish."}]}"#;
const QUERY: &str = r#"{"Query":"pelicans"}"#;

/// A ticket of alice's that may do everything, and search.
fn ticket_for(bed: &Bed) -> String {
    let operations = ["Execute", "Read", "Watch", "Cancel", "Search", "List"];
    let body = json!({ "User": "alice", "Operations": operations, "Workspaces": ["w"], "ExpiresInS": 3600 });
    let minted = bed.asked("POST", "/tickets", &body.to_string());
    minted.result()["Ticket"].as_str().unwrap().to_owned()
}

fn library() -> Bed {
    let bed = people();
    assert_eq!(bed.asked("PUT", "/workspaces/w/documents", DOCUMENTS).status, 200);
    bed
}

fn searched(bed: &Bed, ticket: &str) -> Heard {
    bed.ask_with(ticket, "POST", "/workspaces/w/search", QUERY)
}

#[test]
fn a_void_ticket_searches_nothing_and_makes_no_other_ticket() {
    for end in [("POST", "/users/alice/revoke"), ("DELETE", "/users/alice")] {
        let bed = library();
        bed.say("alice", "a", "t1", "Hello").final_text();
        let ticket = ticket_for(&bed);
        let others = bed.asked(
            "POST",
            "/tickets",
            &json!({ "User": "bob", "Operations": ["Search"], "Workspaces": ["w"] }).to_string(),
        );
        let others = others.result()["Ticket"].as_str().unwrap().to_owned();
        assert_eq!(searched(&bed, &ticket).result()["Chunks"].as_array().unwrap().len(), 1);
        let narrower = bed.ask_with(&ticket, "POST", "/tickets", r#"{"ExpiresInS":60}"#);
        let narrower = narrower.result()["Ticket"].as_str().unwrap().to_owned();

        assert_eq!(bed.asked(end.0, end.1, "").status, 200);
        for void in [&ticket, &narrower] {
            let refused = searched(&bed, void);
            assert_eq!(refused.failure(), (401, "credential_expired"), "{end:?}");
            assert_eq!(refused.headers["WWW-Authenticate"], "Bearer error=\"invalid_token\"");
            let minted = bed.ask_with(void, "POST", "/tickets", "{}");
            assert_eq!(minted.failure(), (401, "credential_expired"), "{end:?}");
        }
        assert_eq!(searched(&bed, &others).status, 200, "another user is not concerned");
        assert_eq!(
            searched(&bed, &ticket_for(&bed)).status,
            200,
            "nor is what is issued afterwards"
        );
        let by_key = bed.ask_as("alice", "POST", "/workspaces/w/search", QUERY);
        assert_eq!(by_key.status, 200, "nor a key");
    }
}

#[test]
fn a_void_ticket_is_told_so_before_a_session_that_has_not_begun() {
    let bed = library();
    let ticket = ticket_for(&bed);
    let targets = [
        ("GET", "/sessions/n", ""),
        ("GET", "/sessions/n/turns/t", ""),
        ("GET", "/sessions/n/turns/t/stream", ""),
        ("POST", "/sessions/n/turns/t/cancel", ""),
        ("POST", "/sessions/n/turns/t/steer", r#"{"SteerId":"1","Instruction":"More"}"#),
        ("POST", "/sessions/n/fork", r#"{"SessionId":"m"}"#),
        ("POST", "/execute", r#"{"SessionId":"n","TurnId":"t","Instruction":""}"#),
    ];
    for (method, target, body) in targets {
        let status = bed.ask_with(&ticket, method, target, body).status;
        assert!([400, 404].contains(&status), "{method} {target}: {status}");
    }
    assert_eq!(bed.asked("POST", "/users/alice/revoke", "").status, 200);
    for (method, target, body) in targets {
        let refused = bed.ask_with(&ticket, method, target, body);
        assert_eq!(refused.failure(), (401, "credential_expired"), "{method} {target}");
    }
    let turn = words("n", "t", "Hello").to_string();
    let refused = bed.ask_with(&ticket, "POST", "/execute", &turn);
    assert_eq!(refused.failure(), (401, "credential_expired"));
    assert_eq!(bed.ask_as("alice", "GET", "/sessions/n", "").failure(), (404, "session_not_found"));
}

#[test]
fn without_the_user_s_object_nothing_is_let_in_that_it_might_have_made_void() {
    let bed = library();
    let ticket = ticket_for(&bed);
    bed.world.has_users.set(false);
    assert_eq!(searched(&bed, &ticket).failure(), (500, "internal"));
    assert_eq!(bed.ask_with(&ticket, "POST", "/tickets", "{}").failure(), (500, "internal"));
    assert_eq!(bed.asked("POST", "/workspaces/w/search", QUERY).status, 200, "a key needs none");
}

#[test]
fn the_log_says_how_long_a_ticket_is_valid_and_how_many_sessions_it_names() {
    let bed = people();
    let minted = |heard: &Heard| {
        let lines = bed.world.log.take();
        let line = lines.into_iter().rfind(|line| line["event"] == "ticket").unwrap();
        let ticket = heard.result()["Ticket"].as_str().unwrap().to_owned();
        (ticket, line["seconds"].clone(), line["sessions"].clone())
    };
    let usual = bed.asked("POST", "/tickets", r#"{"User":"alice"}"#);
    assert_eq!(minted(&usual).1, 600);
    let short = r#"{"User":"alice","Sessions":["a","b"],"ExpiresInS":60}"#;
    let (ticket, seconds, sessions) = minted(&bed.asked("POST", "/tickets", short));
    assert_eq!((seconds, sessions), (60.into(), 2.into()));
    let narrower = bed.ask_with(&ticket, "POST", "/tickets", r#"{"ExpiresInS":600}"#);
    let (_, seconds, sessions) = minted(&narrower);
    assert_eq!((seconds, sessions), (60.into(), 2.into()));
}
