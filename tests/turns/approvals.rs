//! A human is asked before a server tool runs (interface §12).

use bed::*;
use serde_json::{Value, json};

use crate::contract::memory::most_held;

/// A session in which a human is asked before `fragile` runs, its arguments being `{to, n?}`.
fn gated(approval: Value) -> Bed {
    let bed = Bed::new();
    gate(&bed, approval);
    bed
}

fn gate(bed: &Bed, approval: Value) {
    bed.configure(|catalog| {
        let tool = &mut catalog["ServerTools"][1];
        tool["Approval"] = approval;
        tool["Parameters"] = json!({
            "properties": { "to": { "type": "string" }, "n": { "type": "integer", "minimum": 1 } },
            "required": ["to"], "additionalProperties": false,
        });
    });
}

fn mail(to: &str) -> Item {
    call("fragile", json!({ "to": to }))
}

/// The model's next outputs.
fn script<const N: usize>(bed: &Bed, outputs: [Vec<Item>; N]) {
    bed.world.model.script(outputs.map(|items| says(items).into()));
}

/// The turn `t1`, paused with one question, and the question's id.
fn asked(bed: &Bed, arguments: Value) -> String {
    script(bed, [vec![call("fragile", arguments)]]);
    let [id] = bed.post(&turn("t1", "Mail")).calls().try_into().unwrap();
    id
}

fn refusal(id: &str, message: &str) -> Value {
    let result = json!({ "ToolCallId": id, "ExecutionMs": 3, "ErrorMessage": message });
    json!({ "SessionId": "s", "TurnId": "t1", "ToolResults": [result] })
}

/// Names, ids and arguments of what the tool service was asked to run.
fn ran(bed: &Bed) -> Vec<(String, Value)> {
    let calls = bed.world.tools.calls().into_iter();
    calls
        .map(|call| (call["ToolCallId"].as_str().unwrap().into(), call["Arguments"].clone()))
        .collect()
}

/// The outputs that the model got, in its order.
fn told(bed: &Bed) -> Vec<String> {
    bed.world.model.conversation().outputs().into_iter().map(|(_, output)| output).collect()
}

fn trace(bed: &Bed) -> Value {
    bed.asked("GET", "/sessions/s/turns/t1/trace", "").result()["ToolCalls"].clone()
}

#[test]
fn an_approved_call_runs_once_after_the_decision_with_the_stored_arguments() {
    let bed = gated(json!({ "When": "Always", "Message": "It leaves the house." }));
    script(&bed, [vec![mail("ann")]]);
    let paused = bed.post(&turn("t1", "Mail"));
    let question = &paused.result()["ToolCalls"][0];
    let id = paused.calls().remove(0);
    let call = id.strip_prefix("apr_").unwrap();
    assert_eq!(question["Name"], "agent_approve_tool");
    assert_eq!(
        question["ArgumentsJson"],
        format!(
            r#"{{"ToolCallId":"{call}","Name":"fragile","Arguments":{{"to":"ann"}},"Message":"It leaves the house.","AllowEdit":false}}"#
        )
    );
    assert_eq!(ran(&bed), []);
    assert_eq!(bed.session().result()["LiveTurn"]["ToolCalls"][0], *question);
    assert_eq!(bed.turn("t1").result()["ToolCalls"][0], *question);
    assert_eq!(trace(&bed)[0]["Approval"], json!({ "Edited": false }));
    let refused = bed.post(&turn("t2", "More"));
    assert_eq!(refused.failure(), (409, "turn_awaiting_tools"));
    assert_eq!(refused.details()["ToolCalls"][0], *question);

    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 8_200);
    let heard = bed.post(&results("t1", &[(&id, json!({ "Approved": true }))]));
    assert_eq!(heard.final_text(), "Answer to Mail.");
    assert_eq!(ran(&bed), [(call.to_owned(), json!({ "to": "ann" }))]);
    assert_eq!(heard.result()["ToolResults"][0]["ToolCallId"], call);
    assert_eq!(told(&bed), [json!({ "found": call }).to_string()]);
    let traced = trace(&bed);
    assert_eq!(traced[0]["RunsOn"], "server");
    let approval = &traced[0]["Approval"];
    assert_eq!((&approval["Decision"], &approval["Edited"]), (&json!("approved"), &json!(false)));
    assert_eq!(approval["DecidedBy"], "key:none");
    assert!(approval["WaitedMs"].as_u64().unwrap() >= 8_200, "{approval}");
    let log = bed.world.log.borrow();
    let line = log.iter().find(|line| line["event"] == "approval").unwrap();
    assert_eq!((&line["key"], &line["decision"]), (&json!("none"), &json!("approved")));
    assert_eq!((&line["call"], &line["tool"]), (&json!(call), &json!("fragile")));
    assert!(!line.to_string().contains("ann"), "{line}");
    drop(log);
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "approved");
}

