//! Mode changes (interface §5; AGN-011).

use aptix_edge::live_text::Position;
use serde_json::{Value, json};

use super::{input, names, user, watched};
use bed::*;

#[test]
fn a_mode_change_shows_at_once_and_its_tools_with_the_next_turn() {
    let bed = Bed::new();
    let request = with(turn("t1", "Change [plan: mode:ddr]"), json!({ "Streaming": true }));
    let heard = bed.post(&request);
    assert_eq!(heard.final_text(), "Welcome to records.\n\nAnswer to Change.");
    assert_eq!(watched(heard.frames.as_ref().unwrap()).0, heard.final_text());
    assert_eq!(heard.result()["ModeDisplayName"], "Records");
    bed.restart();
    assert_eq!(bed.post(&turn("t2", "Next")).final_text(), "Answer to Next.");

    let [one, two, three] = &bed.world.model.bodies()[..] else {
        panic!("there are other requests")
    };
    assert_eq!(
        [&one["instructions"], &two["instructions"], &three["instructions"]],
        [&Value::Null, &"Write records.".into(), &"Write records.".into()]
    );
    assert_eq!(names(two), names(one));
    assert_eq!(names(three), ["ask", "file_record", "agent_change_mode"]);
    assert_eq!(input(three), [user("[MODE: ddr]\n\n[INSTRUCTION]\nNext")]);
    assert_eq!(
        bed.modes().result(),
        &json!({
            "SessionId": "s", "ModeDisplayName": "Records",
            "History": [{ "PreviousMode": "general", "NewMode": "ddr", "Timestamp": "2026-01-02T03:04:05.678Z",
                "Reason": "r", "TurnId": "t1", "Branch": false }],
        })
    );
    bed.assert_chain_held();
}

#[test]
fn a_session_starts_in_the_mode_of_its_context_else_in_general_else_in_the_default_mode() {
    let marked = |catalog: &mut Value| {
        catalog["Modes"][0]["IsDefault"] = json!(false);
        catalog["Modes"][2]["IsDefault"] = json!(true);
    };
    let started_in = |change: &dyn Fn(&mut Value)| {
        let bed = Bed::new();
        bed.configure(change);
        let heard = bed.post(&turn("t1", "Hello"));
        assert_eq!(heard.result().get("UserWarnings"), None);
        assert_eq!(bed.modes().result()["History"], json!([]));
        heard.result()["ModeDisplayName"].clone()
    };
    assert_eq!(started_in(&|_| ()), "General");
    assert_eq!(started_in(&marked), "General");
    let of_its_own = |catalog: &mut Value| {
        marked(catalog);
        catalog["ConversationContexts"]["default"]["Mode"] = json!("ddr");
    };
    assert_eq!(started_in(&of_its_own), "Records");
    let without_general = |catalog: &mut Value| {
        marked(catalog);
        catalog["Modes"][0]["Key"] = json!("usual");
    };
    assert_eq!(started_in(&without_general), "Plain");
}

#[test]
fn text_beside_client_calls_is_shown_without_the_welcome_of_a_mode() {
    let bed = Bed::new();
    let asks = vec![
        Item::Text(vec!["I need ".to_owned(), "the file.".to_owned()]),
        call("ask", json!({ "q": "?" })),
    ];
    bed.world.model.script([change(), Reply::Answer(says(asks))]);
    let heard = bed.post(&with(turn("t1", "Change"), json!({ "Streaming": true })));
    assert_eq!(heard.result()["ToolContinuationMessage"], "I need the file.");
    assert_eq!(watched(heard.frames.as_ref().unwrap()).0, "I need the file.");
    bed.restart();
    assert_eq!(bed.post(&turn("t1", "Change")).body, heard.body);
    let asked = heard.calls();
    let given = [(asked[0].as_str(), json!("# Hello"))];
    let heard = bed.post(&results("t1", &given));
    let answer = heard.final_text();
    assert!(answer.starts_with("Welcome to records.\n\n"), "{answer}");
    bed.assert_chain_held();
}

