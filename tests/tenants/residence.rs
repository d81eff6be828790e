//! `Residence`: for a tenant with a jurisdiction no service hears a word that is not declared to be there.

use bed::*;
use serde_json::{Value, json};

use super::clients::{Client, key, said_of, tenants};

fn embeddings(residence: Option<Value>) -> Value {
    let mut embeddings =
        json!({ "Model": "m", "Dimensions": 64, "BaseUrl": "https://vectors.example/v1" });
    if let Some(residence) = residence {
        embeddings["Residence"] = residence;
    }
    json!({ "Index": { "Embeddings": embeddings } })
}

/// A bed for a tenant of `eu`; `change` gets the `default` agent context.
fn european(change: impl FnOnce(&mut Value)) -> Bed {
    let bed = tenants(json!({ "acme": { "Jurisdiction": "eu" } }));
    configure(&bed, change);
    bed
}

fn configure(bed: &Bed, change: impl FnOnce(&mut Value)) {
    bed.configure(|catalog| change(&mut catalog["AgentContexts"]["default"]));
}

fn put(client: &Client, bed: &Bed, path: &str) -> Heard {
    let body = json!({ "Documents": [{ "Path": path, "Contents": "alpha" }] });
    client.ask(bed, "PUT", "/workspaces/w/documents", &body)
}

fn search(client: &Client, bed: &Bed) -> Heard {
    client.ask(bed, "POST", "/workspaces/w/search", &json!({ "Query": "alpha" }))
}

/// Lets the alarm of the tenant's workspace ring until its work is done.
fn ring_workspace(bed: &Bed) {
    let workspace = bed.world.workspace("@eu/acme/w");
    for _ in 0..10 {
        let Some(at) = workspace.rings_at(&bed.world) else { return };
        bed.world.executor.set_now_ms(bed.world.executor.now_ms().max(at));
        bed.ring_due();
        bed.settle();
    }
}

fn assert_refused(heard: &Heard) {
    assert_eq!(heard.failure(), (404, "context_not_found"), "{}", heard.text);
    assert_eq!(heard.details()["Reason"], "residence");
    assert!(!heard.text.contains("Name another context"), "{}", heard.text);
}

fn assert_unheard(bed: &Bed) {
    assert_eq!(bed.world.model.requests(), 0);
    assert!(bed.world.embeddings.requests().is_empty());
    assert!(bed.world.mcp.requests().is_empty());
}

#[test]
fn a_session_runs_only_where_each_fall_back_of_its_agent_context_is() {
    for (spare, is_refused) in [(json!(["us"]), true), (json!([]), true), (json!(["eu"]), false)] {
        let bed = tenants(json!({ "acme": { "Jurisdiction": "eu" } }));
        bed.configure(|catalog| {
            let agents = &mut catalog["AgentContexts"];
            agents["default"]["Residence"] = json!(["eu"]);
            agents["default"]["Fallbacks"] = json!(["spare"]);
            agents["spare"] = json!({ "Model": "m", "Residence": spare });
        });
        let heard = key("acme").say(&bed, "s", "t", json!({}));
        match is_refused {
            true => {
                assert_refused(&heard);
                assert_unheard(&bed);
            }
            false => _ = heard.final_text(),
        }
    }
}

