//! Server tools that run at once, where the catalog lets them (interface §5).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::replays::assert_replays;
use bed::*;

/// A session whose tools `lookup`, which fails the turn, and `fragile`, which reports its failures, run at once.
fn bed() -> Bed {
    let bed = Bed::new();
    configure(&bed, |_| ());
    bed.world.tools.think(answer);
    bed
}

fn configure(bed: &Bed, change: impl Fn(&mut Value)) {
    bed.configure(|catalog| {
        for tool in 0..2 {
            catalog["ServerTools"][tool]["Parallel"] = json!(true);
        }
        change(catalog);
    });
}

/// The reply that a call's arguments ask for.
fn answer(body: &Value) -> ToolAnswer {
    let asked = &body["Arguments"];
    let then = match (&asked["never"], &asked["fails"], asked["bytes"].as_u64()) {
        (Value::Bool(true), ..) => return ToolAnswer::Never,
        (_, Value::Bool(true), _) => ToolAnswer::Status(500),
        (.., Some(bytes)) => ToolAnswer::Json(json!("x".repeat(bytes as usize - 2))),
        (.., None) => ToolAnswer::Json(json!({ "n": asked["n"] })),
    };
    ToolAnswer::After(asked["after"].as_u64().unwrap_or(10), Box::new(then))
}

fn lookup(n: u64, members: Value) -> Item {
    call("lookup", with(json!({ "n": n }), members))
}

/// Has the model make these calls, and then answer.
fn script(bed: &Bed, calls: Vec<Item>) {
    bed.world.model.script([says(calls).into()]);
}

/// The trace's entries of a turn's calls.
fn traced(bed: &Bed, turn: &str) -> Vec<Value> {
    let trace = bed.asked("GET", &format!("/sessions/s/turns/{turn}/trace"), "");
    trace.result()["ToolCalls"].as_array().unwrap().clone()
}

fn groups(bed: &Bed, turn: &str) -> Vec<Option<u64>> {
    traced(bed, turn).iter().map(|call| call["ParallelGroup"].as_u64()).collect()
}

/// The numbers in the outputs that the model has got, in their order.
fn told(bed: &Bed) -> Vec<Value> {
    let outputs = bed.world.model.conversation().outputs();
    let read = |(_, output): &(String, String)| serde_json::from_str(output).unwrap_or(Value::Null);
    outputs.iter().map(read).map(|output: Value| output["n"].clone()).collect()
}

#[test]
fn five_tools_take_as_long_as_one_and_their_results_stand_in_the_model_s_order() {
    for context in ["default", "replay"] {
        let bed = bed();
        let calls = (0..5).map(|n| lookup(n, json!({ "after": 200 - 20 * n })));
        script(&bed, calls.collect());
        let began = bed.world.executor.now_ms();
        let heard =
            bed.post(&with(turn("t1", "Look"), json!({ "ConversationContextId": context })));
        assert_eq!(heard.final_text(), "Answer to Look.");
        let took = bed.world.executor.now_ms() - began;
        assert!(took < 300, "{took}");
        assert_eq!(told(&bed), [0, 1, 2, 3, 4].map(Value::from));
        let shown = heard.result()["ToolResults"].as_array().unwrap();
        let shown: Vec<&str> =
            shown.iter().map(|shown| shown["ResultJson"].as_str().unwrap()).collect();
        assert_eq!(shown, (0..5).map(|n| format!("{{\"n\":{n}}}")).collect::<Vec<_>>());
        assert_eq!(groups(&bed, "t1"), [Some(1); 5]);
        // The time of tools that run at once counts once.
        let timing = heard.headers["Server-Timing"].clone();
        let tools = timing.split(", ").find_map(|part| part.strip_prefix("tools;dur=")).unwrap();
        assert!(tools.parse::<f64>().unwrap() < 300.0, "{timing}");
        bed.assert_chain_held();
        super::replays::assert_rebuilds(&bed, "s");
        assert_replays(&bed, context);
    }
}

