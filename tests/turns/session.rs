//! The state that a session keeps between turns: its contexts, client tools and solution context
//! (interface §2 and §4).

use serde_json::{Value, json};

use super::names;
use bed::*;

#[test]
fn a_busy_session_names_its_live_turn() {
    let bed = Bed::new();
    bed.world.model.script([say("Slow.").paced(100).into()]);
    let running = bed.send(&turn("t1", "Hello"));
    let refused = bed.post(&turn("t2", "Next"));
    assert_eq!(
        (refused.failure(), refused.details()),
        ((409, "turn_in_progress"), &json!({ "TurnId": "t1" }))
    );
    bed.wait(&running).unwrap();
    let asked = bed.post(&turn("t3", "Ask [plan: client]"));
    let before = bed.disk.writes.get();
    let refused = bed.post(&turn("t2", "Next"));
    assert_eq!(refused.failure(), (409, "turn_awaiting_tools"));
    assert_eq!(
        refused.details(),
        &json!({ "TurnId": "t3", "ToolCalls": asked.result()["ToolCalls"] })
    );
    assert_eq!(bed.session().result()["LiveTurn"]["ToolCalls"], asked.result()["ToolCalls"]);
    assert_eq!(bed.disk.writes.get(), before);
    let failed = bed.post(&with(turn("t4", "x"), json!({ "ToolChoiceName": "nowhere" })));
    assert_eq!(failed.failure(), (409, "turn_awaiting_tools"));
}

#[test]
fn the_first_turn_binds_the_contexts() {
    let bed = Bed::new();
    let unknown = with(turn("t1", "Hello"), json!({ "ConversationContextId": "nowhere" }));
    assert_eq!(bed.post(&unknown).failure(), (404, "context_not_found"));
    assert_eq!(bed.disk.writes.get(), 0, "a refused request writes nothing");
    let bound = with(turn("t1", "Hello"), json!({ "AgentContextId": "replay" }));
    bed.post(&bound).final_text();
    for (members, path) in [
        (json!({ "AgentContextId": "default" }), "/AgentContextId"),
        (json!({ "ConversationContextId": "replay" }), "/ConversationContextId"),
    ] {
        let heard = bed.post(&with(turn("t2", "Hello"), members));
        assert_eq!(
            (heard.failure(), &heard.body["Errors"][0]["Path"]),
            ((400, "invalid_field"), &path.into())
        );
    }
    let paths = |heard: &Heard| -> Vec<Value> {
        heard.body["Errors"].as_array().unwrap().iter().map(|fault| fault["Path"].clone()).collect()
    };
    let wrong = json!({ "ConversationContextId": "replay", "ToolChoiceName": "nothing", "AgentContextId": "default" });
    let heard = bed.post(&with(turn("t2", "Hello"), wrong.clone()));
    // In the order of the document, which the map of these tests writes by name.
    assert_eq!(paths(&heard), ["/AgentContextId", "/ConversationContextId", "/ToolChoiceName"]);
    let unknown = json!({ "AgentContextId": "nobody", "ConversationContextId": "nowhere" });
    let other = Bed::new();
    let heard = other.post(&with(turn("t1", "Hello"), unknown));
    assert_eq!(paths(&heard), ["/AgentContextId", "/ConversationContextId"]);
    let same = json!({ "AgentContextId": "replay", "ConversationContextId": "default", "ToolChoiceName": "" });
    bed.post(&with(turn("t2", "Hello"), same)).final_text();
}

#[test]
fn tools_and_context_of_a_later_turn_survive_the_loss_of_its_instance() {
    let tools = r#"[{"type":"function","name":"latched","parameters":{"type":"object"}}]"#;
    for (brought, kept) in [
        (json!({ "ToolsJson": tools }), (Some("latched"), None)),
        (json!({ "SolutionContextText": "S" }), (None, Some("S"))),
    ] {
        let bed = Bed::new();
        bed.post(&turn("t1", "One")).final_text();
        let request = with(turn("t2", "Two"), brought);
        bed.restart_to_crash(Some(Crash::AfterStep(bed.disk.steps.get() + 1)));
        assert!(bed.try_post(&request).is_none());
        bed.restart();
        bed.post(&request).final_text();
        let session = &bed.export()["Result"];
        assert_eq!(
            (session["ClientTools"][0]["name"].as_str(), session["SolutionContextText"].as_str()),
            kept,
        );
        bed.post(&turn("t3", "Three")).final_text();
        let bodies = bed.world.model.bodies();
        assert_eq!(names(bodies.last().unwrap()), names(&bodies[bodies.len() - 2]));
    }
}