#[test]
fn a_session_runs_only_where_each_service_of_its_agent_context_is() {
    let (eu, us) = (json!(["us", "eu"]), json!(["us"]));
    for (main, vectors, is_refused) in [
        (None, None, true),
        (Some(us.clone()), None, true),
        (Some(us.clone()), Some(embeddings(Some(eu.clone()))), true),
        (Some(eu.clone()), Some(embeddings(Some(us.clone()))), true),
        (Some(eu.clone()), Some(embeddings(None)), true),
        (Some(eu.clone()), Some(embeddings(Some(eu.clone()))), false),
        (Some(eu.clone()), None, false),
        // Without an address of their own, embeddings are where the agent context is.
        (
            Some(eu),
            Some(json!({ "Index": { "Embeddings": { "Model": "m", "Dimensions": 8 } } })),
            false,
        ),
    ] {
        let bed = european(|agent| {
            if let Some(main) = main {
                agent["Residence"] = main;
            }
            if let Some(vectors) = vectors {
                agent["Retrieval"] = vectors;
            }
        });
        let acme = key("acme");
        for client in [acme.clone(), acme.clone().for_user("alice"), acme.ticket(&bed, json!({}))] {
            let heard = client.say(&bed, "s", "t", json!({}));
            if is_refused {
                assert_refused(&heard);
                let shown = client.get(&bed, "/sessions/s");
                assert_eq!(shown.failure(), (404, "session_not_found"));
            } else {
                assert_eq!(heard.status, 200, "{}", heard.text);
            }
        }
        if is_refused {
            assert_unheard(&bed);
            let users = bed.world.users.borrow();
            let written = users.values().map(|user| user.disk.read("SELECT 1 FROM sqlite_master"));
            assert!(written.into_iter().all(|rows| rows.is_empty()), "nothing is written");
        }
        key("beta").say(&bed, "s", "t", json!({})).final_text();
    }
}

#[test]
fn a_refused_session_asks_no_list_of_tools_and_no_agent_context_is_shown_by_the_reason() {
    let bed = european(|_| ());
    bed.configure(|catalog| {
        catalog["McpServers"]["docs"] = json!({ "Url": "https://docs.example/mcp" });
        catalog["Modes"][0]["Tools"] = json!(["docs/*"]);
    });
    let acme = key("acme");
    assert_refused(&acme.say(&bed, "s", "t", json!({})));
    assert_unheard(&bed);
    said_of(&bed, json!({ "acme": { "Jurisdiction": "eu", "Contexts": ["replay"] } }));
    let closed = acme.say(&bed, "s", "t", json!({}));
    assert_eq!(closed.failure(), (404, "context_not_found"));
    assert!(closed.details().is_null(), "a context without a right is what an unknown one is");
    assert_refused(&acme.say(&bed, "s", "t", json!({ "ConversationContextId": "replay" })));
}

#[test]
fn turns_and_forks_wait_while_a_service_is_elsewhere_and_go_on_when_it_is_back() {
    let home = |agent: &mut Value| agent["Residence"] = json!(["eu"]);
    let bed = european(home);
    let acme = key("acme");
    acme.say(&bed, "s", "t1", json!({})).final_text();
    let waiting = acme.say(&bed, "w", "t1", json!({ "Instruction": "Ask [plan: client]" }));
    let calls = waiting.calls();
    let results = json!([{ "ToolCallId": calls[0], "ExecutionMs": 1, "ResultJson": "1" }]);
    let answer = json!({ "SessionId": "w", "TurnId": "t1", "ToolResults": results });
    let before = bed.world.model.requests();
    configure(&bed, |_| ());
    assert_refused(&acme.say(&bed, "s", "t2", json!({})));
    assert_refused(&acme.ask(&bed, "POST", "/execute", &answer));
    for members in [json!({}), json!({ "ConversationContextId": "replay" })] {
        assert_refused(&acme.fork(&bed, "s", with(json!({ "SessionId": "f" }), members)));
    }
    assert_eq!(acme.get(&bed, "/sessions/f").failure(), (404, "session_not_found"));
    assert_eq!(acme.get(&bed, "/sessions/s").status, 200, "what is there can be read");
    assert_eq!(bed.world.model.requests(), before);
    configure(&bed, home);
    acme.ask(&bed, "POST", "/execute", &answer).final_text();
    acme.say(&bed, "s", "t2", json!({})).final_text();
    assert_eq!(acme.fork(&bed, "s", json!({ "SessionId": "f" })).status, 201);
}

