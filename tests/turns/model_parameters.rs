//! What an operator adds to the calls of the model service (interface §4, §6): headers, a query,
//! parameters, and JSON as the answer.

use serde_json::{Value, json};

use super::watched;
use bed::*;

const FORMAT: &str = r#"{"type":"json_schema","name":"n","schema":{"type":"object"}}"#;

/// A session whose default agent context has these members.
fn with_agent(members: Value) -> Bed {
    let bed = Bed::new();
    bed.configure(|catalog| {
        let agent = catalog["AgentContexts"]["default"].as_object_mut().unwrap();
        agent.extend(members.as_object().unwrap().clone());
    });
    bed
}

#[test]
fn headers_and_query_go_with_every_call_and_with_deletions_and_a_key_among_them_is_the_only_one() {
    let bed = with_agent(json!({
        "Headers": { "api-key": "${GATEWAY_KEY}", "OpenAI-Project": "p" },
        "Query": { "api-version": "2026-01 preview" }, "DeleteStored": true,
    }));
    bed.deploy("OPENAI_API_KEY", "sk-1");
    bed.deploy("GATEWAY_KEY", "gw-1");
    bed.post(&turn("t1", "Look [plan: server]"));
    assert!(bed.try_erase().unwrap().result()["StoredResponses"].is_object());
    bed.settle();

    let calls = bed.world.model_calls.borrow();
    assert_eq!(calls.len(), 4, "two calls and two deletions");
    for line in calls.iter() {
        let (url, headers) = (&line.url, &line.headers);
        assert!(url.ends_with("?api-version=2026-01%20preview"), "{url}");
        let own: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(|(name, _)| !name.starts_with("Accept"))
            .collect();
        assert_eq!(own, [("OpenAI-Project", "p"), ("api-key", "gw-1")]);
    }
    assert_eq!(bed.world.model.stored(), 0);
}

#[test]
fn a_header_whose_secret_is_missing_fails_the_turn_before_any_call_and_names_the_secret() {
    let bed = with_agent(json!({ "Headers": { "api-key": "${GATEWAY_KEY}" } }));
    let heard = bed.post(&turn("t1", "Hello"));
    assert_eq!(heard.failure(), (500, "internal"));
    let said = heard.body["Errors"][0]["Message"].as_str().unwrap().to_owned();
    assert!(said.contains("the secret GATEWAY_KEY is not set"), "{said}");
    assert_eq!(bed.world.model.requests(), 0);
    bed.deploy("GATEWAY_KEY", "gw-1");
    assert_eq!(bed.post(&turn("t1", "Hello")).final_text(), "Answer to Hello.");
}

#[test]
fn a_key_that_no_header_can_carry_fails_the_turn_before_any_call_and_white_space_around_one_is_no_part_of_it()
 {
    let bed = Bed::new();
    for key in ["sk-1\nsk-2", "sk-\u{e4}"] {
        bed.deploy("OPENAI_API_KEY", key);
        let heard = bed.post(&turn("t1", "Hello"));
        assert_eq!(heard.failure(), (500, "internal"));
        let said = heard.body["Errors"][0]["Message"].as_str().unwrap().to_owned();
        assert!(
            said.contains("the secret OPENAI_API_KEY holds") && !said.contains("sk-"),
            "{said}"
        );
    }
    assert_eq!(bed.world.model.requests(), 0);
    bed.deploy("OPENAI_API_KEY", "sk-1\n");
    assert_eq!(bed.post(&turn("t1", "Hello")).final_text(), "Answer to Hello.");
    let calls = bed.world.model_calls.borrow();
    assert!(calls[0].headers.contains(&("Authorization".to_owned(), "Bearer sk-1".to_owned())));
}

#[test]
fn a_key_goes_over_no_network_unencrypted_and_the_operator_is_told_the_remedy() {
    let bed = Bed::new();
    for url in ["http://model.example/v1", "http://10.0.0.5:8000/v1"] {
        bed.deploy("OPENAI_BASE_URL", url);
        let heard = bed.post(&turn("t1", "Hello"));
        assert_eq!(heard.failure(), (500, "internal"));
        let said = heard.body["Errors"][0]["Message"].as_str().unwrap().to_owned();
        assert!(said.contains("https://") && !said.contains(url), "{said}");
        assert_eq!(bed.world.model.requests(), 0);
    }
    // Without a key there is nothing to overhear but what the operator sends anyway.
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"].as_object_mut().unwrap().remove("ApiKeySecret");
    });
    assert_eq!(bed.post(&turn("t1", "Hello")).final_text(), "Answer to Hello.");
}

