//! Where the objects of a tenant are asked for: every one in its jurisdiction, whoever asks.

use std::collections::BTreeSet;

use aptix_edge::encoding::Jurisdiction;
use aptix_edge::identity::Placement;
use bed::*;
use serde_json::{Value, json};

use super::clients::{Client, key, said_of, tenants};

const MINUTE_MS: u64 = 60_000;

fn body() -> Value {
    json!({ "Documents": [{ "Path": "a.md", "Contents": "alpha" }] })
}

/// Everything for which a tenant's objects are asked: turns with tools of an MCP server and a search, a fork, lists, a
/// ticket, a revocation, erasures, and the alarms that follow.
fn use_everything(bed: &Bed, tenant: &str) {
    bed.configure(|catalog| {
        catalog["McpServers"]["docs"] = json!({ "Url": "https://docs.example/mcp" });
        catalog["Modes"][0]["Tools"] = json!(["lookup", "docs/*"]);
        catalog["AgentContexts"]["default"]["Residence"] = json!(["eu", "us"]);
        catalog["Webhooks"] = json!({ "hook": {
            "Url": "https://hooks.example/h", "SigningSecrets": ["HOOK_SECRET"],
        } });
        catalog["ConversationContexts"]["default"]["Webhooks"] = json!(["hook"]);
    });
    let client = key(tenant);
    client.ask(bed, "PUT", "/workspaces/w/documents", &body()).result();
    client.ask(bed, "POST", "/workspaces/w/search", &json!({ "Query": "alpha" })).result();
    let members = json!({ "WorkspaceId": "w", "Instruction": "Find alpha [plan: mcp, server]" });
    for client in [client.clone(), client.clone().for_user("alice")] {
        client.say(bed, "s", "t1", members.clone()).final_text();
        assert_eq!(client.fork(bed, "s", json!({ "SessionId": "f" })).status, 201);
        client.say(bed, "f", "t2", json!({})).final_text();
    }
    let ticket = client.ticket(bed, json!({ "Workspaces": ["w"] }));
    ticket.ask(bed, "POST", "/workspaces/w/search", &json!({ "Query": "alpha" })).result();
    ticket.say(bed, "s", "t3", json!({})).final_text();
    assert_eq!(ticket.get(bed, "/sessions/never").failure(), (404, "session_not_found"));
    let listed = ticket.get(bed, "/sessions");
    assert_eq!(listed.result()["Sessions"].as_array().unwrap().len(), 2);
    ring_for(bed, 2);
    client.ask(bed, "POST", "/users/alice/revoke", &Value::Null).result();
    client.ask(bed, "DELETE", "/users/alice", &Value::Null).result();
    client.ask(bed, "DELETE", "/sessions/s", &Value::Null).result();
    client.ask(bed, "DELETE", "/workspaces/w", &Value::Null).result();
    ring_for(bed, 2);
}

/// Lets minutes pass, with the alarms of sessions and users.
fn ring_for(bed: &Bed, minutes: u64) {
    let until = bed.world.executor.now_ms() + minutes * MINUTE_MS;
    bed.settle();
    while bed.world.executor.now_ms() < until && bed.ring_next() {}
}

#[test]
fn every_object_of_a_tenant_is_asked_for_in_its_jurisdiction_and_nothing_is_elsewhere() {
    let bed = tenants(json!({ "acme": { "Jurisdiction": "eu" } }));
    use_everything(&bed, "acme");
    let classes: BTreeSet<String> =
        bed.world.asked.borrow().iter().map(|asked| format!("{:?}", asked.class)).collect();
    assert_eq!(classes, ["McpList", "Session", "User", "Workspace"].map(str::to_owned).into());
    for asked in bed.world.asked.borrow().iter() {
        assert_eq!(asked.jurisdiction, Some(Jurisdiction::Eu), "{asked:?}");
        assert_eq!(asked.placement, None);
        assert!(asked.name.starts_with("acme/"), "{asked:?}");
    }
    let names = |names: Vec<String>| names.into_iter().all(|name| name.starts_with("@eu/acme/"));
    assert!(names(bed.world.sessions.borrow().keys().cloned().collect()));
    assert!(names(bed.world.users.borrow().keys().cloned().collect()));
    assert!(names(bed.world.workspaces.borrow().keys().cloned().collect()));
    assert!(names(bed.world.mcp_lists.borrow().keys().cloned().collect()));
}

#[test]
fn where_jurisdictions_are_simulated_names_stand_for_them() {
    let bed = tenants(json!({ "acme": { "Jurisdiction": "us" } }));
    bed.deploy("JURISDICTIONS", "simulated");
    bed.world.has_jurisdictions.set(false);
    use_everything(&bed, "acme");
    for asked in bed.world.asked.borrow().iter() {
        assert_eq!((asked.jurisdiction, asked.placement), (None, None), "{asked:?}");
        assert!(asked.name.starts_with("@us/acme/"), "{asked:?}");
    }
}

#[test]
fn objects_are_made_near_a_placement_and_without_a_word_as_ever() {
    for (said, placement) in [
        (json!({ "acme": { "Placement": "apac" } }), Some(Placement::AsiaPacific)),
        (json!({ "*": { "Placement": "me" } }), Some(Placement::MiddleEast)),
        (json!({ "beta": { "Jurisdiction": "eu", "Contexts": [] } }), None),
    ] {
        let bed = tenants(said);
        use_everything(&bed, "acme");
        for asked in bed.world.asked.borrow().iter() {
            assert_eq!((asked.jurisdiction, asked.placement), (None, placement), "{asked:?}");
        }
        assert!(bed.world.sessions.borrow().contains_key("acme/s"));
    }
}

