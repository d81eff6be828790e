//! Calls of server and client tools, and their results (interface §4 and §5).

use serde_json::{Value, json};

use bed::*;

#[test]
fn a_server_tool_runs_once_and_its_result_goes_to_the_model_and_to_the_client() {
    let bed = Bed::new();
    let heard = bed.post(&turn("t1", "Look [plan: server, two-servers]"));
    assert_eq!(heard.final_text(), "Answer to Look.");
    let ids: Vec<&str> = heard.result()["ToolResults"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["ToolCallId"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 3);
    let told: Vec<(String, String)> =
        ids.iter().map(|id| ((*id).to_owned(), json!({ "found": id }).to_string())).collect();
    assert_eq!(bed.world.model.conversation().outputs(), told);
    assert!(bed.world.tools.executions().values().all(|times| *times == 1));
    assert_eq!(bed.world.tools.calls()[0]["TurnId"], "t1");
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "tools");
}

#[test]
fn client_tools_pause_the_turn_until_their_results_arrive() {
    let bed = Bed::new();
    let request = turn("t1", "Ask [plan: client, client]");
    let first = bed.post(&request);
    assert_eq!(first.result()["ToolCalls"][0]["ArgumentsJson"], r#"{"what":"y"}"#);
    assert_eq!(bed.status("t1"), "awaiting_tools");
    bed.restart();
    let second = bed.post(&results("t1", &[(&first.calls()[0], json!({ "a": 1 }))]));
    let third = bed.post(&results("t1", &[(&second.calls()[0], json!([2]))]));
    assert_eq!(third.final_text(), "Answer to Ask.");
    assert_eq!(third.result()["Usage"]["TotalTokens"], 360);
    assert_eq!(third.result().get("ToolResults"), None);
    let outputs: Vec<String> =
        bed.world.model.conversation().outputs().into_iter().map(|(_, output)| output).collect();
    assert_eq!(outputs, [r#"{"a":1}"#, "[2]"]);
    assert_eq!(bed.world.model.bodies()[1].get("tool_choice"), None);
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "tools");
}

#[test]
fn calls_of_server_and_client_go_back_together_in_the_model_s_order() {
    let bed = Bed::new();
    let paused = bed.post(&turn("t1", "Both [plan: mixed]"));
    let asked = paused.calls();
    assert_eq!(bed.world.tools.executions().len(), 2, "the server's calls have run");
    let given: Vec<(&str, Value)> = asked.iter().map(|id| (id.as_str(), json!(id))).collect();
    let heard = bed.post(&results("t1", &given));
    assert_eq!(heard.final_text(), "Answer to Both.");
    let said = bed.world.model.conversation().said();
    let called: Vec<&String> = said
        .iter()
        .filter_map(|said| if let Said::Call(id, ..) = said { Some(id) } else { None })
        .collect();
    let outputs = bed.world.model.conversation().outputs();
    assert_eq!(called, outputs.iter().map(|(id, _)| id).collect::<Vec<_>>());
    assert_eq!(heard.result()["ToolResults"].as_array().unwrap().len(), 2);
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "tools");
}

#[test]
fn pictures_of_client_and_server_tools_reach_the_model_as_pictures() {
    let bed = Bed::new();
    let parts = |name: &str| {
        json!([
            { "type": "input_text", "text": name },
            { "type": "input_image", "image_url": "data:image/png;base64,iVBO" },
        ])
    };
    bed.world.tools.script([
        ToolAnswer::Json(parts("server")),
        ToolAnswer::Json(json!([{ "type": "input_text", "text": "a", "more": 1 }])),
    ]);
    let asked = bed.post(&turn("t1", "Both [plan: mixed]")).calls();
    let given = [(asked[0].as_str(), parts("client")), (asked[1].as_str(), json!([]))];
    let heard = bed.post(&results("t1", &given));
    assert_eq!(heard.final_text(), "Answer to Both.");
    let sent = bed.world.model.bodies().pop().unwrap();
    let outputs: Vec<&Value> =
        sent["input"].as_array().unwrap().iter().map(|item| &item["output"]).collect();
    let data = json!([{ "type": "input_text", "text": "a", "more": 1 }]).to_string();
    assert_eq!(outputs, [&parts("server"), &parts("client"), &json!(data), &json!("[]")]);
    let shown = heard.result()["ToolResults"][0]["ResultJson"].as_str().unwrap();
    let shown: Value = serde_json::from_str(shown).unwrap();
    assert_eq!(shown[1], json!({ "type": "input_image", "File": heard.result()["Files"][0] }));
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "tools");
}