#[test]
fn a_later_parameter_goes_before_an_earlier_one_and_those_of_a_mode_follow_its_change_at_once() {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["ModelParameters"] =
            json!({ "temperature": 0.5, "top_p": 0.5, "metadata": { "of": "agent" } });
        catalog["AgentContexts"]["default"]["Compaction"] =
            json!({ "By": "Service", "Threshold": 5000 });
        catalog["ConversationContexts"]["default"]["ModelParameters"] =
            json!({ "temperature": 1, "metadata": { "for": "conversation" } });
        catalog["Modes"][1]["ModelParameters"] =
            json!({ "temperature": 2, "service_tier": "flex" });
    });
    bed.post(&turn("t1", "Change [plan: mode:ddr]"));
    let bodies = bed.world.model.bodies();
    let [first, second] = &bodies[..] else { panic!("there are other requests") };
    for (body, temperature, tier) in [(first, 1, Value::Null), (second, 2, json!("flex"))] {
        assert_eq!(
            [&body["temperature"], &body["top_p"], &body["metadata"], &body["service_tier"]],
            [&json!(temperature), &json!(0.5), &json!({ "for": "conversation" }), &tier]
        );
        let compaction = json!([{ "type": "compaction", "compact_threshold": 5000 }]);
        assert_eq!(body["context_management"], compaction);
        // The tenant is local, the session s.
        assert_eq!(body["prompt_cache_key"], "ff567003a01598f95787a88d4c08d305");
    }
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "model parameters");
}

#[test]
fn a_service_that_does_not_know_the_key_of_the_prompt_cache_is_not_sent_one() {
    let bed = with_agent(json!({ "PromptCacheKey": "None" }));
    bed.post(&turn("t1", "Hello"));
    let body = &bed.world.model.bodies()[0];
    for absent in ["prompt_cache_key", "context_management", "include"] {
        assert_eq!(body.get(absent), None, "{absent}");
    }
}

#[test]
fn an_agent_context_decides_how_many_calls_a_submission_may_make() {
    let bed = with_agent(json!({ "MaxIterations": 2 }));
    bed.deploy("MAX_ITERATIONS", "1");
    bed.post(&turn("t1", "Look [plan: server]")).final_text();
    let heard = bed.post(&turn("t2", "Look [plan: server, server]"));
    assert_eq!(heard.failure(), (500, "iteration_limit_exceeded"));
}

#[test]
fn nothing_stands_beside_json_and_a_refusal_of_it_is_a_final_answer_with_a_warning() {
    let bed = Bed::new();
    bed.configure(|catalog| {
        let format: Value = serde_json::from_str(FORMAT).unwrap();
        catalog["Modes"][1]["ModelParameters"] = json!({ "text": { "format": format } });
    });
    let change = || {
        let to = json!({ "mode": "ddr", "branch": false, "reason": "r" });
        Reply::Answer(says(vec![call("agent_change_mode", to)]))
    };
    bed.world.model.script([change(), say(r#"{"a":1}"#).into()]);
    let heard = bed.post(&with(turn("t1", "Change"), json!({ "Streaming": true })));
    assert_eq!(heard.final_text(), r#"{"a":1}"#);
    assert_eq!(watched(heard.frames.as_ref().unwrap()).0, r#"{"a":1}"#);
    let format = &bed.world.model.bodies()[1]["text"]["format"];
    assert_eq!(*format, serde_json::from_str::<Value>(FORMAT).unwrap());

    bed.world
        .model
        .script([Reply::Answer(says(vec![Item::Refusal("I can't do that.".to_owned())]))]);
    let heard = bed.post(&turn("t2", "Next"));
    assert_eq!(heard.final_text(), "I can't do that.");
    let warning = "The model declined to answer this request, or a part of it.";
    assert_eq!(heard.result()["UserWarnings"], json!([warning]));
}
