//! `Contexts` of tenants: for each credential a context without a right is what an unknown one is.

use bed::*;
use serde_json::{Value, json};

use super::clients::{Client, key, said_of, tenants};

/// The faults of a response without what its request alone could tell.
fn faults(heard: &Heard) -> Value {
    heard.body["Errors"].clone()
}

fn under(context: &str) -> Value {
    json!({ "ConversationContextId": context })
}

/// A session of a client's is there, whatever the client itself may.
fn is_there(bed: &Bed, client: &Client, session: &str) -> bool {
    client.get(bed, &format!("/sessions/{session}")).status == 200
}

#[test]
fn of_key_acting_key_and_ticket_each_begins_sessions_under_the_tenant_s_contexts_alone() {
    let bed = tenants(json!({ "acme": { "Contexts": ["replay"] } }));
    let acme = key("acme");
    let wide = acme.ticket(&bed, json!({ "User": "carol", "Contexts": ["default", "replay"] }));
    let all = acme.ticket(&bed, json!({ "User": "dan" }));
    for client in [acme.clone(), acme.clone().for_user("bob"), wide, all] {
        let missing = client.say(&bed, "s", "t", under("missing"));
        assert_eq!(missing.failure(), (404, "context_not_found"));
        for other in [under("default"), under("frugal"), json!({})] {
            let refused = client.say(&bed, "s", "t", other);
            assert_eq!(faults(&refused), faults(&missing), "{client:?}");
        }
        assert!(!is_there(&bed, &client, "s"));
        client.say(&bed, "s", "t", under("replay")).final_text();
    }
    let none_left = acme.ticket(&bed, json!({ "User": "eve", "Contexts": ["default"] }));
    for context in ["default", "replay"] {
        let refused = none_left.say(&bed, "s", "t", under(context));
        assert_eq!(refused.failure(), (404, "context_not_found"), "{context}");
    }
    for context in ["default", "replay", "frugal"] {
        key("beta").say(&bed, context, "t", under(context)).final_text();
    }
    said_of(&bed, json!({ "acme": { "Contexts": [] }, "*": { "Contexts": ["frugal"] } }));
    assert_eq!(acme.say(&bed, "n", "t", under("replay")).failure(), (404, "context_not_found"));
    assert_eq!(key("beta").say(&bed, "n", "t", json!({})).failure(), (404, "context_not_found"));
    key("beta").say(&bed, "n", "t", under("frugal")).final_text();
}

#[test]
fn where_contexts_are_limited_no_other_agent_context_is_reached() {
    let bed = tenants(json!({ "acme": { "Contexts": ["replay", "gone"] } }));
    let calls = || bed.world.model.requests();
    let agent = |id: &str| json!({ "ConversationContextId": "replay", "AgentContextId": id });
    let acme = key("acme");
    let ticket = acme.ticket(&bed, json!({}));
    for client in [acme.clone(), acme.clone().for_user("bob"), ticket] {
        let missing = client.say(&bed, "s", "t", agent("missing"));
        for other in ["default", "frugal"] {
            let refused = client.say(&bed, "s", "t", agent(other));
            assert_eq!(refused.failure(), (404, "context_not_found"));
            assert_eq!(faults(&refused), faults(&missing), "nothing shows that it exists");
        }
        let before = calls();
        assert!(!is_there(&bed, &client, "s"));
        client.say(&bed, "s", "t", agent("replay")).final_text();
        assert_eq!(calls(), before + 1);
        assert_eq!(
            client.say(&bed, "s", "u", agent("frugal")).failure(),
            (404, "context_not_found")
        );
        client.say(&bed, "s", "u", json!({ "AgentContextId": "replay" })).final_text();
    }
    assert_eq!(acme.say(&bed, "g", "t", under("gone")).failure(), (404, "context_not_found"));
    // A key without limits chooses.
    let chosen = key("beta").say(&bed, "s", "t", agent("frugal"));
    chosen.final_text();
}

