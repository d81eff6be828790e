//! Approvals and forks (interface §12): a decision runs one call once, in one session.

use std::collections::BTreeSet;

use super::*;

/// A session in which a human is asked before `fragile` runs, and `fragile` fails the turn.
fn gated() -> Bed {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["ServerTools"][1]["Approval"] = json!({ "When": "Always", "AllowEdit": true });
        catalog["ServerTools"][1]["OnError"] = json!("FailTurn");
    });
    bed
}

/// The sessions whose calls the tools got, with the ids of the calls and their arguments.
fn ran(bed: &Bed) -> Vec<(String, String, Value)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let calls = bed.world.tools.calls().into_iter();
    calls
        .map(|call| {
            (text(&call["SessionId"]), text(&call["ToolCallId"]), call["Arguments"].clone())
        })
        .collect()
}

/// The decision about one question.
fn decision(session: &str, question: &str, decided: Value) -> Value {
    with(results("t1", &[(question, decided)]), json!({ "SessionId": session }))
}

/// The turn `t1` of `p`, whose approved call was run and gave no result; the id of the question.
fn failed_run(bed: &Bed, decided: Value) -> String {
    let question = bed.say("p", "t1", "Mail [plan: fragile]").calls().remove(0);
    bed.world.tools.script([ToolAnswer::Status(500)]);
    let failed = bed.post(&decision("p", &question, decided));
    assert_eq!(failed.failure(), (500, "server_tool_failed"));
    question
}

fn fork(bed: &Bed, parent: &str, new: &str) {
    let body = json!({ "SessionId": new }).to_string();
    assert_eq!(bed.asked("POST", &format!("/sessions/{parent}/fork"), &body).status, 201);
}

#[test]
fn an_approved_call_without_a_result_is_asked_anew_in_a_fork_and_runs_by_a_new_decision_alone() {
    let bed = gated();
    let yes = json!({ "Approved": true });
    let first = failed_run(&bed, json!({ "Approved": true, "Arguments": { "to": "eve" } }));
    let call = first.strip_prefix("apr_").unwrap().to_owned();
    fork(&bed, "p", "f");
    fork(&bed, "f", "g");

    let edited = json!({ "Approved": true, "Arguments": { "to": "eve" } });
    for session in ["f", "g"] {
        assert_eq!(bed.look(session, "/turns/t1")["Status"], "failed");
        let paused = bed.post(&decision(session, &first, edited.clone()));
        assert_eq!(paused.status, 200, "{}", paused.text);
        let asked = paused.result()["ToolCalls"].as_array().unwrap().clone();
        assert_eq!((asked.len(), &asked[0]["Name"]), (1, &json!("agent_approve_tool")));
        assert_ne!(asked[0]["ToolCallId"], first, "it is another question");
        assert!(asked[0]["ArgumentsJson"].as_str().unwrap().contains(&format!("{call:?}")));
        let again = bed.post(&decision(session, &first, edited.clone()));
        assert!(again.replayed && again.text == paused.text, "{}", again.text);
        assert_eq!(ran(&bed).len(), 1, "an earlier decision runs nothing");
        let traced = bed.look(session, "/turns/t1/trace");
        assert_eq!(traced["ToolCalls"][0]["Approval"], json!({ "Edited": false }));
    }
    // The new decision may have the same content as the earlier one, but for the question.
    let question =
        bed.look("f", "/turns/t1")["ToolCalls"][0]["ToolCallId"].as_str().unwrap().to_owned();
    bed.world.tools.script([ToolAnswer::Status(500)]);
    let failed = bed.post(&decision("f", &question, edited.clone()));
    assert_eq!(failed.failure(), (500, "server_tool_failed"));
    assert_eq!(ran(&bed)[1], ("f".to_owned(), call.clone(), json!({ "to": "eve" })));

    // The fork of a fork that has decided asks a third time, and no earlier answer answers.
    fork(&bed, "f", "h");
    let paused = bed.post(&decision("h", &question, edited.clone()));
    let third = paused.calls().remove(0);
    assert!(third != question && third != first, "{third}");
    for earlier in [&first, &question] {
        assert_eq!(bed.post(&decision("h", earlier, yes.clone())).failure().0, 409);
    }
    assert_eq!(ran(&bed).len(), 2);
    bed.post(&decision("h", &third, yes.clone())).final_text();
    assert_eq!(ran(&bed)[2], ("h".to_owned(), call, json!({})), "the edit stays behind, too");

    // Where the human refuses, nothing runs; the parent's own repeat runs what was approved there.
    let question =
        bed.look("g", "/turns/t1")["ToolCalls"][0]["ToolCallId"].as_str().unwrap().to_owned();
    bed.post(&decision("g", &question, json!({ "Approved": false }))).final_text();
    assert_eq!(ran(&bed).len(), 3);
    bed.post(&decision("p", &first, edited)).final_text();
    assert_eq!(ran(&bed).len(), 4);
    bed.assert_chain_held();
}

