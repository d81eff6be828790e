//! Client tools are latched once the model service has taken them, and a refusal says which one it means
//! (interface §2 and §3).

use serde_json::json;

use super::*;

const LEFT_OUT: &str = "The answer was given without the tools that came with an earlier message: the model did not get or did not take them.";

fn named(name: &str) -> Value {
    json!({ "type": "function", "name": name })
}

/// What the user is told beside the answer.
fn user_warnings(heard: &Heard) -> Vec<String> {
    heard.final_text();
    let warnings = heard.result().get("UserWarnings").cloned().unwrap_or_else(|| json!([]));
    serde_json::from_value(warnings).unwrap()
}

fn bringing(id: &str, tools: &[Value]) -> Value {
    with(turn(id, "Hello"), json!({ "ToolsJson": Value::from(tools).to_string() }))
}

fn many(count: usize) -> Vec<Value> {
    (0..count).map(|number| named(&format!("tool_{number}"))).collect()
}

/// The names that the newest request offered.
fn offered(bed: &Bed) -> Vec<String> {
    let body = bed.world.model.bodies().pop().unwrap();
    names(&body).into_iter().map(str::to_owned).collect()
}

#[test]
fn tools_that_the_service_refuses_are_named_and_not_latched() {
    let refusals = [
        json!({ "param": "tools[1].parameters", "code": "invalid_function_parameters" }),
        json!({ "message": "Invalid schema for function 'bad': In context=(), 'x' is not valid." }),
    ];
    for refusal in refusals {
        let bed = Bed::new();
        bed.post(&bringing("t1", &[named("good")])).final_text();
        // The second one is the server's own, so the third one is sent in the second place.
        let tools = [named("fine"), named("lookup"), named("bad")];
        bed.world.model.script([http_error(400, refusal, &[])]);
        let heard = bed.post(&bringing("t2", &tools));
        assert_eq!(heard.failure(), (502, "upstream_rejected"));
        let error = &heard.body["Errors"][0];
        assert_eq!(
            (&error["Path"], &error["Details"]["Tool"]),
            (&"/ToolsJson".into(), &"bad".into())
        );
        assert!(error["Message"].as_str().unwrap().contains("tools[2], bad"), "{error}");
        bed.restart();
        assert_eq!(user_warnings(&bed.post(&turn("t3", "Next"))), [LEFT_OUT]);
        assert_eq!(offered(&bed)[0], "good");
        assert_eq!(bed.world.model.conversation().heard("Hello"), 2, "the words stay");
        // Until others come.
        assert_eq!(user_warnings(&bed.post(&turn("t4", "Next"))), [LEFT_OUT]);
        assert_eq!(user_warnings(&bed.post(&bringing("t5", &[named("better")]))), [""; 0]);
        assert_eq!(user_warnings(&bed.post(&turn("t6", "Next"))), [""; 0]);
        assert_eq!(offered(&bed)[0], "better");
    }
}

#[test]
fn tools_that_the_service_took_and_refuses_later_are_not_kept_either() {
    let refusal = || http_error(400, json!({ "param": "tools[1].parameters" }), &[]);
    for in_its_own_turn in [false, true] {
        let bed = Bed::new();
        let tools = [named("good"), named("bad")];
        if in_its_own_turn {
            let server_call = says(vec![call("lookup", json!({}))]).into();
            bed.world.model.script([server_call, refusal()]);
            assert_eq!(bed.post(&bringing("t1", &tools)).failure(), (502, "upstream_rejected"));
        } else {
            bed.post(&bringing("t1", &tools)).final_text();
            bed.world.model.script([refusal()]);
            let heard = bed.post(&turn("t2", "Next"));
            assert_eq!(heard.failure(), (502, "upstream_rejected"));
            let error = &heard.body["Errors"][0];
            assert_eq!((error.get("Path"), &error["Details"]["Tool"]), (None, &"bad".into()));
        }
        bed.restart();
        assert_eq!(user_warnings(&bed.post(&turn("t3", "Next"))), [LEFT_OUT]);
        assert_eq!(offered(&bed)[0], "ask");
        bed.post(&bringing("t4", &[named("better")])).final_text();
        assert_eq!(user_warnings(&bed.post(&turn("t5", "Next"))), [""; 0]);
        assert_eq!(offered(&bed)[0], "better");
    }
}

