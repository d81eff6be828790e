//! The replay of a session's export (interface §1): what every model call sent is built again from it, byte for
//! byte, and the session runs again with the same outcomes.

use std::collections::BTreeSet;

use bed::*;
use replay::{Bundle, NotRebuilt, rebuild, report};
use serde_json::{Value, json};

fn exported(bed: &Bed) -> String {
    bed.asked("GET", "/sessions/s/export", "").text
}

/// Replays the bed's session, and asserts that nothing differs.
pub(crate) fn assert_replays(bed: &Bed, what: &str) {
    let report = report(&exported(bed)).unwrap();
    assert_eq!(report.faults, 0, "{what}:\n{}", report.text);
}

/// Rebuilds the body of every model call of a session from its export alone, and asserts that it is byte for byte the one
/// that was composed, and the one that the service got where it answered.
pub(crate) fn assert_rebuilds(bed: &Bed, session: &str) {
    let export = bed.asked("GET", &format!("/sessions/{session}/export"), "").text;
    let bundle = Bundle::read(&export).unwrap();
    let text = |body: &Value| body.to_string();
    let got: BTreeSet<String> = bed.world.model.bodies().iter().map(text).collect();
    for turn in &bundle.turns {
        for (place, call) in turn.model_calls.iter().enumerate() {
            let what = format!("{session}, turn {}, model call {}", turn.turn_id, place + 1);
            let body = rebuild(&bundle, turn, call).unwrap_or_else(|why| panic!("{what}: {why}"));
            let sent: Value = serde_json::from_str(&body).unwrap();
            let is_got = call.response_id.is_none() || got.contains(&text(&sent));
            assert!(is_got, "{what} is not what the service got: {body}");
        }
    }
}

#[test]
fn a_rebuilt_body_is_the_one_that_was_sent() {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["ModelParameters"] =
            json!({ "top_p": 0.5, "include": ["message.output_text.logprobs"] });
    });
    let mut sent = Vec::new();
    for (id, words, choice) in
        [("t1", "One [plan: server, mode:ddr]", Some("lookup")), ("t2", "Two", None)]
    {
        let members = choice.map_or(json!({}), |name| json!({ "ToolChoiceName": name }));
        bed.post(&with(turn(id, words), members)).final_text();
        sent.push(bed.world.model.latest_body());
    }
    let bundle = Bundle::read(&format!("\u{feff}{}", exported(&bed))).unwrap();
    let mut calls = 0;
    for (turn, latest) in bundle.turns.iter().zip(sent) {
        let bodies: Vec<String> =
            turn.model_calls.iter().map(|call| rebuild(&bundle, turn, call).unwrap()).collect();
        assert_eq!(bodies.last(), Some(&latest));
        calls += bodies.len();
    }
    assert_eq!(calls, bed.world.model.requests());
    // One text for each mode's instructions, however many calls were made.
    assert_eq!(bundle.texts.len(), 2);
}