#[test]
fn a_repeat_of_the_user_turn_asks_anew_in_a_fork_too_as_nobody_can_answer_the_earlier_question() {
    let bed = gated();
    let yes = json!({ "Approved": true });
    let turn_in =
        |session: &str| with(turn("t1", "Mail [plan: fragile]"), json!({ "SessionId": session }));
    let mut asked = BTreeSet::from([failed_run(&bed, yes.clone())]);
    for (parent, new) in [("p", "f"), ("f", "g"), ("g", "h")] {
        fork(&bed, parent, new);
        let paused = bed.post(&turn_in(new));
        assert!(!paused.replayed, "{}", paused.text);
        let question = paused.calls().remove(0);
        assert!(asked.insert(question.clone()), "{question} was put before");
        let again = bed.post(&turn_in(new));
        assert!(again.replayed && again.text == paused.text, "{}", again.text);
        if new == "h" {
            bed.post(&decision(new, &question, yes.clone())).final_text();
        } else {
            bed.world.tools.script([ToolAnswer::Status(500)]);
            let failed = bed.post(&decision(new, &question, yes.clone()));
            assert_eq!(failed.failure(), (500, "server_tool_failed"));
        }
        // In its own session a submission keeps the response that it got.
        let later = bed.post(&turn_in(new));
        assert!(later.replayed && later.text == paused.text, "{}", later.text);
    }
    assert_eq!(ran(&bed).len(), 4);
    assert!(bed.post(&turn_in("p")).replayed, "the parent has its own question");
    bed.assert_chain_held();
}

#[test]
fn a_fork_that_goes_on_with_another_turn_tells_the_model_that_the_call_may_have_run() {
    let bed = gated();
    failed_run(&bed, json!({ "Approved": true }));
    fork(&bed, "p", "f");
    bed.say("f", "t2", "Next").final_text();
    let outputs = bed.world.model.conversation().outputs();
    assert!(outputs[0].1.contains("It is not known whether the tool was executed"), "{outputs:?}");
    assert_eq!(ran(&bed).len(), 1);
    bed.assert_chain_held();
}

#[test]
fn a_call_that_nobody_has_to_approve_runs_in_a_fork_under_its_own_id() {
    let bed = Bed::new();
    bed.world.tools.script([ToolAnswer::Status(500)]);
    let request =
        |session: &str| with(turn("t1", "Look [plan: server]"), json!({ "SessionId": session }));
    assert_eq!(bed.post(&request("p")).failure(), (500, "server_tool_failed"));
    fork(&bed, "p", "f");
    bed.post(&request("f")).final_text();
    let ran = ran(&bed);
    assert_eq!((ran.len(), &ran[0].1), (2, &ran[1].1));
    bed.assert_chain_held();
}

#[test]
fn a_tool_of_an_mcp_server_is_asked_about_anew_in_a_fork() {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["McpServers"] = json!({ "docs": {
            "Url": "https://docs.example/mcp", "Approval": { "*": "Always" }, "OnError": "FailTurn",
        }});
        catalog["Modes"][0]["Tools"] = json!(["docs/*"]);
    });
    let question = bed.say("p", "t1", "Search [plan: mcp]").calls().remove(0);
    bed.world.mcp.state.set(McpState::Down(500));
    let yes = json!({ "Approved": true });
    let failed = bed.post(&decision("p", &question, yes.clone()));
    assert_eq!(failed.failure(), (500, "server_tool_failed"));
    bed.world.mcp.state.set(McpState::Modern);
    let before = bed.world.mcp.count("tools/call");
    fork(&bed, "p", "f");
    let asked = bed.post(&decision("f", &question, yes.clone())).calls().remove(0);
    assert_eq!(bed.world.mcp.count("tools/call"), before);
    bed.post(&decision("f", &asked, yes)).final_text();
    assert_eq!(bed.world.mcp.count("tools/call"), before + 1);
}

#[test]
fn a_fork_that_is_cut_at_any_step_runs_nothing_before_its_own_decision() {
    let kinds: [fn(&Disk, u64) -> Crash; 2] = [
        |disk, number| Crash::AfterStep(disk.steps.get() + number),
        |disk, number| Crash::BeforeWrite(disk.writes.get() + number),
    ];
    let yes = json!({ "Approved": true });
    let mut points = 0;
    for (kind, by_alarm) in kinds.iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        for number in 1.. {
            let bed = gated();
            let first = failed_run(&bed, yes.clone());
            let point = kind(&bed.object("f").disk, number);
            bed.object("f").restart_to_crash(&bed.world, Some(point));
            let was_cut = |bed: &Bed| bed.object("f").has_ended();
            let mut cut = false;
            // Whatever is cut is sent again.
            let send = |request: &dyn Fn() -> Heard, cut: &mut bool| {
                let heard = request();
                if *cut || !was_cut(&bed) {
                    return heard;
                }
                *cut = true;
                if by_alarm {
                    bed.pass_alarms();
                }
                request()
            };
            let made = send(&|| bed.fork(json!({})), &mut cut);
            assert_eq!(made.status, 201, "{number}: {}", made.text);
            let ask = || bed.post(&decision("f", &first, yes.clone()));
            let question = send(&ask, &mut cut).calls().remove(0);
            assert_eq!(ran(&bed).len(), 1, "{number}");
            let decide = || bed.post(&decision("f", &question, yes.clone()));
            let ended = send(&decide, &mut cut);
            assert_eq!(ended.final_text(), "Answer to Mail.", "{number}");
            let times = ran(&bed).len();
            assert!(times == 2 || cut && times == 3, "{number}: {times}");
            bed.assert_chain_held();
            if !cut {
                break;
            }
            points += 1;
        }
    }
    assert!(points > 40, "{points}");
}