#[test]
fn a_repeated_turn_welcomes_nobody_to_a_mode_that_another_turn_has_left() {
    let bed = Bed::new();
    let request = turn("t1", "Change [plan: mode:ddr, server]");
    bed.world.tools.script([ToolAnswer::Status(500)]);
    assert_eq!(bed.post(&request).failure(), (500, "server_tool_failed"));
    assert_eq!(bed.post(&turn("t2", "Back [plan: mode:general]")).final_text(), "Answer to Back.");
    bed.world.model.script([say("Done.").into()]);
    let heard = bed.post(&request);
    assert_eq!(heard.final_text(), "Done.");
    assert_eq!(heard.result()["ModeDisplayName"], "General");
    bed.assert_chain_held();
}

#[test]
fn each_of_several_mode_changes_gets_a_result_and_the_last_possible_one_holds() {
    let bed = Bed::new();
    let heard = bed.post(&turn("t1", "Change [plan: modes]"));
    assert_eq!(heard.final_text(), "Welcome to records.\n\nAnswer to Change.");
    assert_eq!(heard.body["Warnings"][0]["ErrorCode"], "several_mode_changes");
    let outputs = bed.world.model.conversation().outputs();
    let answers: Vec<Value> =
        outputs.iter().map(|(_, output)| serde_json::from_str(output).unwrap()).collect();
    assert_eq!(
        answers.iter().map(|answer| &answer["success"]).collect::<Vec<_>>(),
        [true, false, true].map(Value::from).iter().collect::<Vec<_>>()
    );
    assert_eq!(answers[1]["validModes"], json!(["general", "ddr", "plain"]));
    assert_eq!(bed.modes().result()["History"].as_array().unwrap().len(), 2);
}

#[test]
fn more_than_one_change_in_a_turn_is_one_warning_over_several_responses_too() {
    let warned = |plan: &str| {
        let bed = Bed::new();
        let heard = bed.post(&turn("t1", &format!("Change [plan: {plan}]")));
        heard.final_text();
        let warnings = heard.body["Warnings"].as_array().unwrap().clone();
        assert!(warnings.iter().all(|warning| warning["ErrorCode"] == "several_mode_changes"));
        // The next turn begins anew.
        assert_eq!(
            bed.post(&turn("t2", "Change [plan: mode:general]")).body["Warnings"],
            json!([])
        );
        warnings.len()
    };
    assert_eq!(warned("mode:ddr, mode:plain"), 1);
    assert_eq!(warned("mode:ddr, modes, mode:ddr"), 1);
    assert_eq!(warned("mode:ddr, server, mode:ddr, mode:poetry"), 0);
}

#[test]
fn a_mode_that_the_catalog_no_longer_has_gives_way_to_the_default_one_with_the_next_turn() {
    let bed = Bed::new();
    bed.world.model.script([Reply::Answer(says(vec![call(
        "agent_change_mode",
        json!({ "mode": "ddr", "branch": true, "reason": "r" }),
    )]))]);
    let asked = bed.post(&turn("t1", "Change [plan: none, client]")).calls();
    bed.configure(|catalog| {
        catalog["Modes"].as_array_mut().unwrap().retain(|mode| mode["Key"] != "ddr");
    });
    bed.restart();
    bed.post(&results("t1", &[(&asked[0], json!(1))])).final_text();
    assert_eq!(bed.modes().result()["History"].as_array().unwrap().len(), 1);

    let heard = bed.post(&turn("t2", "Next"));
    let warning = "The mode of this session is no longer offered; General takes its place.";
    assert_eq!(heard.result()["UserWarnings"], json!([warning]));
    assert_eq!(heard.result()["ModeDisplayName"], "General");
    let at = "2026-01-02T03:04:05.678Z";
    let history = json!([
        { "PreviousMode": "general", "NewMode": "ddr", "Timestamp": at, "Reason": "r",
            "TurnId": "t1", "Branch": true },
        { "PreviousMode": "ddr", "NewMode": "general", "Timestamp": at,
            "Reason": "The catalog no longer has the mode ddr.", "TurnId": "t2", "Branch": false },
    ]);
    bed.restart();
    assert_eq!(bed.modes().result()["History"], history);
    assert_eq!(bed.export()["Result"]["ModeHistory"], history);
    // A warning once is enough.
    assert_eq!(bed.post(&turn("t3", "More")).result().get("UserWarnings"), None);
    bed.assert_chain_held();
}