#[test]
fn six_calls_run_at_once_at_most_and_the_next_begins_when_one_has_ended() {
    let bed = bed();
    let calls = (0..8).map(|n| lookup(n, json!({ "after": if n == 7 { 10 } else { 100 + n } })));
    script(&bed, calls.collect());
    let running = bed.send(&turn("t1", "Look"));
    bed.run_until(|bed| bed.world.tools.calls().len() == 6, "six calls run");
    bed.run_at_once();
    assert_eq!(bed.world.tools.calls().len(), 6);
    bed.run_until(|bed| bed.world.tools.calls().len() == 7, "one has ended");
    assert_eq!(bed.wait(&running).unwrap().final_text(), "Answer to Look.");
    assert_eq!(told(&bed), (0..8).map(Value::from).collect::<Vec<_>>());
    assert_eq!(groups(&bed, "t1"), [Some(1); 8]);
}

#[test]
fn without_the_catalog_s_word_tools_run_one_after_the_other() {
    let bed = Bed::new();
    bed.world.tools.think(answer);
    script(&bed, (0..3).map(|n| lookup(n, json!({ "after": 100 }))).collect());
    let began = bed.world.executor.now_ms();
    bed.post(&turn("t1", "Look")).final_text();
    assert!(bed.world.executor.now_ms() - began >= 300);
    assert_eq!(groups(&bed, "t1"), [None; 3]);
    assert!(!bed.export().to_string().contains("Parallel"));
}

#[test]
fn a_crash_runs_again_what_has_no_result_in_each_of_the_states_of_four_calls() {
    for state in 0..16_u64 {
        let bed = bed();
        let has_result = |n: u64| state & (1 << n) != 0;
        let calls = (0..4).map(|n| match has_result(n) {
            true => lookup(n, json!({ "after": 40 - 10 * n })),
            false => lookup(n, json!({ "never": true })),
        });
        script(&bed, calls.collect());
        drop(bed.send(&turn("t1", "Look")));
        let stored =
            |bed: &Bed| bed.disk.read("SELECT 1 FROM calls WHERE result IS NOT NULL").len();
        let expected = state.count_ones() as usize;
        bed.run_until(
            |bed| bed.world.tools.calls().len() == 4 && stored(bed) == expected,
            "the results have come",
        );
        bed.restart();
        bed.world.tools.think(|body| {
            let then = ToolAnswer::Json(json!({ "n": body["Arguments"]["n"] }));
            ToolAnswer::After(5, Box::new(then))
        });
        assert_eq!(bed.post(&turn("t1", "Look")).final_text(), "Answer to Look.", "{state:04b}");
        assert_eq!(told(&bed), [0, 1, 2, 3].map(Value::from), "{state:04b}");
        let mut ran = BTreeMap::new();
        for body in bed.world.tools.calls() {
            let n = body["Arguments"]["n"].as_u64().unwrap();
            ran.entry((n, body["ToolCallId"].to_string()))
                .and_modify(|times| *times += 1)
                .or_insert(1);
        }
        assert_eq!(ran.len(), 4, "each call keeps its id: {ran:?}");
        for ((n, _), times) in ran {
            assert_eq!(times, if has_result(n) { 1 } else { 2 }, "{state:04b}, call {n}");
        }
        bed.assert_chain_held();
    }
}

#[test]
fn a_turn_fails_by_the_first_failure_in_the_model_s_order_after_those_beside_were_heard() {
    for (failing, first) in
        [(vec![0], 0), (vec![1], 1), (vec![2], 2), (vec![1, 2], 1), (vec![0, 2], 0)]
    {
        let bed = bed();
        // The later a failing call stands, the sooner it fails.
        let calls = (0..3).map(|n| {
            let after = 100 - 30 * n;
            lookup(n, json!({ "after": after, "fails": failing.contains(&n) }))
        });
        script(&bed, calls.collect());
        let request = turn("t1", "Look");
        let heard = bed.post(&request);
        assert_eq!(heard.failure(), (500, "server_tool_failed"), "{failing:?}");
        let calls = traced(&bed, "t1");
        assert_eq!(heard.details()["ToolCallId"], calls[first as usize]["ToolCallId"]);
        for (n, call) in (0..).zip(&calls) {
            assert_eq!(call["Successful"] == true, !failing.contains(&n), "{failing:?}, call {n}");
        }
        assert_replays(&bed, "a failure beside others");
        // A repeat runs those without a result, and only those.
        bed.world.tools.think(|body| ToolAnswer::Json(json!({ "n": body["Arguments"]["n"] })));
        assert_eq!(bed.post(&request).final_text(), "Answer to Look.", "{failing:?}");
        assert_eq!(told(&bed), [0, 1, 2].map(Value::from));
        assert_eq!(bed.world.tools.calls().len(), 3 + failing.len());
        bed.assert_chain_held();
    }
}