#[test]
fn a_session_that_began_under_another_agent_context_goes_on_where_none_is_named() {
    let bed = tenants(json!({}));
    let acme = key("acme");
    let staff = acme.clone().for_user("alice");
    staff.say(&bed, "s", "t1", json!({ "AgentContextId": "replay" })).final_text();
    let ticket = acme.ticket(&bed, json!({}));
    let agent = |id: &str| json!({ "AgentContextId": id });
    for (named, refusal) in [
        ("replay", (404, "context_not_found")),
        ("frugal", (404, "context_not_found")),
        ("missing", (404, "context_not_found")),
        ("default", (400, "invalid_field")),
    ] {
        assert_eq!(ticket.say(&bed, "s", "t2", agent(named)).failure(), refusal, "{named}");
    }
    ticket.say(&bed, "s", "t2", json!({})).final_text();
    let shown = ticket.get(&bed, "/sessions/s");
    assert_eq!(shown.result()["AgentContextId"], "replay");
    staff.say(&bed, "s", "t3", agent("replay")).final_text();
}

#[test]
fn a_session_goes_on_when_its_context_is_taken_from_the_tenant_and_no_fork_or_new_one_begins_there()
{
    let bed = tenants(json!({}));
    let acme = key("acme");
    acme.say(&bed, "s", "t1", json!({})).final_text();
    let waiting = acme.say(&bed, "w", "t1", json!({ "Instruction": "Ask [plan: client]" }));
    let calls = waiting.calls();
    said_of(&bed, json!({ "acme": { "Contexts": ["replay"] } }));
    acme.say(&bed, "s", "t2", json!({})).final_text();
    acme.say(&bed, "s", "t3", under("default")).final_text();
    let results = json!([{ "ToolCallId": calls[0], "ExecutionMs": 1, "ResultJson": "1" }]);
    let answer = json!({ "SessionId": "w", "TurnId": "t1", "ToolResults": results });
    acme.ask(&bed, "POST", "/execute", &answer).final_text();

    let unknown = acme.fork(&bed, "s", json!({ "SessionId": "f", "ConversationContextId": "no" }));
    assert_eq!(unknown.failure(), (404, "context_not_found"));
    for members in [json!({}), under("default"), under("frugal")] {
        let refused = acme.fork(&bed, "s", with(json!({ "SessionId": "f" }), members));
        assert_eq!(faults(&refused), faults(&unknown));
    }
    assert!(!is_there(&bed, &acme, "f"));
    let made = acme.fork(&bed, "s", with(json!({ "SessionId": "f" }), under("replay")));
    assert_eq!(made.status, 201, "{}", made.text);
    acme.say(&bed, "f", "t9", json!({})).final_text();
    assert_eq!(acme.say(&bed, "n", "t", json!({})).failure(), (404, "context_not_found"));
}

#[test]
fn a_context_without_a_right_asks_neither_its_tools_nor_the_user_s_object() {
    let bed = tenants(json!({ "acme": { "Contexts": ["replay"] } }));
    bed.configure(|catalog| {
        catalog["McpServers"]["docs"] = json!({ "Url": "https://docs.example/mcp" });
        catalog["ConversationContexts"]["default"]["Tools"] = json!(["docs/*"]);
    });
    let acme = key("acme").for_user("alice");
    assert_eq!(acme.say(&bed, "s", "t", json!({})).failure(), (404, "context_not_found"));
    assert!(bed.world.mcp.requests().is_empty());
    assert_eq!(bed.world.asked.borrow().len(), 1, "the session alone is asked");
    said_of(&bed, json!({}));
    acme.say(&bed, "s", "t", json!({})).final_text();
    assert!(!bed.world.mcp.requests().is_empty());
}

#[test]
fn the_search_service_of_the_default_contexts_is_asked_for_whoever_may_begin_there_alone() {
    let bed = tenants(json!({ "acme": { "Contexts": ["replay"] } }));
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Retrieval"] =
            json!({ "Http": { "Url": "https://search.example/q" } });
    });
    let search = |client: &Client| {
        client.ask(&bed, "POST", "/workspaces/w/search", &json!({ "Query": "salaries" }))
    };
    let acme = key("acme");
    let ticket = acme.ticket(&bed, json!({ "Workspaces": ["w"] }));
    for client in [acme, ticket] {
        assert_eq!(search(&client).failure(), (404, "context_not_found"), "{client:?}");
    }
    assert!(bed.world.tools.calls().is_empty());
    bed.world.tools.script([ToolAnswer::Json(json!({ "Chunks": [] }))]);
    search(&key("beta")).result();
    assert_eq!(bed.world.tools.calls().len(), 1);
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["Retrieval"] = json!("None"));
    assert_eq!(search(&key("acme")).result()["Chunks"], json!([]), "no service is asked");
}