#[test]
fn a_runtime_without_jurisdictions_answers_internal_and_no_object_is_asked() {
    let bed = tenants(json!({ "acme": { "Jurisdiction": "eu" } }));
    let ticket = key("acme").ticket(&bed, json!({ "Workspaces": ["w"] }));
    bed.world.has_jurisdictions.set(false);
    bed.deploy("ANY", "");
    for (client, method, target, body) in [
        (key("acme"), "PUT", "/workspaces/w/documents", body()),
        (key("acme").for_user("alice"), "GET", "/sessions", Value::Null),
        (ticket.clone(), "POST", "/workspaces/w/search", json!({ "Query": "alpha" })),
        (ticket.clone(), "GET", "/sessions/s", Value::Null),
        (key("acme"), "POST", "/tickets", json!({ "User": "alice" })),
        (key("acme"), "POST", "/execute", with(turn("t", "Hello"), json!({ "SessionId": "s" }))),
    ] {
        let refused = client.ask(&bed, method, target, &body);
        assert_eq!(refused.failure(), (500, "internal"), "{method} {target}");
        let message = &refused.body["Errors"][0]["Message"];
        assert_eq!(message, "TENANTS: this runtime has no jurisdictions");
    }
    assert!(bed.world.asked.borrow().is_empty());
    assert_eq!(bed.world.model.requests(), 0);
    key("beta").say(&bed, "s", "t", json!({})).final_text();
}

#[test]
fn equal_ids_of_two_tenants_in_two_jurisdictions_are_four_sessions() {
    let bed = tenants(json!({}));
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Residence"] = json!(["eu", "us"]);
    });
    let places = |acme: &str, beta: &str| {
        said_of(
            &bed,
            json!({ "acme": { "Jurisdiction": acme }, "beta": { "Jurisdiction": beta } }),
        );
    };
    let turns = |client: &Client| client.get(&bed, "/sessions/s/turns").text;
    let absent = |client: &Client| {
        let shown = client.get(&bed, "/sessions/s");
        assert_eq!(shown.failure(), (404, "session_not_found"));
    };
    let both = ["acme", "beta"];
    places("eu", "us");
    for tenant in both {
        key(tenant).say(&bed, "s", &format!("{tenant}-1"), json!({})).final_text();
    }
    places("us", "eu");
    for tenant in both {
        absent(&key(tenant));
        key(tenant).say(&bed, "s", &format!("{tenant}-2"), json!({})).final_text();
    }
    for (acme, beta, number) in [("eu", "us", 1), ("us", "eu", 2)] {
        places(acme, beta);
        for tenant in both {
            let shown = turns(&key(tenant));
            let own = format!("{tenant}-{number}");
            assert_eq!(shown.matches("\"TurnId\":").count(), 1, "{shown}");
            assert!(shown.contains(&own), "{shown}");
        }
    }
    assert_eq!(bed.world.sessions.borrow().len(), 4);
    said_of(&bed, json!({}));
    both.map(key).iter().for_each(absent);
}

#[test]
fn the_alarm_of_an_object_that_is_elsewhere_does_nothing_until_its_tenant_is_back() {
    let bed = tenants(json!({ "acme": { "Jurisdiction": "eu" } }));
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Residence"] = json!(["eu"]);
    });
    let alice = key("acme").for_user("alice");
    bed.world.model.script([Reply::Silence]);
    let body = with(turn("t", "Hello"), json!({ "SessionId": "s" }));
    drop(alice.send(&bed, "POST", "/execute", &body));
    bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
    let session = bed.world.session("@eu/acme/~alice/s");
    for away in [json!({}), json!({ "acme": { "Jurisdiction": "us" } }), json!({ "acme": [] })] {
        said_of(&bed, away);
        session.restart(&bed.world);
        let asked = bed.world.asked.borrow().len();
        for _ in 0..3 {
            let at = session.alarm_at.get().expect("it is set");
            assert!(bed.ring_next());
            let again = session.alarm_at.get().expect("it is set again");
            assert!(again > at, "later, so that it costs little");
        }
        assert_eq!(bed.world.model.requests(), 1, "the turn is not taken up");
        assert_eq!(bed.world.asked.borrow().len(), asked, "nobody is asked");
    }
    said_of(&bed, json!({ "acme": { "Jurisdiction": "eu" } }));
    session.restart(&bed.world);
    assert!(bed.ring_next());
    let shown = alice.get(&bed, "/sessions/s/turns/t");
    assert_eq!(shown.result()["Status"], "completed", "{}", shown.text);
}

#[test]
fn each_line_of_an_object_says_whose_it_is_and_where() {
    let bed = tenants(json!({ "acme": { "Jurisdiction": "eu" } }));
    use_everything(&bed, "acme");
    let log = bed.world.log.take();
    let of_objects: Vec<_> =
        log.iter().filter(|line| line.get("session").or(line.get("workspace")).is_some()).collect();
    assert!(of_objects.len() > 5, "{log:?}");
    for line in of_objects {
        assert_eq!((&line["tenant"], &line["jurisdiction"]), (&json!("acme"), &json!("eu")));
    }
    let bed = tenants(json!({ "acme": { "Placement": "weur" } }));
    key("acme").say(&bed, "s", "t", json!({})).final_text();
    assert!(bed.world.log.take().iter().all(|line| line.get("jurisdiction").is_none()));
}
