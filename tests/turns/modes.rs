//! Mode changes (the interface, section 5; AGN-011).

use serde_json::{Value, json};

use super::bed::*;
use super::{input, names, user, watched};

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
                "Reason": "r", "TurnId": "t1" }],
        })
    );
    bed.assert_chain_held();
}

#[test]
fn what_the_model_says_beside_client_calls_is_told_without_the_welcome_of_a_mode() {
    let bed = Bed::new();
    let change = json!({ "mode": "ddr", "branch": false, "reason": "r" });
    let asks = vec![
        Item::Text(vec!["I need ".to_owned(), "the file.".to_owned()]),
        call("ask", json!({ "q": "?" })),
    ];
    bed.world.model.script([
        Reply::Answer(says(vec![call("agent_change_mode", change)])),
        Reply::Answer(says(asks)),
    ]);
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
fn of_several_mode_changes_each_is_answered_and_the_last_good_one_holds() {
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
fn an_unknown_mode_changes_nothing() {
    let bed = Bed::new();
    let heard = bed.post(&turn("t1", "Change [plan: mode:poetry]"));
    assert_eq!(heard.final_text(), "Answer to Change.");
    assert_eq!(heard.body["Warnings"], json!([]));
    assert_eq!(bed.modes().result()["History"], json!([]));
}