#[test]
fn a_turn_that_lost_its_instance_waits_for_the_residence() {
    let home = |agent: &mut Value| agent["Residence"] = json!(["eu"]);
    let bed = european(home);
    bed.world.model.script([Reply::Silence]);
    let body = with(turn("t", "Hello"), json!({ "SessionId": "s" }));
    drop(key("acme").send(&bed, "POST", "/execute", &body));
    bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
    let session = bed.world.session("@eu/acme/s");
    configure(&bed, |_| ());
    session.restart(&bed.world);
    for _ in 0..3 {
        assert!(bed.ring_next());
    }
    assert_eq!(bed.world.model.requests(), 1);
    configure(&bed, home);
    assert!(bed.ring_next());
    let shown = key("acme").get(&bed, "/sessions/s/turns/t");
    assert_eq!(shown.result()["Status"], "completed", "{}", shown.text);
}

#[test]
fn a_workspace_is_filled_and_searched_as_a_turn_under_the_default_contexts() {
    let eu = json!(["eu"]);
    let acme = key("acme");
    for change in [
        (|agent: &mut Value| agent["Retrieval"] = embeddings(Some(json!(["eu"]))))
            as fn(&mut Value),
        |agent: &mut Value| {
            agent["Residence"] = json!(["eu"]);
            agent["Retrieval"] = embeddings(Some(json!(["us"])));
        },
    ] {
        let bed = european(change);
        let ticket = acme.ticket(&bed, json!({ "Workspaces": ["w"] }));
        assert_refused(&put(&acme, &bed, "a.md"));
        assert_refused(&search(&acme, &bed));
        assert_refused(&search(&ticket, &bed));
        ring_workspace(&bed);
        assert_unheard(&bed);
        let counts = acme.get(&bed, "/workspaces/w");
        assert_eq!(counts.result()["Documents"], 0);
        put(&key("beta"), &bed, "a.md").result();
    }
    let bed = european(|agent| {
        agent["Residence"] = eu.clone();
        agent["Retrieval"] = embeddings(Some(eu.clone()));
    });
    put(&acme, &bed, "a.md").result();
    ring_workspace(&bed);
    search(&acme, &bed).result();
    assert_eq!(bed.world.embeddings.requests().len(), 2, "a chunk and a question");
}

#[test]
fn no_text_of_a_workspace_goes_to_a_service_that_is_elsewhere_whichever_context_names_it() {
    let bed = european(|_| ());
    let both = |vectors: Value| {
        bed.configure(|catalog| {
            let contexts = &mut catalog["AgentContexts"];
            contexts["default"]["Residence"] = json!(["eu"]);
            contexts["default"]["Retrieval"] = vectors;
            contexts["replay"]["Retrieval"] = json!({ "Index": { "Embeddings": {
                "Model": "far", "Dimensions": 64, "BaseUrl": "https://far.example/v1",
                "Residence": ["us"],
            } } });
        });
    };
    let acme = key("acme");
    both(embeddings(Some(json!(["eu"]))));
    put(&acme, &bed, "a.md").result();
    ring_workspace(&bed);
    let models =
        || bed.world.embeddings.requests().iter().map(|r| r.model().to_owned()).collect::<Vec<_>>();
    assert_eq!(models(), ["m"]);
    // The residence leaves while chunks wait for the alarm.
    put(&acme, &bed, "b.md").result();
    both(embeddings(Some(json!(["us"]))));
    ring_workspace(&bed);
    let removed = acme.ask(&bed, "DELETE", "/workspaces/w/documents?Path=a.md", &Value::Null);
    assert_eq!(removed.result()["Documents"], 1);
    ring_workspace(&bed);
    assert_eq!(models(), ["m"]);
    both(embeddings(Some(json!(["eu"]))));
    search(&acme, &bed).result();
    ring_workspace(&bed);
    assert!(models().len() > 1 && models().iter().all(|model| model == "m"), "{:?}", models());
}