#[test]
fn a_call_of_a_tool_that_was_not_offered_gets_an_error_result_and_counts() {
    let bed = Bed::new();
    let heard = bed.post(&turn("t1", "Try [plan: unoffered]"));
    assert_eq!(heard.final_text(), "Answer to Try.");
    let outputs = bed.world.model.conversation().outputs();
    assert_eq!(outputs[0].1, r#"{"error":"There is no tool nowhere. Use an offered one."}"#);
    assert_eq!(heard.result().get("ToolResults"), None);
}

#[test]
fn a_call_under_a_name_that_no_function_can_have_goes_back_under_another_one() {
    let bed = Bed::new();
    bed.world.model.script([says(vec![call("functions.look up", json!({}))]).into()]);
    let request = with(turn("t1", "Try"), json!({ "ConversationContextId": "replay" }));
    assert_eq!(bed.post(&request).final_text(), "Answer to Try.");
    assert_eq!(bed.post(&turn("t2", "Next")).final_text(), "Answer to Next.");
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "tools");
}

#[test]
fn a_failing_server_tool_fails_the_turn_unless_its_definition_reports_it() {
    let bed = Bed::new();
    bed.world.tools.script([ToolAnswer::Status(500), ToolAnswer::Status(500)]);
    let request = turn("t1", "Look [plan: server]");
    let heard = bed.post(&request);
    assert_eq!(heard.failure(), (500, "server_tool_failed"));
    assert_eq!(heard.details()["ToolName"], "lookup");
    assert_eq!(bed.post(&turn("t2", "Try [plan: fragile]")).final_text(), "Answer to Try.");
    let outputs = bed.world.model.conversation().outputs();
    assert!(outputs[0].1.contains("error"), "the first call is answered as well: {outputs:?}");
    assert_eq!(outputs[1].1, r#"{"error":"it answered with status 500"}"#);
    // The repeat of the failed turn sends its words again, and its tool works now.
    assert_eq!(bed.post(&request).final_text(), "Answer to Look.");
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "tools");
}

#[test]
fn the_results_of_a_turn_are_bounded_in_sum_and_the_turn_goes_on_after_a_crash_too() {
    let calling = |crash| {
        let bed = Bed::with_crash(crash);
        bed.world.tools.think(|_| ToolAnswer::Json(json!("x".repeat(989_998))));
        bed.world.model.think(|heard| match heard.outputs().len() {
            0 | 5 => says(vec![call("fragile", json!({})); 5]).into(),
            10 => says(vec![call("agent_list_modes", json!({}))]).into(),
            _ => say("Done.").into(),
        });
        bed
    };
    let request = turn("t1", "Look");
    let given = |bed: &Bed| {
        let outputs = bed.world.model.conversation().outputs();
        let (large, refused) = outputs[..10].split_at(8);
        assert!(large.iter().all(|(_, output)| output.len() == 990_000));
        for (_, output) in refused {
            let why = "The turn's tools have given more than 8000000 bytes.";
            assert_eq!(*output, json!({ "error": why }).to_string());
        }
        // What is small fits still.
        assert!(outputs[10].1.contains("ddr"), "{}", outputs[10].1);
    };
    let bed = calling(None);
    assert_eq!(bed.post(&request).final_text(), "Done.");
    given(&bed);
    bed.assert_chain_held();
    let steps = bed.disk.steps.get();
    assert!(steps > 14, "{steps}");
    for step in (3..=steps).step_by(3) {
        let bed = calling(Some(Crash::AfterStep(step)));
        assert_eq!(bed.try_post(&request), None, "{step}");
        bed.restart();
        assert_eq!(bed.post(&request).final_text(), "Done.");
        given(&bed);
    }
}