#[test]
fn after_a_failure_no_further_call_begins() {
    let bed = bed();
    let calls = (0..8)
        .map(|n| lookup(n, json!({ "after": if n == 3 { 20 } else { 50 }, "fails": n == 3 })));
    script(&bed, calls.collect());
    assert_eq!(bed.post(&turn("t1", "Look")).failure(), (500, "server_tool_failed"));
    assert!(bed.world.tools.calls().len() < 8);
    let with_result = traced(&bed, "t1").iter().filter(|call| call["Successful"] == true).count();
    assert_eq!(with_result, bed.world.tools.calls().len() - 1, "all that began were heard");
}

#[test]
fn calls_that_have_not_begun_are_in_no_group() {
    let bed = bed();
    let fails = json!({ "fails": true });
    script(
        &bed,
        vec![
            lookup(0, fails),
            lookup(1, json!({})),
            call("agent_list_modes", json!({})),
            lookup(2, json!({})),
            lookup(3, json!({})),
        ],
    );
    assert_eq!(bed.post(&turn("t1", "Look")).failure(), (500, "server_tool_failed"));
    assert_eq!(groups(&bed, "t1"), [Some(1), Some(1), None, None, None]);
    bed.world.tools.think(|body| ToolAnswer::Json(json!({ "n": body["Arguments"]["n"] })));
    bed.post(&turn("t1", "Look")).final_text();
    assert_eq!(groups(&bed, "t1"), [Some(1), Some(1), None, Some(2), Some(2)]);
}

#[test]
fn what_stands_between_two_calls_parts_them() {
    let change =
        || call("agent_change_mode", json!({ "mode": "plain", "branch": false, "reason": "r" }));
    let unoffered = || call("nowhere", json!({}));
    // Of the tools in the mode, `alone` has no word of the catalog's and `guarded` asks a human.
    for (name, between) in [
        ("a mode tool", change()),
        ("a name that was not offered", unoffered()),
        ("a tool without the word", call("alone", json!({ "n": 9 }))),
        ("a client's call", call("ask", json!({ "what": "y" }))),
        ("a call that needs a human", call("guarded", json!({ "n": 9 }))),
    ] {
        let bed = bed();
        configure(&bed, |catalog| {
            let mut of = |name: &str, members: Value| {
                let tool = with(
                    catalog["ServerTools"][0].clone(),
                    json!({ "Name": name, "Parallel": false }),
                );
                catalog["ServerTools"].as_array_mut().unwrap().push(with(tool, members));
                catalog["Modes"][0]["Tools"].as_array_mut().unwrap().push(json!(name));
            };
            of("alone", json!({}));
            of("guarded", json!({ "Parallel": true, "Approval": "Always" }));
        });
        let slow = |n| lookup(n, json!({ "after": 100 }));
        script(&bed, vec![slow(0), slow(1), between, slow(2), slow(3)]);
        let began = bed.world.executor.now_ms();
        let heard = bed.post(&turn("t1", "Look"));
        let took = bed.world.executor.now_ms() - began;
        assert!((200..300).contains(&took), "{name}: {took}");
        let heard = match heard.result()["Kind"] == "final" {
            true => heard,
            false => {
                let asked = heard.calls();
                let given = if asked[0].starts_with("apr_") {
                    json!({ "Approved": true })
                } else {
                    json!({ "n": 9 })
                };
                bed.post(&results("t1", &[(&asked[0], given)]))
            }
        };
        assert_eq!(heard.final_text(), "Answer to Look.", "{name}");
        assert_eq!(groups(&bed, "t1"), [Some(1), Some(1), None, Some(2), Some(2)], "{name}");
        let told = told(&bed);
        assert_eq!(
            [&told[0], &told[1], &told[3], &told[4]],
            [0, 1, 2, 3].map(Value::from).each_ref()
        );
        bed.assert_chain_held();
        assert_replays(&bed, name);
    }
}