#[test]
fn a_tool_of_the_operator_s_that_is_refused_is_named_without_a_place() {
    let bed = Bed::new();
    bed.world.model.script([http_error(400, json!({ "param": "tools.1.parameters" }), &[])]);
    let heard = bed.post(&turn("t1", "Hello"));
    let error = &heard.body["Errors"][0];
    assert_eq!((error.get("Path"), &error["Details"]["Tool"]), (None, &"lookup".into()));
}

#[test]
fn tools_are_latched_by_the_first_output_and_an_older_turn_replaces_none() {
    let bed = Bed::new();
    let older = bringing("t1", &[named("older")]);
    bed.world.model.spoil_after(0, http_error(500, json!({}), &[]));
    bed.post(&older).failure();
    bed.world.model.mend();
    bed.post(&turn("t2", "Next")).final_text();
    assert_eq!(offered(&bed)[0], "ask");
    bed.post(&older).final_text();
    bed.post(&turn("t3", "Next")).final_text();
    assert_eq!(offered(&bed)[0], "older");

    let bed = Bed::new();
    bed.world.model.spoil_after(0, http_error(500, json!({}), &[]));
    bed.post(&older).failure();
    bed.world.model.mend();
    bed.post(&bringing("t2", &[named("newer")])).final_text();
    bed.post(&older).final_text();
    bed.post(&turn("t3", "Next")).final_text();
    assert_eq!(offered(&bed)[0], "newer");
}

#[test]
fn tools_that_do_not_fit_into_the_window_spoil_one_turn() {
    let bed = Bed::new();
    bed.post(&turn("t1", "One")).final_text();
    let too_long = || http_error(400, json!({ "code": "context_length_exceeded" }), &[]);
    bed.world.model.spoil_after(0, too_long());
    let heard = bed.post(&bringing("t2", &[named("long")]));
    assert_eq!(heard.failure(), (413, "context_window_exceeded"));
    bed.world.model.mend();
    bed.post(&turn("t3", "Next")).final_text();
    assert_eq!(offered(&bed)[0], "ask");
}

#[test]
fn a_turn_has_at_most_128_tools_in_all() {
    let bed = Bed::new();
    // The bed's mode has four of the server's.
    let before = bed.disk.writes.get();
    let heard = bed.post(&bringing("t1", &many(125)));
    assert_eq!(heard.failure(), (400, "invalid_field"));
    let error = &heard.body["Errors"][0];
    assert_eq!(error["Path"], "/ToolsJson");
    assert!(error["Message"].as_str().unwrap().ends_with("ToolsJson has room for 124."), "{error}");
    assert_eq!((bed.world.model.requests(), bed.disk.writes.get()), (0, before));
    bed.post(&bringing("t1", &many(124))).final_text();
    // Faults that only the session finds stand in the order of the body, too.
    let tools = bringing("t2", &many(125))["ToolsJson"].to_string();
    let other = with(turn("t2", "Hello"), json!({ "ConversationContextId": "other" })).to_string();
    let body = format!("{{\"ToolsJson\":{tools},{}", other.strip_prefix('{').unwrap());
    let faults = bed.wait(&bed.ask("POST", "/execute", &[], &body)).unwrap().body["Errors"].clone();
    let places: Vec<_> = faults.as_array().unwrap().iter().map(|fault| &fault["Path"]).collect();
    assert_eq!(places, ["/ToolsJson", "/ConversationContextId"]);
    assert_eq!(offered(&bed).len(), 128);

    // The operator adds one: what is latched gives way, with a warning.
    bed.configure(|catalog| {
        let mut tool = catalog["ServerTools"][0].clone();
        tool["Name"] = "added".into();
        catalog["ServerTools"].as_array_mut().unwrap().push(tool);
        catalog["Modes"][0]["Tools"].as_array_mut().unwrap().push("added".into());
    });
    let heard = bed.post(&turn("t2", "Next"));
    heard.final_text();
    let offered = offered(&bed);
    assert_eq!((offered.len(), offered[122].as_str()), (128, "tool_122"));
    let warning = &heard.body["Warnings"][0];
    assert_eq!(warning["ErrorCode"], "tool_left_out");
    assert!(warning["Message"].as_str().unwrap().starts_with("The tool tool_123 was left out"));
}
