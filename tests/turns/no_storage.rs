//! A service that stores no responses is found out once, and used like `replay` from there on (interface §4).

use serde_json::{Value, json};

use bed::*;

use super::replays::assert_replays;

/// What of the requests so far was asked: whether to store, and whether to continue a response.
fn asked(bed: &Bed) -> Vec<(bool, bool)> {
    let of = |body: &Value| (body["store"] == true, body.get("previous_response_id").is_some());
    bed.world.model.bodies().iter().map(of).collect()
}

/// What the trace's model calls say of the chain.
fn unchained(bed: &Bed, turn: &str) -> Vec<Value> {
    let trace = bed.asked("GET", &format!("/sessions/s/turns/{turn}/trace"), "");
    let calls = trace.result()["ModelCalls"].as_array().unwrap().clone();
    calls.into_iter().map(|call| call["Unchained"].clone()).collect()
}

const STORED: (bool, bool) = (true, false);
const CHAINED: (bool, bool) = (true, true);
const REPLAYED: (bool, bool) = (false, false);

#[test]
fn a_service_that_refuses_to_store_is_asked_once() {
    let body = |status, body: Value| Reply::Http(HttpReply::new(status, &body.to_string()));
    for refusal in [
        http_error(400, json!({ "param": "store", "code": "unsupported_value" }), &[]),
        body(400, json!({ "detail": "Store must be set to false" })),
        body(
            400,
            json!({
                "error": { "code": "invalid_prompt", "message": "Invalid Responses API request" },
                "metadata": { "raw": [{ "values": [false], "path": ["store"], "message": "expected false" }] },
            }),
        ),
        http_error(501, json!({ "message": "`store=True` (default) is not supported." }), &[]),
        raw(&["data: {\"error\":{\"message\":\"400: Store must be set to false\"}}\n\n"]),
    ] {
        let bed = Bed::new();
        bed.world.model.refuse_storage(refusal);
        assert_eq!(bed.post(&turn("t1", "One [plan: server]")).final_text(), "Answer to One.");
        bed.restart();
        assert_eq!(bed.post(&turn("t2", "Two")).final_text(), "Answer to Two.");
        assert_eq!(asked(&bed), [STORED, REPLAYED, REPLAYED, REPLAYED]);
        for body in &bed.world.model.bodies()[1..] {
            assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
        }
        let why = json!("store_refused");
        assert_eq!(unchained(&bed, "t1"), [Value::Null, why.clone(), why.clone()]);
        assert_eq!(unchained(&bed, "t2"), [why]);
        assert_eq!(bed.world.model.conversation().heard("One"), 1);
        bed.assert_chain_held();
        assert_replays(&bed, "no storage");
    }
}

#[test]
fn an_organization_with_zero_data_retention_is_found_out_by_its_first_continuation() {
    let message =
        "Previous response cannot be used for this organization due to Zero Data Retention.";
    let refusals = [
        http_error(400, json!({ "message": message, "code": "unsupported_parameter" }), &[]),
        Reply::Http(HttpReply::new(
            404,
            &json!({ "code": "not-found", "error": message }).to_string(),
        )),
    ];
    for refusal in refusals {
        let bed = Bed::new();
        bed.post(&turn("t1", "One")).final_text();
        bed.world.model.refuse_storage(refusal);
        assert_eq!(bed.post(&turn("t2", "Two [plan: server]")).final_text(), "Answer to Two.");
        assert_eq!(asked(&bed), [STORED, CHAINED, REPLAYED, REPLAYED]);
        bed.assert_chain_held();
        assert_replays(&bed, "no storage");
    }
}

#[test]
fn a_service_that_forgets_every_chain_at_once_is_asked_for_two_in_vain() {
    let bed = Bed::new();
    bed.world.model.keeps_nothing.set(true);
    bed.post(&turn("t1", "One [plan: server, server, server]")).final_text();
    bed.restart();
    bed.post(&turn("t2", "Two")).final_text();
    assert_eq!(asked(&bed), [STORED, CHAINED, STORED, CHAINED, REPLAYED, REPLAYED, REPLAYED]);
    let why = json!("chains_lost");
    assert_eq!(
        unchained(&bed, "t1"),
        [Value::Null, Value::Null, Value::Null, Value::Null, why.clone(), why]
    );
    bed.assert_chain_held();
    assert_replays(&bed, "lost chains");
}

#[test]
fn chains_that_expire_or_are_lost_now_and_then_are_begun_again() {
    let bed = Bed::new();
    bed.post(&turn("t0", "Zero")).final_text();
    for number in 1..4 {
        bed.world.model.forget();
        bed.post(&turn(&format!("lost{number}"), "Lost")).final_text();
        bed.post(&turn(&format!("kept{number}"), "Kept")).final_text();
    }
    for number in 1..4 {
        bed.world.model.forget();
        let now = bed.world.executor.now_ms();
        bed.world.executor.set_now_ms(now + 301_000);
        bed.post(&turn(&format!("late{number}"), "Late")).final_text();
    }
    let asked = asked(&bed);
    assert_eq!(asked[1..4], [CHAINED, STORED, CHAINED]);
    assert_eq!(asked.len(), 1 + 3 * 3 + 3 * 2);
    assert!(!asked.contains(&REPLAYED), "{asked:?}");
    bed.assert_chain_held();
    assert_replays(&bed, "lost chains");
}