#[test]
fn an_unknown_mode_changes_nothing() {
    let bed = Bed::new();
    let heard = bed.post(&turn("t1", "Change [plan: mode:poetry]"));
    assert_eq!(heard.final_text(), "Answer to Change.");
    assert_eq!(heard.body["Warnings"], json!([]));
    assert_eq!(bed.modes().result()["History"], json!([]));
}

/// A response whose terminal event has other text than its deltas, in two chunks.
fn contradicted(delta: &str, text: &str, calls: &[&str]) -> Reply {
    let message = json!({ "type": "message", "role": "assistant",
        "content": [{ "type": "output_text", "text": text }] });
    let calls = calls.iter().map(
        |name| json!({ "type": "function_call", "call_id": "c9", "name": name, "arguments": "{}" }),
    );
    let output: Vec<Value> = std::iter::once(message).chain(calls).collect();
    let event = |event: Value| format!("data: {event}\n\n");
    raw(&[
        &event(json!({ "type": "response.output_text.delta", "output_index": 0, "delta": delta })),
        &event(json!({ "type": "response.completed",
            "response": { "id": "resp_x", "status": "completed", "output": output } })),
    ])
}

fn change() -> Reply {
    let change = json!({ "mode": "ddr", "branch": false, "reason": "r" });
    Reply::Answer(says(vec![call("agent_change_mode", change)]))
}

#[test]
fn a_response_whose_end_withdraws_all_its_text_leaves_one_welcome() {
    let bed = Bed::new();
    bed.world.model.script([change(), contradicted("Hmm ", "", &[])]);
    let heard = bed.post(&with(turn("t1", "Change"), json!({ "Streaming": true })));
    assert_eq!(heard.final_text(), "Welcome to records.");
    assert_eq!(watched(heard.frames.as_ref().unwrap()).0, "Welcome to records.");
}

#[test]
fn a_watcher_of_every_segment_of_a_lost_attempt_ends_with_the_text_of_the_next() {
    let mut lost = 0;
    for write in 1..60 {
        let bed = Bed::new();
        bed.world.model.script([change(), contradicted("Bad ", "Good.", &["ask"])]);
        bed.disk.failing_write.set(Some(write));
        let request = with(turn("t1", "Go"), json!({ "Streaming": true }));
        let first = bed.post(&request);
        bed.disk.failing_write.set(None);
        let Some(frames) = first.frames else { continue };
        let (seen, _) = frames.split_once("event: result").unwrap();
        let Some((_, last)) = seen.rsplit_once("id: ") else { continue };
        lost += 1;
        while bed.world.model.drop_scripted() {}
        bed.world.model.script([say("Quite another answer.").into()]);
        let position = Position::parse(last.lines().next().unwrap());
        let next = bed.wait(&bed.send_from(&request, position)).unwrap();
        let (text, result) = watched(&format!("{seen}{}", next.frames.unwrap()));
        let told = &result["Result"];
        let told = told.get("PrimaryOutputText").or_else(|| told.get("ToolContinuationMessage"));
        assert_eq!(Some(text.as_str()), told.and_then(Value::as_str), "write {write}");
    }
    assert!(lost > 3, "{lost}");
}