#[test]
fn a_refused_call_never_runs_and_the_model_hears_why() {
    let said = |reason: &str| {
        json!({ "error": format!("The user refused this call.{reason} Do not repeat it.") })
            .to_string()
    };
    for (answer, reason) in [
        (json!({ "Approved": false }), ""),
        (json!({ "Approved": false, "Reason": "wrong recipient." }), " Reason: wrong recipient."),
        (json!({ "Approved": false, "Reason": " " }), ""),
    ] {
        let bed = gated(json!("Always"));
        let id = asked(&bed, json!({ "to": "ann" }));
        let heard = bed.post(&results("t1", &[(&id, answer)]));
        assert_eq!(heard.final_text(), "Answer to Mail.");
        assert_eq!((ran(&bed), told(&bed)), (vec![], vec![said(reason)]));
        assert_eq!(heard.result().get("ToolResults"), None);
        let traced = trace(&bed);
        assert_eq!(
            (&traced[0]["RunsOn"], &traced[0]["Successful"]),
            (&json!("nobody"), &json!(false))
        );
        assert_eq!(traced[0]["Approval"]["Decision"], "refused");
        super::replays::assert_replays(&bed, "refused");
    }
    // A client of today answers to any unknown tool in this way.
    let bed = gated(json!("Always"));
    let id = asked(&bed, json!({ "to": "ann" }));
    let heard = bed.post(&refusal(&id, "There is no tool agent_approve_tool"));
    assert_eq!(heard.final_text(), "Answer to Mail.");
    let reason = " Reason: There is no tool agent_approve_tool.";
    assert_eq!((ran(&bed), told(&bed)), (vec![], vec![said(reason)]));
    bed.assert_chain_held();
}

#[test]
fn one_pause_holds_the_client_s_calls_and_all_questions_in_the_model_s_order() {
    let bed = gated(json!("Always"));
    let paused = bed.post(&turn("t1", "Both [plan: gated]"));
    let asked = paused.calls();
    let free = ran(&bed);
    assert_eq!(free.len(), 1, "what needs no approval has run: {free:?}");
    let names: Vec<&Value> =
        paused.result()["ToolCalls"].as_array().unwrap().iter().map(|call| &call["Name"]).collect();
    assert_eq!(names, ["agent_approve_tool", "ask", "agent_approve_tool"]);
    let wrong = [(asked[1].as_str(), json!(1)), (&asked[0], json!({ "Approved": true }))];
    assert_eq!(bed.post(&results("t1", &wrong)).failure(), (409, "tool_results_mismatch"));
    let yes = json!({ "Approved": true });
    let given = [(asked[0].as_str(), yes.clone()), (&asked[1], json!("own")), (&asked[2], yes)];
    let heard = bed.post(&results("t1", &given));
    assert_eq!(heard.final_text(), "Answer to Both.");
    let later: Vec<String> =
        ran(&bed).into_iter().skip(1).map(|(id, _)| format!("apr_{id}")).collect();
    assert_eq!(later, [asked[0].as_str(), &asked[2]]);
    let output = |apr: &str| json!({ "found": apr.strip_prefix("apr_") }).to_string();
    let found = json!({ "found": free[0].0 }).to_string();
    assert_eq!(told(&bed), [output(&asked[0]), found, "\"own\"".to_owned(), output(&asked[2])]);
    assert_eq!(heard.result()["ToolResults"].as_array().unwrap().len(), 3);
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "mixed");
}