#[test]
fn a_tool_of_the_product_does_not_fail_a_turn_that_others_have_filled() {
    let bed = Bed::new();
    bed.world.tools.think(|_| ToolAnswer::Json(json!("x".repeat(999_998))));
    bed.world.model.think(|heard| match heard.outputs().len() {
        0 => says(vec![call("fragile", json!({})); 8]).into(),
        8 => says(vec![call("agent_list_modes", json!({}))]).into(),
        _ => say("Done.").into(),
    });
    assert_eq!(bed.post(&turn("t1", "Look")).final_text(), "Done.");
    let outputs = bed.world.model.conversation().outputs();
    let why = "The turn's tools have given more than 8000000 bytes.";
    assert_eq!(outputs[8].1, json!({ "error": why }).to_string());
    bed.assert_chain_held();
}

#[test]
fn a_tool_that_gives_more_than_a_turn_may_hold_fails_it_where_its_failures_do() {
    let bed = Bed::new();
    bed.world.tools.think(|_| ToolAnswer::Json(json!("x".repeat(989_998))));
    bed.world.model.script([says(vec![call("lookup", json!({})); 60]).into()]);
    let heard = bed.post(&turn("t1", "Look"));
    assert_eq!(heard.failure(), (500, "server_tool_failed"));
    assert!(heard.text.contains("more than 8000000 bytes"), "{}", heard.text);
    assert_eq!(bed.world.tools.calls().len(), 9);
    // The next turn has all the room again.
    assert_eq!(bed.post(&turn("t2", "Look [plan: server]")).final_text(), "Answer to Look.");
    bed.assert_chain_held();
}

#[test]
fn a_turn_that_only_calls_tools_ends_at_the_limit_and_can_go_on() {
    let bed = Bed::new();
    bed.deploy("MAX_ITERATIONS", "3");
    let request = turn("t1", "Look [plan: server, server, server, server]");
    let refused = bed.post(&request);
    assert_eq!(refused.failure(), (500, "iteration_limit_exceeded"));
    assert!(refused.text.contains("Send the same request again"), "{}", refused.text);
    assert_eq!(bed.world.model.requests(), 3);
    let heard = bed.post(&request);
    assert_eq!(heard.final_text(), "Answer to Look.");
    assert_eq!(heard.result()["ToolResults"].as_array().unwrap().len(), 4);
    assert!(bed.world.tools.executions().values().all(|times| *times == 1));
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "tools");
}

#[test]
fn results_that_do_not_match_change_nothing_and_matching_ones_are_accepted_afterwards() {
    let bed = Bed::new();
    let asked = bed.post(&turn("t1", "Both [plan: mixed]")).calls();
    let (one, two) = (asked[0].as_str(), asked[1].as_str());
    let before = bed.disk.writes.get();
    for wrong in [
        vec![(one, json!(1))],
        vec![(two, json!(2)), (one, json!(1))],
        vec![(one, json!(1)), (two, json!(2)), ("call_x", json!(3))],
        vec![(one, json!(1)), ("call_x", json!(3))],
    ] {
        let heard = bed.post(&results("t1", &wrong));
        assert_eq!(heard.failure(), (409, "tool_results_mismatch"));
        assert_eq!(heard.details()["Expected"], json!(asked));
    }
    assert_eq!((bed.disk.writes.get(), bed.world.model.requests()), (before, 1));
    assert_eq!(bed.status("t1"), "awaiting_tools");
    let heard = bed.post(&results("t1", &[(one, json!(1)), (two, json!(2))]));
    assert_eq!(heard.final_text(), "Answer to Both.");
    let nowhere = bed.post(&results("another", &[(one, json!(1))]));
    assert_eq!(nowhere.failure(), (404, "turn_not_found"));
    let nowhere = with(results("t1", &[(one, json!(1))]), json!({ "SessionId": "nobodys" }));
    assert_eq!(bed.post(&nowhere).failure(), (404, "session_not_found"));
}

#[test]
fn a_chosen_tool_is_forced_once() {
    let bed = Bed::new();
    let request =
        with(turn("t1", "Ask [plan: server, client]"), json!({ "ToolChoiceName": "lookup" }));
    let asked = bed.post(&request).calls();
    bed.post(&results("t1", &[(&asked[0], json!(1))])).final_text();
    let choices: Vec<Value> =
        bed.world.model.bodies().iter().map(|body| body["tool_choice"]["name"].clone()).collect();
    assert_eq!(choices, ["lookup".into(), Value::Null, Value::Null]);
    let unknown = with(turn("t2", "x"), json!({ "ToolChoiceName": "nowhere" }));
    assert_eq!(bed.post(&unknown).failure(), (400, "invalid_field"));
}