#[test]
fn a_bundle_that_was_tampered_with_is_told_where() {
    let bed = Bed::new();
    bed.post(&turn("t1", "One [plan: server]")).final_text();
    bed.post(&turn("t2", "Two")).final_text();
    let export = exported(&bed);
    let tampered = |from: &str, to: &str| {
        assert!(export.contains(from), "{from}");
        report(&export.replacen(from, to, 1)).unwrap().text
    };
    let input = |entries: &str| format!("the input (entries {entries} of the conversation)");
    let first = format!("model call 1: differs from the body that was sent: {}", input("1 to 2"));
    let same_length = format!("it has the same length, so {} or the tools have", input("6"));
    for (from, to, told) in [
        ("[INSTRUCTION]\\nOne", "[INSTRUCTION]\\nEins", first.as_str()),
        ("[INSTRUCTION]\\nTwo", "[INSTRUCTION]\\nOwt", &same_length),
        (r#""output":"{\"found"#, r#""output":"{\"lost"#, &input("4")),
        (r#""Sequence":4"#, r#""Sequence":40"#, "the export lacks entry 4"),
        (r#""description":"A tool.""#, r#""description":"A tool!!""#, "the tools have "),
        (r#"{\"model\":\"m\""#, r#"{\"model\":\"n\""#, "was changed"),
        (
            r#""PrimaryOutputText":"Answer to Two.""#,
            r#""PrimaryOutputText":"No.""#,
            "turn t2: an outcome",
        ),
    ] {
        let text = tampered(from, to);
        assert!(text.contains(told), "{from}: {text}");
    }
}

#[test]
fn a_transcript_of_an_older_version_cannot_be_rebuilt_and_says_so() {
    let bed = Bed::new();
    bed.post(&turn("t1", "One")).final_text();
    let mut export: Value = serde_json::from_str(&exported(&bed)).unwrap();
    export["Result"]["Turns"][0]["ModelCalls"][0].as_object_mut().unwrap().remove("Template");
    export["Result"].as_object_mut().unwrap().remove("Texts");
    let export = export.to_string();
    let bundle = Bundle::read(&export).unwrap();
    let turn = &bundle.turns[0];
    let rebuilt = rebuild(&bundle, turn, &turn.model_calls[0]);
    assert_eq!(rebuilt, Err(NotRebuilt::StoredByOlderVersion));
    let report = report(&export).unwrap();
    assert_eq!(report.faults, 2, "{}", report.text);
    assert!(Bundle::read("{}").is_err());
}

#[test]
fn a_session_of_every_ending_replays() {
    let bed = Bed::new();
    let post = |id: &str, replies: Vec<Reply>| {
        bed.world.model.script(replies);
        bed.post(&turn(id, "Go on")).failure().1.to_owned()
    };
    let refusal = |error: Value| http_error(400, error, &[]);
    // Retries, with the wait that the service asks for and without.
    let busy = http_error(503, json!({}), &[("retry-after", "2")]);
    assert_eq!(post("retried", vec![busy, Reply::Unreachable, say("Yes.").into()]), "");
    assert_eq!(post("unreachable", vec![Reply::Unreachable; 3]), "upstream_unavailable");
    assert_eq!(post("refused", vec![http_error(401, json!({}), &[])]), "upstream_rejected");
    let failed_late = vec![failed("server_error"); 3];
    assert_eq!(post("failed", failed_late), "upstream_failed");
    let event = vec![error_event("unknown", true)];
    assert_eq!(post("error_event", event), "upstream_failed");
    let broken = vec![say("Half an answer").breaks_after(6).into(); 3];
    assert_eq!(post("broken", broken), "upstream_protocol");
    let ended = vec![say("Half an answer").ends_after(6).into(); 3];
    assert_eq!(post("ended", ended), "upstream_protocol");
    let cut = vec![incomplete(Item::Text(vec!["Half".to_owned()]), "max_output_tokens")];
    assert_eq!(post("cut", cut), "");
    let nothing = vec![incomplete_without_items("max_output_tokens")];
    assert_eq!(post("nothing", nothing), "upstream_incomplete");
    // The service refuses the message, however little is sent with it; it is withheld from then on.
    let bad = || refusal(json!({ "message": "Invalid image.", "param": "input" }));
    assert_eq!(post("bad", (0..6).map(|_| bad()).collect()), "upstream_rejected");
    while bed.world.model.drop_scripted() {}
    assert_eq!(post("good", vec![say("Good.").into()]), "");
    // A model that does not exist is nobody's message.
    let unknown = refusal(json!({ "message": "No such model.", "code": "model_not_found" }));
    assert_eq!(post("unknown", vec![unknown]), "upstream_rejected");
    // Nothing comes for too long.
    assert_eq!(post("silent", vec![Reply::Silence]), "upstream_timeout");
    // What failed is sent again, after others.
    assert_eq!(bed.post(&turn("failed", "Go on")).final_text(), "Answer to Go.");
    // A tool that fails, reported to the model and not.
    bed.world.tools.script([ToolAnswer::Status(503)]);
    bed.post(&turn("fragile", "Go on [plan: fragile]")).final_text();
    bed.world.tools.script([ToolAnswer::Status(503)]);
    let tool = bed.post(&turn("tool", "Go on [plan: server]"));
    assert_eq!(tool.failure().1, "server_tool_failed");
    assert_replays(&bed, "every ending");
}

#[test]
fn a_session_whose_texts_are_long_or_are_json_replays() {
    let bed = Bed::new();
    let long = "ä".repeat(600_000);
    bed.post(&turn("long", &long)).final_text();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["ModelParameters"] = json!({
            "top_p": 0.5, "metadata": { "z": "1", "a": "2" }, "include": ["message.output_text.logprobs"],
            "text": { "format": { "type": "json_object" } },
        });
        catalog["Modes"][0]["Instructions"] = json!("Say \"input\":[] in JSON.");
        catalog["AgentContexts"]["default"]["PromptCacheKey"] = json!("None");
    });
    let choice = json!({ "ToolChoiceName": "lookup", "SolutionContextText": "S" });
    bed.post(&with(turn("chosen", "One [plan: server]"), choice)).final_text();
    bed.post(&turn("next", "Two")).final_text();
    // Files of tools stand in results by their links.
    bed.world.tools.script([ToolAnswer::Json(json!({ "Files": [
        { "Name": "a.txt", "MimeType": "text/plain", "Text": "a" }
    ] }))]);
    bed.post(&turn("files", "Three [plan: server]")).final_text();
    assert_replays(&bed, "long texts and parameters");
}

#[test]
fn a_session_replays_whose_catalog_has_changed_how_it_compacts_and_when_tools_are_sent() {
    let bed = Bed::new();
    bed.post(&turn("t1", "One [plan: server]")).final_text();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Compaction"] =
            json!({ "By": "Service", "Threshold": 200_000 });
    });
    bed.post(&turn("t2", "Two [plan: server]")).final_text();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["ResendTools"] = json!(false);
    });
    bed.post(&turn("t3", "Three [plan: server]")).final_text();
    assert_replays(&bed, "changes");
}

#[test]
fn nothing_that_stands_in_an_export_steers_the_terminal_of_whoever_replays_it() {
    let bed = Bed::new();
    bed.post(&turn("t1", "One")).final_text();
    let mut export: Value = serde_json::from_str(&exported(&bed)).unwrap();
    export["Result"]["Turns"][0]["Status"] = json!("\u{1b}[2J");
    let report = report(&export.to_string()).unwrap();
    assert!(report.text.starts_with("turn t1: \u{fffd}[2J\n"), "{}", report.text);
    assert!(!report.text.contains('\u{1b}'), "{}", report.text);
}

#[test]
fn a_tool_that_gets_other_arguments_than_the_recorded_ones_is_found() {
    let bed = Bed::new();
    bed.post(&turn("t1", "One [plan: server]")).final_text();
    let mut export: Value = serde_json::from_str(&exported(&bed)).unwrap();
    export["Result"]["Turns"][0]["ToolCalls"][0]["ArgumentsJson"] = json!(r#"{"other":1}"#);
    let report = report(&export.to_string()).unwrap();
    assert!(report.text.contains("instead of lookup {\"other\":1}"), "{}", report.text);
}