#[test]
fn two_chains_that_are_lost_at_once_are_not_in_a_row_where_one_between_them_has_expired() {
    let bed = Bed::new();
    bed.post(&turn("t1", "One")).final_text();
    for (id, later_ms) in [("t2", 0), ("t3", 301_000), ("t4", 0)] {
        bed.world.model.forget();
        bed.world.executor.set_now_ms(bed.world.executor.now_ms() + later_ms);
        bed.post(&turn(id, "Lost")).final_text();
    }
    bed.post(&turn("t5", "Kept")).final_text();
    assert_eq!(asked(&bed), [STORED, CHAINED, STORED, CHAINED, STORED, CHAINED, STORED, CHAINED]);
    bed.assert_chain_held();
    assert_replays(&bed, "lost chains");
}

#[test]
fn a_service_that_gives_no_reasoning_to_send_back_is_asked_for_it_once() {
    let unsupported = "reasoning.encrypted_content is not supported by Llama Stack.";
    let of_model = "litellm.BadRequestError: OpenAIException - Encrypted content is not supported with this model.";
    for refusal in [
        http_error(400, json!({ "message": of_model, "type": null, "code": "400" }), &[]),
        Reply::Http(HttpReply::new(400, &json!({ "detail": unsupported }).to_string())),
        http_error(400, json!({ "param": "include", "code": "unknown_parameter" }), &[]),
    ] {
        let bed = Bed::new();
        let replayed = |id: &str, words: &str| {
            with(turn(id, words), json!({ "ConversationContextId": "replay" }))
        };
        bed.world.model.spoil_once_after(0, refusal);
        let heard = bed.post(&replayed("t1", "One [plan: server]"));
        assert_eq!(heard.final_text(), "Answer to One.");
        bed.restart();
        assert_eq!(bed.post(&replayed("t2", "Two")).final_text(), "Answer to Two.");
        let asked = bed.world.model.bodies();
        let asked: Vec<bool> = asked.iter().map(|body| body.get("include").is_some()).collect();
        assert_eq!(asked, [true, false, false, false]);
        assert_eq!(bed.world.model.conversation().heard("One"), 1);
    }
}

#[test]
fn a_chain_that_is_lost_once_counts_once_though_the_call_that_begins_another_fails() {
    let bed = Bed::new();
    bed.post(&turn("t1", "One")).final_text();
    bed.world.model.forget();
    bed.world.model.script(std::iter::repeat_with(|| http_error(503, json!({}), &[])).take(3));
    assert_eq!(bed.post(&turn("t2", "Two")).failure(), (502, "upstream_unavailable"));
    bed.restart();
    assert_eq!(bed.post(&turn("t2", "Two")).final_text(), "Answer to Two.");
    bed.post(&turn("t3", "Three")).final_text();
    assert_eq!(asked(&bed), [STORED, CHAINED, STORED, STORED, STORED, STORED, CHAINED]);
    bed.assert_chain_held();
    assert_replays(&bed, "lost chains");
}

#[test]
fn words_of_a_user_that_a_refusal_quotes_say_nothing_of_the_service() {
    let members = ["store", "background", "include", "previous_response_id"];
    let calls_where_quoted = |said: &str| {
        let bed = Bed::new();
        let always = json!("Always");
        bed.configure(|catalog| catalog["AgentContexts"]["default"]["Background"] = always);
        for number in 1..=3 {
            bed.post(&turn(&format!("t{number}"), "Hello")).final_text();
            let message = format!("Invalid value: \"{said}\".");
            let param = "input[0].content[0].text";
            let error = json!({ "message": message, "param": param, "code": "invalid_value" });
            let refusal = || http_error(400, error.clone(), &[]);
            bed.world.model.script(std::iter::repeat_with(refusal).take(9));
            let guilty = bed.post(&turn(&format!("guilty{number}"), "Guilty"));
            assert_eq!(guilty.failure(), (502, "upstream_rejected"));
            while bed.world.model.drop_scripted() {}
        }
        bed.post(&turn("t4", "Hello")).final_text();
        bed.assert_chain_held();
        let of = |body: &Value| members.map(|member| body[member].clone());
        bed.world.model.bodies().iter().map(of).collect::<Vec<_>>()
    };
    let expected = calls_where_quoted("Hello");
    for said in [
        "Is background mode on?",
        "It is called 'store'.",
        "What is previous_response_id?",
        "And reasoning.encrypted_content?",
    ] {
        assert_eq!(calls_where_quoted(said), expected, "{said}");
    }
}