#[test]
fn groups_are_counted_through_the_turn() {
    let bed = bed();
    bed.world.model.script([
        says(vec![lookup(0, json!({})), lookup(1, json!({}))]).into(),
        says(vec![lookup(2, json!({}))]).into(),
        says(vec![lookup(3, json!({})), call("fragile", json!({ "n": 4 }))]).into(),
    ]);
    bed.post(&turn("t1", "Look")).final_text();
    assert_eq!(groups(&bed, "t1"), [Some(1), Some(1), None, Some(2), Some(2)]);
}

#[test]
fn a_tool_that_never_answers_holds_up_no_result_of_those_beside_it() {
    let bed = bed();
    script(
        &bed,
        vec![call("fragile", json!({ "n": 0, "never": true })), lookup(1, json!({ "after": 20 }))],
    );
    let running = bed.send(&turn("t1", "Look"));
    let stored = |bed: &Bed| bed.disk.read("SELECT 1 FROM calls WHERE result IS NOT NULL").len();
    bed.run_until(|bed| stored(bed) == 1, "the result beside has come");
    // Its own time limit ends the other.
    assert_eq!(bed.wait(&running).unwrap().final_text(), "Answer to Look.");
    let outputs = bed.world.model.conversation().outputs();
    assert!(outputs[0].1.contains("error") && outputs[1].1 == r#"{"n":1}"#, "{outputs:?}");
}

#[test]
fn cancelling_and_the_time_limit_stop_all_and_the_model_is_told_which_may_have_run() {
    for is_cancelled in [true, false] {
        let bed = bed();
        if !is_cancelled {
            bed.deploy("TURN_TIMEOUT_MS", "5000");
        }
        script(
            &bed,
            vec![
                lookup(0, json!({ "after": 20 })),
                lookup(1, json!({ "never": true })),
                lookup(2, json!({ "never": true })),
                call("agent_list_modes", json!({})),
                lookup(3, json!({})),
            ],
        );
        let running = bed.send(&turn("t1", "Look"));
        let stored =
            |bed: &Bed| bed.disk.read("SELECT 1 FROM calls WHERE result IS NOT NULL").len();
        bed.run_until(|bed| stored(bed) == 1, "a result has come");
        if is_cancelled {
            assert_eq!(bed.try_cancel("t1").unwrap().result()["Status"], "aborted");
        }
        let code = if is_cancelled { "turn_aborted" } else { "upstream_timeout" };
        assert_eq!(bed.wait(&running).unwrap().failure().1, code);
        assert_eq!(bed.post(&turn("t2", "Next")).final_text(), "Answer to Next.");
        assert_eq!(bed.world.tools.calls().len(), 3);
        let outputs = bed.world.model.conversation().outputs();
        let may_have_run =
            |place: usize| outputs[place].1.contains("not known whether the tool was executed");
        assert_eq!(outputs[0].1, r#"{"n":0}"#);
        assert!(may_have_run(1) && may_have_run(2), "{outputs:?}");
        assert!(!may_have_run(3) && !may_have_run(4), "{outputs:?}");
        bed.assert_chain_held();
    }
}

#[test]
fn the_bytes_of_results_count_in_the_order_in_which_the_results_come() {
    let bed = bed();
    let large =
        |n: u64| call("fragile", json!({ "n": n, "bytes": 990_000, "after": 200 - 10 * n }));
    bed.world.model.script([
        says((0..6).map(large).collect()).into(),
        says((0..4).map(large).collect()).into(),
    ]);
    assert_eq!(bed.post(&turn("t1", "Look")).final_text(), "Answer to Look.");
    let outputs = bed.world.model.conversation().outputs();
    let refused: Vec<usize> = (0..10).filter(|place| outputs[*place].1.len() < 1_000).collect();
    // Eight fit. The last calls of the second response are the first to come.
    assert_eq!(refused, [6, 7]);
}

#[test]
fn progress_tells_of_calls_beside_each_other_and_spans_stand_beside_each_other() {
    let bed = bed();
    bed.world.spans.are_heard.set(true);
    script(&bed, vec![lookup(0, json!({ "after": 50 })), lookup(1, json!({ "after": 20 }))]);
    let request = with(turn("t1", "Look"), json!({ "Streaming": true }));
    let asked = bed.ask("POST", "/execute?Progress=true", &[], &request.to_string());
    let heard = bed.wait(&asked).unwrap();
    let frames = heard.frames.unwrap();
    let told = frames
        .split_terminator("\n\n")
        .filter_map(|frame| frame.strip_prefix("event: progress\ndata: "));
    let told = told.map(|data| serde_json::from_str::<Value>(data).unwrap());
    let of_tools: Vec<Value> = told.filter(|event| event["Kind"] == "server_tool").collect();
    let states: Vec<&str> = of_tools.iter().map(|event| event["State"].as_str().unwrap()).collect();
    assert_eq!(states, ["started", "started", "finished", "finished"]);
    assert_eq!(of_tools[2]["ToolCallId"], of_tools[1]["ToolCallId"]);
    let trees = bed.world.spans.trees();
    let below = trees[0]["below"].as_array().unwrap();
    let tools: Vec<&Value> =
        below.iter().filter(|span| span["name"] == "execute_tool lookup").collect();
    assert_eq!(tools.len(), 2, "{trees}");
    assert!(tools.iter().all(|span| span["below"].as_array().is_none_or(Vec::is_empty)));
}

#[test]
fn tools_of_an_mcp_server_run_at_once_by_the_patterns_of_its_entry() {
    for state in [McpState::Modern, McpState::Legacy] {
        let bed = Bed::new();
        bed.world.mcp.state.set(state);
        bed.configure(|catalog| {
            catalog["McpServers"] = json!({ "docs": { "Url": "https://docs.example/mcp",
                "Parallel": { "sea*": true } } });
            catalog["Modes"][0]["Tools"] = json!(["docs/*"]);
        });
        let search = |q: &str| call("docs__search", json!({ "q": q }));
        bed.world.model.script([
            says(vec![search("a")]).into(),
            says(vec![search("b"), search("c"), call("docs__read", json!({ "q": "d" }))]).into(),
        ]);
        assert_eq!(bed.post(&turn("t1", "Look")).final_text(), "Answer to Look.");
        assert_eq!(groups(&bed, "t1"), [None, Some(1), Some(1), None]);
        let outputs = bed.world.model.conversation().outputs();
        for ((_, output), q) in outputs.iter().zip(["a", "b", "c", "d"]) {
            assert!(output.contains(&format!("\"q\":\"{q}\"")), "{outputs:?}");
        }
        // They share the session that the first call began.
        let greetings = bed.world.mcp.count("initialize");
        assert!(greetings <= 2, "one for the list, one for the calls: {greetings}");
        bed.assert_chain_held();
    }
}

#[test]
fn a_tool_that_answers_in_time_has_not_timed_out_while_its_neighbour_s_files_are_stored() {
    let bed = bed();
    configure(&bed, |catalog| catalog["ServerTools"][1]["Http"]["TimeoutMs"] = json!(1_000));
    bed.world.file_ms.set(2_000);
    let picture =
        json!([{ "type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=" }]);
    bed.world.tools.think(move |body| match body["Arguments"]["n"].as_u64() {
        Some(0) => ToolAnswer::Json(picture.clone()),
        // What comes in two steps, as a head and a body do, is asked for twice.
        n => {
            let body = ToolAnswer::After(450, Box::new(ToolAnswer::Json(json!({ "n": n }))));
            ToolAnswer::After(450, Box::new(body))
        }
    });
    script(&bed, vec![lookup(0, json!({})), call("fragile", json!({ "n": 1 }))]);
    let heard = bed.post(&turn("t1", "Look"));
    assert_eq!(heard.final_text(), "Answer to Look.");
    let outputs = bed.world.model.conversation().outputs();
    assert_eq!(outputs[1].1, r#"{"n":1}"#, "{outputs:?}");
    assert_eq!(heard.result()["Files"].as_array().unwrap().len(), 1);
    assert_replays(&bed, "files beside a short limit");
}