#[test]
fn no_question_has_the_id_of_another_call_of_its_turn() {
    for ids in [["Z", "apr_Z", "apr_Z", "Z"], ["apr_Z", "Z", "Z", "apr_Z"]] {
        let bed = gated(json!("Always"));
        bed.world.model.call_ids.borrow_mut().extend(ids);
        let own = |at: usize| match ids[at].starts_with("apr_") {
            true => call("ask", json!({ "at": at })),
            false => mail("ann"),
        };
        // The ids of the first output stay taken when its calls are answered.
        script(&bed, [vec![own(0), own(1)], vec![own(2), own(3)]]);
        let mut asked = Vec::new();
        let mut heard = bed.post(&turn("t1", "Both"));
        for _ in 0..2 {
            let calls = heard.calls();
            let answers: Vec<(&str, Value)> = heard.result()["ToolCalls"]
                .as_array()
                .unwrap()
                .iter()
                .zip(&calls)
                .map(|(call, id)| match call["Name"] == "agent_approve_tool" {
                    true => (id.as_str(), json!({ "Approved": true })),
                    false => (id.as_str(), json!("own")),
                })
                .collect();
            heard = bed.post(&results("t1", &answers));
            asked.extend(calls.clone());
        }
        assert_eq!(heard.final_text(), "Answer to Both.");
        let ran = ran(&bed).into_iter().map(|(id, _)| id);
        let known: Vec<String> = asked.iter().cloned().chain(ran).collect();
        let unique: std::collections::BTreeSet<&String> = known.iter().collect();
        assert_eq!((asked.len(), unique.len()), (4, known.len()), "{known:?}");
        bed.assert_chain_held();
        super::replays::assert_replays(&bed, "ids");
    }
}

#[test]
fn a_decision_that_is_sent_many_times_has_one_effect_and_one_answer() {
    let bed = gated(json!("Always"));
    let id = asked(&bed, json!({ "to": "ann" }));
    let request = results("t1", &[(&id, json!({ "Approved": true }))]);
    let at_once: Vec<_> = (0..3).map(|_| bed.send(&request)).collect();
    let heard: Vec<_> = at_once.iter().map(|sent| bed.wait(sent).unwrap().text).collect();
    let again = bed.post(&request);
    assert!(again.replayed && heard.iter().all(|text| *text == again.text));
    assert_eq!(ran(&bed).len(), 1);
    let other = results("t1", &[(&id, json!({ "Approved": false }))]);
    assert_eq!(bed.post(&other).failure(), (409, "turn_conflict"));
}

#[test]
fn a_faulty_decision_is_named_with_its_place_and_changes_nothing() {
    let bed = gated(json!("Always"));
    let asked = bed.post(&turn("t1", "Both [plan: gated]")).calls();
    let answer = |first: Value, last: Value| {
        results("t1", &[(&asked[0], first), (&asked[1], json!(0)), (&asked[2], last)])
    };
    let before = bed.disk.writes.get();
    for faulty in [
        json!("yes"),
        json!({}),
        json!({ "Approved": "true" }),
        json!({ "Approved": true, "Always": true }),
        json!({ "Approved": true, "Arguments": { "to": "eve" } }),
        json!({ "Approved": false, "Reason": ["no"] }),
    ] {
        let heard = bed.post(&answer(json!({ "Approved": true }), faulty.clone()));
        assert_eq!(heard.failure(), (400, "invalid_field"), "{faulty}");
        assert_eq!(heard.body["Errors"][0]["Path"], "/ToolResults/2/ResultJson");
        let heard = bed.post(&answer(faulty.clone(), faulty));
        assert_eq!(heard.body["Errors"].as_array().unwrap().len(), 2, "{}", heard.text);
    }
    assert_eq!((bed.disk.writes.get(), ran(&bed).len()), (before, 1));
    assert_eq!(bed.status("t1"), "awaiting_tools");
    let right = answer(json!({ "Approved": true }), json!({ "Approved": false }));
    bed.post(&right).final_text();
    assert_eq!(ran(&bed).len(), 2);
}

