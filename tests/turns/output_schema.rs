//! The form that a turn's request asks of its answer (interface §2 and §4).

use serde_json::{Value, json};

use super::forks::Forking;
use super::watched;
use bed::*;

const SCHEMA: &str = r#"{ "type": "object", "properties": { "z": {}, "a": {} } }"#;

/// A turn that asks for that form.
fn asking(id: &str, words: &str) -> Value {
    with(turn(id, words), json!({ "OutputSchema": SCHEMA, "OutputSchemaName": "of-turn" }))
}

fn format() -> Value {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    json!({ "type": "json_schema", "name": "of-turn", "schema": schema, "strict": true })
}

/// A session whose catalog has a form of its own, and another member of `text`.
fn bed(crash: Option<Crash>) -> Bed {
    let bed = Bed::with_crash(crash);
    bed.configure(|catalog| {
        for context in ["default", "replay"] {
            catalog["AgentContexts"][context]["ModelParameters"] =
                json!({ "text": { "format": { "type": "text" }, "verbosity": "low" } });
        }
    });
    bed
}

/// The `text` of every call that the model service got.
fn texts(bed: &Bed) -> Vec<Value> {
    bed.world.model.bodies().iter().map(|body| body["text"].clone()).collect()
}

#[test]
fn every_call_of_the_turn_asks_for_its_form_and_those_of_the_next_turn_for_the_catalog_s() {
    let of_turn = json!({ "format": format(), "verbosity": "low" });
    let of_catalog = json!({ "format": { "type": "text" }, "verbosity": "low" });
    for context in ["default", "replay"] {
        let bed = bed(None);
        bed.post(&with(turn("t1", "Hello"), json!({ "ConversationContextId": context })));
        let asked = bed.post(&asking("t2", "Fill [plan: server, client]")).calls();
        bed.restart();
        bed.post(&results("t2", &[(&asked[0], json!(1))])).final_text();
        // The model fills members in the order in which it reads them.
        let written = r#"{"type":"object","properties":{"z":{},"a":{}}}"#;
        assert!(bed.world.model.latest_body().contains(written));
        bed.post(&turn("t3", "Thanks")).final_text();
        let expected = [&of_catalog, &of_turn, &of_turn, &of_turn, &of_catalog];
        assert_eq!(texts(&bed).iter().collect::<Vec<_>>(), expected);
        let turn = &bed.export()["Result"]["Turns"][1];
        assert_eq!(
            (&turn["OutputSchema"], &turn["OutputSchemaName"]),
            (&format()["schema"], &json!("of-turn"))
        );
        let trace = bed.asked("GET", "/sessions/s/turns/t2/trace", "");
        let composition = trace.result()["ModelCalls"][0]["Composition"].as_array().unwrap();
        assert!(composition.iter().any(|block| block["Block"] == "output_schema"));
        bed.assert_chain_held();
        super::replays::assert_rebuilds(&bed, "s");
        super::replays::assert_replays(&bed, context);
    }
}

#[test]
fn the_form_outlives_a_crash_at_every_step() {
    let acts = |bed: &Bed| -> Option<()> {
        let request = asking("t1", "Fill [plan: server, client]");
        let asked = bed.try_post(&request)?.calls();
        bed.try_post(&results("t1", &[(&asked[0], json!(1))]))?.final_text();
        bed.try_post(&turn("t2", "Thanks"))?.final_text();
        Some(())
    };
    let whole = bed(None);
    acts(&whole).unwrap();
    for step in 1..=whole.disk.steps.get() {
        let bed = bed(Some(Crash::AfterStep(step)));
        while acts(&bed).is_none() {
            bed.restart();
        }
        let texts = texts(&bed);
        let (last, of_turn) = texts.split_last().unwrap();
        assert_eq!(last["format"]["type"], "text", "step {step}");
        assert!(
            of_turn
                .iter()
                .all(|text| text["format"] == format() || text["format"]["type"] == "text")
        );
        assert!(of_turn.iter().filter(|text| text["format"] == format()).count() >= 3);
    }
}

