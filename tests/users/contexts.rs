//! Which agent context, and so which model and which budget, a session of a user gets: the one of its conversation context,
//! whatever a ticket's holder writes. A key may choose.

use bed::*;
use serde_json::{Value, json};

use super::people::{Asking, people, rows, words};

/// The faults of a response, with their places.
fn faults(heard: &Heard) -> Vec<(String, String)> {
    let text = |fault: &Value, name: &str| fault[name].as_str().unwrap_or_default().to_owned();
    let errors = heard.body["Errors"].as_array().unwrap().iter();
    errors.map(|fault| (text(fault, "Path"), text(fault, "Message"))).collect()
}

#[test]
fn a_ticket_s_holder_gets_the_agent_context_of_the_conversation_and_no_other() {
    let bed = people();
    let ticket = bed.ticket("alice");
    let say = |session: &str, turn: &str, members: Value| {
        let body = with(words(session, turn, "Hello"), members);
        bed.ask_with(&ticket, "POST", "/execute", &body.to_string())
    };
    let agent = |id: &str| json!({ "AgentContextId": id });
    for (session, members) in [
        ("a", json!({})),
        ("b", json!({ "ToolChoiceName": "nothing" })),
        ("c", json!({ "ConversationContextId": "missing" })),
    ] {
        let other = say(session, "t1", with(members.clone(), agent("replay")));
        let missing = say(session, "t1", with(members, agent("missing")));
        assert_eq!(other.failure(), (404, "context_not_found"));
        assert!(faults(&other).iter().any(|(path, _)| path == "/AgentContextId"), "{}", other.text);
        assert_eq!(faults(&other), faults(&missing), "nothing shows which of both exists");
    }
    let conversation = json!({ "ConversationContextId": "missing", "AgentContextId": "default" });
    assert_eq!(faults(&say("a", "t1", conversation)).len(), 2, "nor which conversation has which");
    assert!(rows(&bed, "alice", "session_id").is_empty(), "a refused turn registers no session");
    assert_eq!(bed.world.model.requests(), 0);

    say("a", "t1", agent("default")).final_text();
    let bound = json!({ "ConversationContextId": "replay", "AgentContextId": "replay" });
    say("r", "t1", bound.clone()).final_text();
    for (id, status) in [("replay", 404), ("missing", 404), ("default", 200)] {
        assert_eq!(say("a", "t2", agent(id)).status, status, "{id}");
    }
    assert_eq!(say("a", "t3", json!({ "ConversationContextId": "replay" })).status, 400);

    // A key chooses, and what it chose applies to the turns of a ticket.
    let staff = with(words("k", "t1", "Hello"), agent("replay"));
    bed.ask_as("alice", "POST", "/execute", &staff.to_string()).final_text();
    say("k", "t2", json!({})).final_text();
    assert_eq!(say("k", "t3", agent("frugal")).failure(), (404, "context_not_found"));
    let shown = bed.ask_with(&ticket, "GET", "/sessions/k", "");
    assert_eq!(shown.result()["AgentContextId"], "replay");
    let other = with(words("k", "t3", "Hello"), agent("frugal"));
    let refused = bed.ask_as("alice", "POST", "/execute", &other.to_string());
    assert_eq!(refused.failure(), (400, "invalid_field"));
}

#[test]
fn a_fork_goes_on_under_the_agent_context_of_its_conversation_context() {
    let bed = people();
    let ticket = bed.ticket("alice");
    let say = |session: &str, turn: &str, members: Value| {
        let body = with(words(session, turn, "Hello"), members);
        bed.ask_with(&ticket, "POST", "/execute", &body.to_string())
    };
    say("a", "t1", json!({})).final_text();
    for (fork, context, agent) in [("own", None, "default"), ("other", Some("replay"), "replay")] {
        let body = json!({ "SessionId": fork, "ConversationContextId": context });
        let made = bed.ask_with(&ticket, "POST", "/sessions/a/fork", &body.to_string());
        assert_eq!(made.status, 201, "{}", made.text);
        let shown = bed.ask_with(&ticket, "GET", &format!("/sessions/{fork}"), "");
        assert_eq!(shown.result()["AgentContextId"], agent);
        let chosen = say(fork, "t2", json!({ "AgentContextId": "frugal" }));
        assert_eq!(chosen.failure(), (404, "context_not_found"));
        say(fork, "t2", json!({ "AgentContextId": agent })).final_text();
    }
    let body = json!({ "SessionId": "f", "AgentContextId": "replay" });
    let refused = bed.ask_with(&ticket, "POST", "/sessions/a/fork", &body.to_string());
    assert_eq!(refused.failure(), (400, "forbidden_field"));
}

#[test]
fn a_search_service_is_told_for_whom_a_workspace_is_searched() {
    let bed = people();
    bed.configure(|catalog| {
        let headers = json!({ "X-User": "${USER}" });
        catalog["AgentContexts"]["default"]["Retrieval"] =
            json!({ "Http": { "Url": "https://search.example/q", "Headers": headers } });
    });
    bed.world.tools.think(|_| ToolAnswer::Json(json!({ "Chunks": [] })));
    let (target, query) = ("/workspaces/w/search", r#"{"Query":"salaries"}"#);
    let body = json!({ "User": "al/ice", "Operations": ["Search"], "Workspaces": ["w"] });
    let minted = bed.asked("POST", "/tickets", &body.to_string());
    let ticket = minted.result()["Ticket"].as_str().unwrap().to_owned();
    bed.ask_with(&ticket, "POST", target, query).result();
    bed.ask_as("bob", "POST", target, query).result();
    bed.asked("POST", target, query).result();
    let turn = with(words("s", "t", "salaries"), json!({ "WorkspaceId": "w" }));
    bed.ask_as("bob", "POST", "/execute", &turn.to_string()).final_text();
    let told = bed.world.tool_requests.take().into_iter().map(|request| {
        let header = request.headers.into_iter().find(|(name, _)| name == "X-User");
        header.unwrap().1
    });
    assert_eq!(told.collect::<Vec<_>>(), ["al%2Fice", "bob", "", "bob"]);
}