#[test]
fn edited_arguments_run_in_place_of_the_model_s_where_the_tool_permits_it() {
    let bed = gated(json!({ "When": "Always", "AllowEdit": true }));
    let id = asked(&bed, json!({ "to": "ann" }));
    let edited = |arguments: Value| {
        results("t1", &[(&id, json!({ "Approved": true, "Arguments": arguments }))])
    };
    for (arguments, problem) in [
        (json!([]), "must hold Arguments as an object"),
        (json!({ "n": 1 }), "Arguments must keep to \"required\": [\"to\"]"),
        (json!({ "to": 7 }), "Arguments.to must keep to \"type\": \"string\""),
        (json!({ "to": "bob", "n": 0 }), "Arguments.n must keep to \"minimum\": 1"),
        (json!({ "to": "bob", "cc": "eve" }), "Arguments.cc is not permitted"),
    ] {
        let heard = bed.post(&edited(arguments));
        assert_eq!(heard.failure(), (400, "invalid_field"));
        let message = heard.body["Errors"][0]["Message"].as_str().unwrap();
        assert!(message.contains(problem), "{message}");
    }
    // What two readers may take for different values is no edit.
    for arguments in [
        r#"{"to":"eve","to":"bob"}"#,
        r#"{"to":"bob","n":9007199254740993}"#,
        r#"{"to":"bob","n":1e400}"#,
    ] {
        let mut request = edited(json!({}));
        let answer = format!(r#"{{"Approved":true,"Arguments":{arguments}}}"#);
        request["ToolResults"][0]["ResultJson"] = json!(answer);
        let heard = bed.post(&request);
        assert_eq!(heard.failure(), (400, "invalid_field"));
        let error = &heard.body["Errors"][0];
        assert_eq!(error["Path"], "/ToolResults/0/ResultJson");
        let rule = "no member named twice and no number that a double cannot hold";
        assert!(error["Message"].as_str().unwrap().contains(rule), "{error}");
    }
    bed.restart();
    // The schema is the one that the model was shown.
    bed.configure(|_| ());
    bed.post(&edited(json!({ "to": "bob", "n": 2 }))).final_text();
    let call = id.strip_prefix("apr_").unwrap().to_owned();
    assert_eq!(ran(&bed), [(call, json!({ "to": "bob", "n": 2 }))]);
    assert_eq!(trace(&bed)[0]["Approval"]["Edited"], true);
    let exported = &bed.export()["Result"]["Turns"][0]["ToolCalls"][0];
    assert_eq!(exported["ArgumentsJson"], r#"{"to":"ann"}"#);
    assert_eq!(exported["Approval"]["ArgumentsJson"], r#"{"n":2,"to":"bob"}"#);
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "edited");
}

#[test]
fn edited_arguments_cost_a_few_times_their_bytes_of_memory_however_many_values_they_hold() {
    let bed = gated(json!({ "When": "Always", "AllowEdit": true }));
    let id = asked(&bed, json!({ "to": "ann" }));
    let many = |unit: &str| vec![unit; 1_000_000 / (unit.len() + 1)].join(",");
    for list in [format!("[{}]", many(r#"{"":0}"#)), format!("[{}]", many("[]"))] {
        let answer = format!(r#"{{"Approved":true,"Arguments":{{"to":"bob","n":{list}}}}}"#);
        let mut request = results("t1", &[(&id, json!(1))]);
        request["ToolResults"][0]["ResultJson"] = json!(answer);
        let (heard, held) = most_held(|| bed.post(&request));
        let message = heard.body["Errors"][0]["Message"].as_str().unwrap();
        assert!(message.contains("Arguments.n must keep to"), "{message}");
        assert!(held < 12 * list.len(), "{held} bytes");
    }
}

#[test]
fn the_edits_of_a_turn_are_not_read_at_once() {
    const QUESTIONS: usize = 8;
    let bed = gated(json!({ "When": "Always", "AllowEdit": true }));
    let calls: Vec<_> = (0..QUESTIONS).map(|_| says(vec![mail("ann")]).into()).collect();
    bed.world.model.script(calls);
    let mut heard = bed.post(&turn("t1", "Mail"));
    bed.disk.watch();
    for question in 0..QUESTIONS {
        let id = heard.calls().remove(0);
        let to = format!("{question} {}", "x".repeat(400_000));
        let answer = json!({ "Approved": true, "Arguments": { "to": to } });
        heard = bed.post(&results("t1", &[(&id, answer)]));
    }
    heard.final_text();
    assert_eq!(ran(&bed).len(), QUESTIONS);
    for (statement, seen) in bed.disk.statements() {
        assert!(seen.most_bytes < 600_000, "{statement}: {seen:?}");
    }
}

#[test]
fn a_refused_call_that_the_model_makes_again_in_its_turn_is_refused_unasked() {
    let bed = gated(json!("Always"));
    let raw = |arguments: &str| Item::Call { name: "fragile".into(), arguments: arguments.into() };
    script(
        &bed,
        [
            vec![raw(r#"{"to":"ann","n":1}"#)],
            vec![raw(r#"{ "n": 1.0, "to": "\u0061nn" }"#)],
            vec![raw(r#"{"to":"ann","n":2}"#)],
        ],
    );
    let first = bed.post(&turn("t1", "Mail")).calls().remove(0);
    let second =
        bed.post(&results("t1", &[(&first, json!({ "Approved": false }))])).calls().remove(0);
    let asked =
        bed.turn("t1").result()["ToolCalls"][0]["ArgumentsJson"].as_str().unwrap().to_owned();
    assert!(asked.contains(r#""n":2"#), "{asked}");
    bed.post(&results("t1", &[(&second, json!({ "Approved": true }))])).final_text();
    assert_eq!(ran(&bed).len(), 1);
    let refused = r#"{"error":"The user refused this call. Do not repeat it."}"#;
    assert_eq!(told(&bed)[..2], [refused, refused]);
    // A refusal holds for its turn.
    script(&bed, [vec![raw(r#"{"to":"ann","n":1}"#)]]);
    assert_eq!(bed.post(&turn("t2", "Mail")).calls().len(), 1);
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "repeated");
}

#[test]
fn a_call_that_nobody_can_read_goes_back_to_the_model_unasked() {
    let bed = gated(json!("Always"));
    let raw = Item::Call { name: "fragile".into(), arguments: r#"{"to":"#.into() };
    script(&bed, [vec![raw]]);
    assert_eq!(bed.post(&turn("t1", "Mail")).final_text(), "Answer to Mail.");
    assert_eq!(ran(&bed), []);
    assert!(told(&bed)[0].contains("not valid JSON"), "{:?}", told(&bed));
    assert_eq!(trace(&bed)[0].get("Approval"), None);
    // Readers differ in which of two members of one name they take, and in what they make of a number that a
    // double cannot hold.
    for arguments in [
        r#"{"to":"eve","to":"ann"}"#,
        r#"{"to":"a","n":[{"m":1,"\u006d":2}]}"#,
        r#"{"to":"a","n":12345678901234567890}"#,
        r#"{"to":"a","n":[1e400]}"#,
    ] {
        let odd = Item::Call { name: "fragile".into(), arguments: arguments.into() };
        script(&bed, [vec![odd]]);
        bed.post(&turn(&format!("t{}", arguments.len()), "Mail")).final_text();
        assert_eq!(ran(&bed), []);
        let why = "name a member twice, or hold a number that a double cannot hold";
        assert!(told(&bed).last().unwrap().contains(why), "{:?}", told(&bed));
    }
    // A call without any is readable.
    let none = Item::Call { name: "fragile".into(), arguments: String::new() };
    script(&bed, [vec![none]]);
    let paused = bed.post(&turn("t2", "Mail"));
    let asked = paused.result()["ToolCalls"][0]["ArgumentsJson"].as_str().unwrap();
    assert!(asked.contains(r#""Arguments":{},"AllowEdit":false}"#), "{asked}");
}

#[test]
fn what_the_turn_began_with_decides_who_is_asked() {
    let bed = gated(json!("Always"));
    script(&bed, [vec![mail("ann")], vec![mail("bob")]]);
    let first = bed.post(&turn("t1", "Mail")).calls().remove(0);
    bed.restart();
    bed.configure(|_| ());
    // Nobody would be asked any more, and this turn still asks.
    let second =
        bed.post(&results("t1", &[(&first, json!({ "Approved": true }))])).calls().remove(0);
    bed.post(&results("t1", &[(&second, json!({ "Approved": false }))])).final_text();
    assert_eq!(ran(&bed).len(), 1);
    script(&bed, [vec![mail("ann")], vec![call("ask", json!({}))], vec![mail("bob")]]);
    let paused = bed.post(&turn("t2", "Mail")).calls();
    gate(&bed, json!("Always"));
    bed.post(&results("t2", &[(&paused[0], json!(1))])).final_text();
    assert_eq!(ran(&bed).len(), 3);
    bed.assert_chain_held();
}

#[test]
fn the_end_of_a_waiting_turn_is_the_end_of_its_questions() {
    let ends: [fn(&Bed); 2] = [
        |bed| assert_eq!(bed.try_cancel("t1").unwrap().result()["Status"], "aborted"),
        |bed| {
            bed.try_erase().unwrap().result();
        },
    ];
    for (end, code) in ends.into_iter().zip(["turn_aborted", "session_not_found"]) {
        let bed = gated(json!("Always"));
        let id = asked(&bed, json!({ "to": "ann" }));
        end(&bed);
        let late = bed.post(&results("t1", &[(&id, json!({ "Approved": true }))]));
        assert_eq!(late.failure().1, code);
        bed.post(&turn("t2", "Next")).final_text();
        assert_eq!(ran(&bed), []);
        bed.assert_chain_held();
        if code == "turn_aborted" {
            assert_eq!(
                told(&bed),
                [r#"{"error":"The tool was not executed: the turn was cancelled."}"#]
            );
            let exported = &bed.export()["Result"]["Turns"][0]["ToolCalls"][0];
            assert_eq!(exported["Approval"], json!({ "AllowEdit": false }));
            super::replays::assert_replays(&bed, "cancelled");
        }
    }
}

#[test]
fn an_approved_call_whose_tool_fails_the_turn_runs_again_with_the_repeat_unasked() {
    let bed = Bed::new();
    bed.configure(|catalog| catalog["ServerTools"][0]["Approval"] = json!("Always"));
    script(&bed, [vec![call("lookup", json!({}))]]);
    let id = bed.post(&turn("t1", "Look")).calls().remove(0);
    bed.world.tools.script([ToolAnswer::Status(500)]);
    let request = results("t1", &[(&id, json!({ "Approved": true }))]);
    assert_eq!(bed.post(&request).failure(), (500, "server_tool_failed"));
    assert_eq!(bed.post(&request).final_text(), "Answer to Look.");
    assert_eq!(bed.world.tools.executions().into_values().collect::<Vec<_>>(), [2]);
    bed.assert_chain_held();
}

#[test]
fn nobody_but_the_service_has_a_tool_of_that_name() {
    let bed = gated(json!("Always"));
    let own = json!([
        { "type": "function", "name": "agent_approve_tool" }, { "type": "function", "name": "own" },
    ]);
    script(&bed, [vec![call("agent_approve_tool", json!({ "Approved": true }))]]);
    let request = with(turn("t1", "Try"), json!({ "ToolsJson": own.to_string() }));
    let heard = bed.post(&request);
    assert_eq!(heard.final_text(), "Answer to Try.");
    assert_eq!(heard.body["Warnings"][0]["ErrorCode"], "tool_reserved");
    let bodies = bed.world.model.bodies();
    let offered = super::names(&bodies[0]);
    assert!(offered.contains(&"own") && !offered.contains(&"agent_approve_tool"), "{offered:?}");
    assert!(told(&bed)[0].contains("There is no tool agent_approve_tool"), "{:?}", told(&bed));
    let chosen = with(turn("t2", "Try"), json!({ "ToolChoiceName": "agent_approve_tool" }));
    assert_eq!(bed.post(&chosen).failure(), (400, "invalid_field"));
}

#[test]
fn no_more_than_a_hundred_wrong_decisions_are_listed() {
    let bed = gated(json!({ "When": "Always" }));
    script(&bed, [(0..150).map(|n| mail(&format!("to {n}"))).collect()]);
    let ids = bed.post(&turn("t1", "Mail")).calls();
    let wrong: Vec<(&str, Value)> = ids.iter().map(|id| (id.as_str(), json!(7))).collect();
    let heard = bed.post(&results("t1", &wrong));
    assert_eq!(heard.failure(), (400, "invalid_field"));
    let faults = heard.body["Errors"].as_array().unwrap();
    assert_eq!(faults.len(), 101);
    assert_eq!(faults[99]["Path"], "/ToolResults/99/ResultJson");
    assert_eq!(
        (&faults[100]["ErrorCode"], faults[100].get("Path")),
        (&json!("invalid_field"), None)
    );
}