#[test]
fn the_solution_context_is_sent_again_only_when_it_has_changed() {
    let bed = Bed::new();
    let sent = |request: Value| {
        bed.post(&request).final_text();
        let texts = bed.world.model.bodies().last().unwrap()["input"].to_string();
        texts
            .split_once("[SOLUTION CONTEXT]\\n")
            .map(|(_, rest)| rest.chars().take(1).collect::<String>())
    };
    let given = |id: &str, text: &str| with(turn(id, "x"), json!({ "SolutionContextText": text }));
    assert_eq!(sent(given("t1", "A")), Some("A".to_owned()));
    assert_eq!(sent(turn("t2", "x")), None);
    assert_eq!(sent(given("t3", "A")), None);
    assert_eq!(sent(given("t4", "B")), Some("B".to_owned()));
    assert_eq!(sent(given("t5", "")), None);
    assert_eq!(sent(turn("t6", "x")), None);
    assert_eq!(sent(given("t7", "B")), Some("B".to_owned()));
}

#[test]
fn client_tools_are_latched_and_server_tools_replace_those_of_their_names() {
    let bed = Bed::new();
    let offered = |request: Value| {
        let heard = bed.post(&request);
        heard.final_text();
        let warnings = heard.body["Warnings"].as_array().unwrap().len();
        (names(bed.world.model.bodies().last().unwrap())[..2].join(" "), warnings)
    };
    let given =
        |id: &str, tools: Value| with(turn(id, "x"), json!({ "ToolsJson": tools.to_string() }));
    let tool = |name: &str| json!({ "type": "function", "name": name });
    assert_eq!(offered(turn("t1", "x")), ("ask lookup".to_owned(), 0));
    assert_eq!(
        offered(given("t2", json!([tool("build"), tool("lookup")]))),
        ("build lookup".to_owned(), 1)
    );
    assert_eq!(offered(turn("t3", "x")), ("build lookup".to_owned(), 1));
    assert_eq!(offered(given("t4", json!([]))), ("lookup fragile".to_owned(), 0));
    assert_eq!(offered(turn("t5", "x")), ("lookup fragile".to_owned(), 0));
}

#[test]
fn tools_are_sent_again_only_when_they_changed_if_the_context_says_so() {
    let bed = Bed::new();
    let request =
        with(turn("t1", "Change [plan: mode:ddr]"), json!({ "ConversationContextId": "frugal" }));
    bed.post(&request).final_text();
    bed.post(&turn("t2", "Two")).final_text();
    bed.post(&turn("t3", "Three")).final_text();
    bed.world.model.forget();
    bed.post(&turn("t4", "Four")).final_text();
    let sent: Vec<bool> =
        bed.world.model.bodies().iter().map(|body| body["tools"].is_array()).collect();
    // t1 and its second call; t2 in another mode; t3; t4, which fails and is repeated.
    assert_eq!(sent, [true, false, true, false, false, true]);
    bed.assert_chain_held();
}

#[test]
fn a_service_that_keeps_tools_is_sent_them_when_its_hosted_tools_are_taken_away_or_given_back() {
    let bed = Bed::new();
    let offer = |offered: bool| {
        bed.configure(|catalog| {
            catalog["Modes"][0]["HostedTools"] = json!([{ "type": "web_search" }]);
            catalog["AgentContexts"]["frugal"]["OfferHostedTools"] = json!(offered);
        });
    };
    offer(true);
    let frugal = json!({ "ConversationContextId": "frugal" });
    bed.post(&with(turn("t1", "One"), frugal)).final_text();
    bed.post(&turn("t2", "Two")).final_text();
    offer(false);
    bed.post(&turn("t3", "Three")).final_text();
    offer(true);
    bed.post(&turn("t4", "Four")).final_text();
    bed.post(&turn("t5", "Five")).final_text();
    let bodies = bed.world.model.bodies();
    let sent = bodies.iter().map(|body| match &body["tools"] {
        Value::Null => None,
        tools => Some(tools.to_string().contains("web_search")),
    });
    assert_eq!(sent.collect::<Vec<_>>(), [Some(true), None, Some(false), Some(true), None]);
}

#[test]
fn an_invalid_catalog_stops_runs_and_nothing_else() {
    let bed = Bed::new();
    let done = bed.post(&turn("t1", "Hello"));
    bed.world.model.script([error_event("unknown", true)]);
    assert_eq!(bed.post(&turn("t2", "Fails")).failure(), (502, "upstream_failed"));
    let asked = bed.post(&turn("t3", "Ask [plan: client]")).calls();
    let before = bed.disk.writes.get();
    bed.spoil_catalog();
    let given: Vec<_> = asked.iter().map(|id| (id.as_str(), json!(1))).collect();
    assert_eq!(bed.post(&results("t3", &given)).failure(), (500, "catalog_invalid"));
    assert_eq!(bed.disk.writes.get(), before, "a refused request writes nothing");
    assert_eq!(bed.post(&turn("t1", "Hello")).body, done.body);
    assert_eq!(bed.session().result()["ModeDisplayName"], "general");
    assert_eq!(bed.status("t3"), "awaiting_tools");
    bed.try_cancel("t3").unwrap();
    assert_eq!(bed.status("t3"), "aborted");
    for request in [turn("t2", "Fails"), turn("t4", "New")] {
        assert_eq!(bed.post(&request).failure(), (500, "catalog_invalid"));
    }
    bed.configure(|_| ());
    bed.post(&turn("t2", "Fails")).final_text();
    bed.post(&turn("t4", "New")).final_text();
    bed.assert_chain_held();
}

