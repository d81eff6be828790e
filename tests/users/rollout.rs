//! `Rollout` and users (interface §6): a user's sessions begin under one context, and a share reaches only who may name the
//! context that has it.

use aptix_edge::catalog::{Newcomer, Rollout, RolloutBy};
use bed::*;
use serde_json::{Value, json};

use super::people::{Asking, people, rows, words};

/// The catalog with a context `next`, under another agent context, that gets half of `default`.
fn share_half(bed: &Bed) {
    bed.configure(|catalog| {
        let mut next = catalog["ConversationContexts"]["default"].clone();
        next["AgentContextId"] = json!("replay");
        catalog["ConversationContexts"]["next"] = next;
        catalog["ConversationContexts"]["default"]["Rollout"] = json!({ "To": { "next": 50 } });
    });
}

/// Whether the promise has a user begin under `next`.
fn is_led(tenant: &str, user: &str) -> bool {
    let to = [("next".to_owned(), 5_000)].into_iter().collect();
    let newcomer = Newcomer { tenant, user: Some(user), session_id: "any" };
    Rollout { to, by: RolloutBy::User }.leads("default", &newcomer).is_some()
}

/// Users of such names who begin under `default` and under `next`.
fn two(tenant: &str, name: &str) -> [String; 2] {
    let user = |led: bool| {
        let mut names = (0..).map(|number| format!("{name}{number}"));
        names.find(|name| is_led(tenant, name) == led).unwrap()
    };
    [user(false), user(true)]
}

fn encoded(user: &str) -> String {
    user.replace(' ', "%20")
}

fn ticket_for(bed: &Bed, user: &str, members: Value) -> String {
    let body = with(json!({ "User": user, "ExpiresInS": 3600 }), members);
    bed.asked("POST", "/tickets", &body.to_string()).result()["Ticket"].as_str().unwrap().to_owned()
}

fn bound(shown: &Heard) -> [Value; 3] {
    let names = ["AgentContextId", "ConversationContextId", "AskedContextId"];
    names.map(|name| shown.result()[name].clone())
}

#[test]
fn all_sessions_of_a_user_begin_under_one_context() {
    let bed = people();
    share_half(&bed);
    for (user, context) in two("local", "user of the shop ").iter().zip(["default", "next"]) {
        for session in ["a", "b", "c", "d", "e"] {
            bed.say(&encoded(user), session, "t1", "Hello").final_text();
            let shown = bed.ask_as(&encoded(user), "GET", &format!("/sessions/{session}"), "");
            assert_eq!(bound(&shown)[1], context, "{user}");
        }
    }
    // Another tenant draws anew.
    let both = (0..500).map(|number| format!("user {number}"));
    assert!(both.filter(|user| is_led("local", user) && !is_led("beta", user)).count() > 80);
}

#[test]
fn a_share_reaches_whoever_may_name_the_context_that_has_it_and_nobody_else() {
    let bed = people();
    share_half(&bed);
    let [_, user] = two("local", "user");
    let say = |ticket: &str, session: &str, members: Value| {
        let body = with(words(session, "t1", "Hello"), members);
        bed.ask_with(ticket, "POST", "/execute", &body.to_string())
    };
    let of_default = ticket_for(&bed, &user, json!({ "Contexts": ["default"] }));
    say(&of_default, "a", json!({})).final_text();
    let led = [json!("replay"), json!("next"), json!("default")];
    assert_eq!(bound(&bed.ask_with(&of_default, "GET", "/sessions/a", "")), led);
    // The context that the share leads to is not the ticket's to name.
    let next = json!({ "ConversationContextId": "next" });
    assert_eq!(say(&of_default, "b", next.clone()).failure(), (404, "context_not_found"));
    // A ticket of the other one gets no share of a context that it may not name.
    let of_next = ticket_for(&bed, &user, json!({ "Contexts": ["next"] }));
    assert_eq!(say(&of_next, "b", json!({})).failure(), (404, "context_not_found"));
    assert_eq!(rows(&bed, &user, "session_id").len(), 1, "a refused turn registers no session");
    say(&of_next, "b", next).final_text();

    // A ticket chooses no agent context, so naming one does not change the draw.
    say(&of_default, "c", json!({ "AgentContextId": "default" })).final_text();
    assert_eq!(bound(&bed.ask_with(&of_default, "GET", "/sessions/c", "")), led);
    let other = json!({ "AgentContextId": "frugal" });
    assert_eq!(say(&of_default, "d", other).failure(), (404, "context_not_found"));
    for (agent, status) in [("default", 200), ("replay", 200), ("frugal", 404)] {
        let body =
            with(words("c", &format!("t-{agent}"), "More"), json!({ "AgentContextId": agent }));
        let heard = bed.ask_with(&of_default, "POST", "/execute", &body.to_string());
        assert_eq!(heard.status, status, "{agent}: {}", heard.text);
    }

    // A fork goes on under what its parent asked for: that is what the ticket's contexts hold for.
    let fork = |ticket: &str, id: &str, members: Value| {
        let body = with(json!({ "SessionId": id }), members).to_string();
        bed.ask_with(ticket, "POST", "/sessions/a/fork", &body)
    };
    assert_eq!(fork(&of_default, "f", json!({})).status, 201);
    assert_eq!(bound(&bed.ask_with(&of_default, "GET", "/sessions/f", "")), led);
    let refused = fork(&of_default, "g", json!({ "ConversationContextId": "next" }));
    assert_eq!(refused.failure(), (404, "context_not_found"));
    assert_eq!(fork(&of_next, "g", json!({})).failure(), (404, "context_not_found"));
}