#[test]
fn a_request_is_the_same_under_any_spelling_of_its_schema_and_another_one_conflicts() {
    let bed = bed(None);
    bed.world.model.script([http_error(401, json!({}), &[])]);
    assert_eq!(bed.post(&asking("t1", "Fill")).failure(), (502, "upstream_rejected"));
    // A failed turn is repeated with its form.
    bed.post(&asking("t1", "Fill")).final_text();
    assert_eq!(texts(&bed)[1]["format"], format());
    let respelt = r#"{"properties":{"a":{},"z":{}},"type":"object"}"#;
    assert!(bed.post(&with(asking("t1", "Fill"), json!({ "OutputSchema": respelt }))).replayed);
    for other in [
        json!({ "OutputSchema": r#"{"type":"object"}"# }),
        json!({ "OutputSchema": null, "OutputSchemaName": null }),
        json!({ "OutputSchemaName": "other" }),
    ] {
        let heard = bed.post(&with(asking("t1", "Fill"), other));
        assert_eq!(heard.failure(), (409, "turn_conflict"));
    }
}

#[test]
fn nothing_stands_beside_the_json_that_a_turn_asks_for() {
    let bed = Bed::new();
    let to = json!({ "mode": "ddr", "branch": false, "reason": "r" });
    let cited = json!({ "type": "url_citation", "start_index": 0, "end_index": 1,
        "url": "https://pages.example/", "title": "A page" });
    bed.world.model.script([
        Reply::Answer(says(vec![call("agent_change_mode", to)])),
        Reply::Answer(says(vec![Item::Cited(r#"{"a":1}"#.to_owned(), vec![cited])])),
    ]);
    let heard = bed.post(&with(asking("t1", "Change"), json!({ "Streaming": true })));
    assert_eq!(heard.final_text(), r#"{"a":1}"#);
    assert_eq!(watched(heard.frames.as_ref().unwrap()).0, r#"{"a":1}"#);
    assert_eq!(texts(&bed), [json!({ "format": format() }), json!({ "format": format() })]);
    super::replays::assert_replays(&bed, "a form");
}

#[test]
fn a_refused_schema_is_told_at_its_place_after_one_call_and_the_next_turn_works() {
    let words = "Invalid schema for response_format 'of-turn': In context=(), no.";
    let in_stream = |error: Value| {
        let event = json!({ "type": "error", "sequence_number": 0, "error": error });
        raw(&[&format!("event: error\ndata: {event}\n\n")])
    };
    let failed = json!({ "type": "response.failed", "sequence_number": 0, "response": {
        "id": "resp_f", "object": "response", "status": "failed", "output": [],
        "error": { "code": "invalid_json_schema", "message": words } } });
    for (name, reply) in [
        ("by its place", http_error(400, json!({ "param": "text.format.schema" }), &[])),
        ("by its name", http_error(400, json!({ "message": words }), &[])),
        (
            "as too long",
            http_error(
                400,
                json!({ "message": "The schema 'of-turn' exceeds the maximum context length." }),
                &[],
            ),
        ),
        (
            "in the stream",
            in_stream(json!({ "type": "invalid_request_error",
            "code": "invalid_json_schema", "message": words, "param": "text.format.schema" })),
        ),
        (
            "by its name in the stream",
            in_stream(json!({ "type": "invalid_request_error",
            "message": words })),
        ),
        ("as a failure", raw(&[&format!("event: response.failed\ndata: {failed}\n\n")])),
    ] {
        let bed = Bed::new();
        bed.post(&turn("t1", "One")).final_text();
        bed.world.model.script([reply]);
        let heard = bed.post(&asking("t2", "Two"));
        assert_eq!(heard.failure(), (502, "upstream_rejected"), "{name}: {}", heard.text);
        assert_eq!(heard.body["Errors"][0]["Path"], "/OutputSchema", "{name}");
        assert_eq!(bed.world.model.requests(), 2, "{name}: no other call is tried");
        assert_eq!(bed.post(&turn("t3", "Three")).final_text(), "Answer to Three.", "{name}");
        let said = bed.world.model.conversation().said();
        assert!(said.iter().any(|said| matches!(said, Said::User(text) if text.ends_with("Two"))));
        super::replays::assert_replays(&bed, name);
    }
}

#[test]
fn a_call_for_a_summary_asks_for_no_form() {
    let bed = Bed::new();
    let long = "word ".repeat(1_000);
    bed.post(&turn("t1", &format!("One {long}"))).final_text();
    bed.world
        .model
        .narrow(6_500, http_error(400, json!({ "code": "context_length_exceeded" }), &[]));
    bed.post(&asking("t2", &format!("Two {}", "word ".repeat(300)))).final_text();
    let bodies = bed.world.model.bodies();
    let (summaries, others): (Vec<&Value>, Vec<&Value>) =
        bodies[1..].iter().partition(|body| body["input"].to_string().contains("[RECORD]"));
    assert!(!summaries.is_empty());
    assert!(summaries.iter().all(|body| body.get("text").is_none()));
    assert!(others.iter().all(|body| body["text"]["format"] == format()));
}

#[test]
fn a_failed_turn_keeps_its_form_in_a_fork_whose_parent_is_gone() {
    let bed = Bed::new();
    bed.say("p", "t1", "One").final_text();
    bed.world.model.script([http_error(401, json!({}), &[])]);
    assert_eq!(bed.post(&with(asking("t2", "Two"), json!({ "SessionId": "p" }))).status, 502);
    bed.fork(json!({})).result();
    assert_eq!(bed.asked("DELETE", "/sessions/p", "").status, 200);
    bed.post(&with(asking("t2", "Two"), json!({ "SessionId": "f" }))).final_text();
    assert_eq!(texts(&bed).last().unwrap()["format"], format());
}