#[test]
fn a_turn_that_lost_its_instance_waits_for_a_catalog_to_go_on() {
    let bed = Bed::new();
    bed.send_to_silence(&turn("t1", "Hello"));
    bed.spoil_catalog();
    bed.restart();
    let before = bed.disk.writes.get();
    bed.alarm();
    assert_eq!(bed.status("t1"), "running");
    assert_eq!(bed.post(&turn("t1", "Hello")).failure(), (500, "catalog_invalid"));
    assert_eq!(bed.post(&turn("t2", "Next")).failure(), (409, "turn_in_progress"));
    assert_eq!(bed.disk.writes.get(), before);
    bed.configure(|_| ());
    bed.alarm();
    bed.settle();
    assert_eq!(bed.status("t1"), "completed");
}

#[test]
fn a_turn_that_lost_its_instance_can_be_cancelled_without_a_catalog() {
    let bed = Bed::new();
    let done = bed.post(&turn("t1", "Hello"));
    bed.send_to_silence(&turn("t2", "Next"));
    bed.spoil_catalog();
    bed.restart();
    assert_eq!(bed.post(&turn("t1", "Hello")).body, done.body);
    bed.try_cancel("t2").unwrap();
    assert_eq!(bed.status("t2"), "aborted");
    bed.configure(|_| ());
    bed.post(&turn("t3", "Again")).final_text();
    assert_eq!(bed.world.model.conversation().heard("Next"), 1);
    bed.assert_chain_held();
}

/// Takes a context out of the catalog.
fn remove(bed: &Bed, kind: &str, id: &str) {
    bed.configure(|document| {
        if kind == "AgentContexts" {
            let conversation = &mut document["ConversationContexts"][id];
            conversation["AgentContextId"] = json!("default");
        }
        document[kind].as_object_mut().unwrap().remove(id).unwrap();
    });
}

#[test]
fn a_turn_whose_context_has_left_the_catalog_waits_until_it_is_back() {
    for kind in ["AgentContexts", "ConversationContexts"] {
        let bed = Bed::new();
        let request = with(turn("t1", "Hello"), json!({ "ConversationContextId": "frugal" }));
        bed.send_to_silence(&request);
        remove(&bed, kind, "frugal");
        bed.restart();
        let before = bed.disk.writes.get();
        bed.alarm();
        bed.run_at_once();
        assert!(bed.world.alarm_at.get().is_some(), "it is looked after");
        let refused = bed.post(&request);
        assert_eq!(refused.failure(), (404, "context_not_found"), "{kind}");
        assert!(refused.text.contains("frugal"), "{}", refused.text);
        assert_eq!(bed.post(&turn("t2", "Next")).failure(), (409, "turn_in_progress"));
        assert_eq!((bed.status("t1").as_str(), bed.disk.writes.get()), ("running", before));
        bed.configure(|_| ());
        bed.alarm();
        bed.settle();
        assert_eq!(bed.status("t1"), "completed");
        assert_eq!(bed.world.model.conversation().heard("Hello"), 1);
    }
}

#[test]
fn a_turn_that_waits_for_its_client_is_not_failed_by_a_catalog_that_is_edited() {
    for (kind, failure) in [
        (Some("AgentContexts"), (404, "context_not_found")),
        (Some("ConversationContexts"), (404, "context_not_found")),
        (None, (500, "catalog_invalid")),
    ] {
        let bed = Bed::new();
        let context = json!({ "ConversationContextId": "frugal" });
        bed.world.model.script([error_event("unknown", true)]);
        let fails = with(turn("t1", "Fails"), context.clone());
        assert_eq!(bed.post(&fails).failure(), (502, "upstream_failed"));
        let calls = bed.post(&with(turn("t2", "Ask [plan: client]"), context)).calls();
        match kind {
            Some(kind) => remove(&bed, kind, "frugal"),
            None => bed.spoil_catalog(),
        }
        let before = (bed.disk.writes.get(), bed.world.model.requests());
        let answer = results("t2", &[(&calls[0], json!(1))]);
        assert_eq!(bed.post(&answer).failure(), failure);
        assert_eq!(bed.status("t2"), "awaiting_tools");
        assert_eq!((bed.disk.writes.get(), bed.world.model.requests()), before);
        bed.configure(|_| ());
        bed.post(&answer).final_text();
        // A failed turn stays as it was, too.
        match kind {
            Some(kind) => remove(&bed, kind, "frugal"),
            None => bed.spoil_catalog(),
        }
        let before = bed.disk.writes.get();
        assert_eq!(bed.post(&fails).failure(), failure);
        assert_eq!(bed.disk.writes.get(), before);
        assert_eq!(bed.turn("t1").result()["Outcome"]["Errors"][0]["ErrorCode"], "upstream_failed");
        bed.assert_chain_held();
    }
}
