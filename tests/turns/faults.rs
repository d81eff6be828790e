//! Every fault of the model service, at the first and at a later call of a turn; the session
//! survives each (interface §2 and §3).

use bed::*;
use serde_json::{Value, json};

/// A fault of the service, and the failure that the client gets.
struct Fault {
    name: &'static str,
    reply: Reply,
    expected: (u16, &'static str),
    /// Calls that the turn makes before it fails.
    calls: usize,
    /// The service blames the input.
    blames_input: bool,
}

fn faults() -> Vec<Fault> {
    let fault = |name, reply: Reply, expected, calls| Fault {
        name,
        reply,
        expected,
        calls,
        blames_input: false,
    };
    let blaming = |name, reply: Reply, expected, calls| Fault {
        name,
        reply,
        expected,
        calls,
        blames_input: true,
    };
    let half = || say("Half an answer.");
    let broken = |status: u16| http_error(status, json!({ "type": "server_error" }), &[]);
    let code = |code: &str| json!({ "code": code });
    let rejected = (502, "upstream_rejected");
    let unavailable = (502, "upstream_unavailable");
    let protocol = (502, "upstream_protocol");
    let timeout = (504, "upstream_timeout");
    let gave_up = (502, "upstream_failed");
    let cut = (502, "upstream_incomplete");
    let cut_call = || Item::Call { name: "lookup".to_owned(), arguments: r#"{"of":"#.to_owned() };
    vec![
        fault("401", http_error(401, code("invalid_api_key"), &[]), rejected, 1),
        fault("403", http_error(403, code("unsupported_country"), &[]), rejected, 1),
        fault("404", http_error(404, json!({}), &[]), rejected, 1),
        fault(
            "unknown model",
            http_error(400, json!({ "code": "model_not_found", "param": "model" }), &[]),
            rejected,
            1,
        ),
        fault(
            "a wrong tool",
            http_error(400, json!({ "code": "invalid_value", "param": "tools[0].name" }), &[]),
            rejected,
            1,
        ),
        fault("a spent quota", http_error(429, code("insufficient_quota"), &[]), rejected, 1),
        fault(
            "a rate limit",
            http_error(429, code("rate_limit_exceeded"), &[("retry-after", "1")]),
            unavailable,
            3,
        ),
        fault("408", broken(408), unavailable, 3),
        fault("409", broken(409), unavailable, 3),
        fault("500", broken(500), unavailable, 3),
        fault(
            "503",
            http_error(503, code("server_is_overloaded"), &[("retry-after-ms", "20")]),
            unavailable,
            3,
        ),
        fault(
            "a redirect",
            http_error(302, json!({}), &[("location", "https://elsewhere.example")]),
            rejected,
            1,
        ),
        fault("a refused connection", Reply::Unreachable, unavailable, 3),
        fault("silence", Reply::Silence, timeout, 1),
        fault("silence after the head", half().silent_after(0).into(), timeout, 1),
        fault("silence in the text", half().silent_after(6).into(), timeout, 1),
        fault("a break at once", half().breaks_after(0).into(), protocol, 1),
        fault("a break in the text", half().breaks_after(6).into(), protocol, 1),
        fault("a break before the end", half().breaks_after(9).into(), protocol, 1),
        fault("an end at once", half().ends_after(0).into(), protocol, 1),
        fault("an end in the text", half().ends_after(6).into(), protocol, 1),
        fault("an end within an event", half().in_chunks_of(700).ends_after(1).into(), protocol, 1),
        fault("response.failed", failed("server_error"), gave_up, 1),
        fault("a nested error event", error_event("server_error", true), gave_up, 1),
        fault("a flat error event", error_event("server_error", false), gave_up, 1),
        fault("a web page", raw(&["<!DOCTYPE html>", "<p>Hello</p>"]), protocol, 1),
        fault("no JSON", raw(&["event: response.created\ndata: {\"type\":\n\n"]), protocol, 1),
        fault("other JSON", raw(&[r#"{"choices":[]}"#]), protocol, 1),
        fault(
            "an unfinished JSON answer",
            raw(&[r#"{"id":"r","status":"in_progress","output":[]}"#]),
            protocol,
            1,
        ),
        fault(
            "half a JSON answer",
            half().in_one_json().in_chunks_of(80).ends_after(2).into(),
            protocol,
            1,
        ),
        fault("bytes", raw(&["\u{0}\u{1}\u{2}"]), protocol, 1),
        fault("a cut call", incomplete(cut_call(), "max_output_tokens"), cut, 1),
        fault("nothing but a cut", incomplete_without_items("content_filter"), cut, 1),
        blaming(
            "an input too long",
            http_error(400, json!({ "code": "context_length_exceeded", "param": "input" }), &[]),
            rejected,
            1,
        ),
        blaming(
            "an input of a wrong form",
            http_error(
                400,
                json!({ "code": "invalid_value", "param": "input[0].content[0]" }),
                &[],
            ),
            rejected,
            1,
        ),
        blaming("413", http_error(413, json!({}), &[]), rejected, 1),
        blaming("an invalid prompt, said late", failed("invalid_prompt"), gave_up, 1),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    NextTurn,
    Repeat,
    NextTurnAndRepeat,
}

/// Runs a turn in which every attempt at one call meets the fault, and then what `then` says.
fn fail(fault: &Fault, later_call: bool, context: &str, then: Then) {
    let case = format!("{}, later call: {later_call}, {context}, then {then:?}", fault.name);
    let bed = Bed::new();
    let words = if later_call { "Words [plan: server]" } else { "Words" };
    let request =
        with(turn("t1", words), json!({ "ConversationContextId": context, "Streaming": true }));
    bed.world.model.spoil_after(usize::from(later_call), fault.reply.clone());
    let heard = bed.post(&request);
    assert_eq!(heard.failure(), fault.expected, "{case}");
    assert_eq!(heard.details()["Attempts"], fault.calls, "{case}");
    assert_eq!(bed.world.model.requests(), usize::from(later_call) + fault.calls, "{case}");
    assert_eq!(bed.turn("t1").result()["Status"], "failed");
    assert_eq!(bed.turn("t1").result()["Outcome"], heard.body);
    assert_eq!(bed.world.model.open.get(), 0, "{case}: the call is over");

    bed.world.model.mend();
    bed.restart();
    if then != Then::Repeat {
        assert_eq!(bed.post(&turn("t2", "Next")).final_text(), "Answer to Next.", "{case}");
    }
    let carried = usize::from(later_call || !fault.blames_input);
    if then == Then::NextTurn {
        assert_eq!(bed.world.model.conversation().heard("Words"), carried, "{case}");
    } else {
        assert_eq!(bed.post(&request).final_text(), "Answer to Words.", "{case}");
        // Once another turn has completed, the repeat sends the words of this one again.
        let again = usize::from(then == Then::NextTurnAndRepeat || carried == 0);
        assert_eq!(bed.world.model.conversation().heard("Words"), carried + again, "{case}");
    }
    assert_eq!(bed.post(&turn("t3", "Last")).final_text(), "Answer to Last.", "{case}");
    let executions = bed.world.tools.executions();
    assert!(executions.values().all(|times| *times == 1), "{case}: {executions:?}");
    bed.assert_chain_held();
}

#[test]
fn a_fault_of_the_model_service_fails_the_turn_and_the_session_stays_usable() {
    for fault in faults() {
        for later_call in [false, true] {
            for then in [Then::NextTurn, Then::Repeat, Then::NextTurnAndRepeat] {
                fail(&fault, later_call, "default", then);
            }
            fail(&fault, later_call, "replay", Then::NextTurn);
        }
    }
}

#[test]
fn the_client_does_not_see_a_temporary_fault() {
    let passing = [
        http_error(500, json!({}), &[]),
        http_error(429, json!({ "code": "rate_limit_exceeded" }), &[("retry-after", "7")]),
        Reply::Unreachable,
    ];
    for fault in &passing {
        for other in &passing {
            let bed = Bed::new();
            bed.world.model.script([fault.clone(), other.clone()]);
            assert_eq!(bed.post(&turn("t1", "Hello")).final_text(), "Answer to Hello.");
            let bodies = bed.world.model.bodies();
            assert!(bodies.iter().all(|body| *body == bodies[0]));
        }
    }
}

#[test]
fn the_next_attempt_waits_as_long_as_the_service_asks() {
    let bed = Bed::new();
    let limited =
        http_error(429, json!({ "code": "rate_limit_exceeded" }), &[("retry-after", "7")]);
    bed.world.model.script([limited]);
    let before = bed.world.executor.now_ms();
    bed.post(&turn("t1", "Hello")).final_text();
    assert_eq!(bed.world.executor.now_ms() - before, 7000);
}

#[test]
fn unusual_model_outputs_are_used() {
    let text = |text: &str| Item::Text(vec![text.to_owned()]);
    for (reply, expected, warnings) in [
        (say("As JSON.").in_one_json().into(), "As JSON.", 0),
        (say("By and by.").in_chunks_of(1).paced(100).into(), "By and by.", 0),
        (incomplete(text("Cut off"), "max_output_tokens"), "Cut off", 1),
        (says(vec![Item::Reasoning, text("Thought.")]).into(), "Thought.", 0),
        (says(vec![text("Two"), text("messages.")]).into(), "Two\n\nmessages.", 0),
        (says(vec![Item::Refusal("I will not.".to_owned())]).into(), "I will not.", 1),
        (says(vec![]).into(), "", 1),
    ] {
        for context in ["default", "replay"] {
            let bed = Bed::new();
            let reply: Reply = reply.clone();
            bed.world.model.script([reply]);
            let request = with(turn("t1", "Hello"), json!({ "ConversationContextId": context }));
            let heard = bed.post(&request);
            assert_eq!(heard.final_text(), expected);
            let warned = heard.result()["UserWarnings"].as_array().map_or(0, Vec::len);
            assert_eq!(warned, warnings, "{}", heard.text);
            bed.restart();
            assert_eq!(bed.post(&turn("t2", "Next")).final_text(), "Answer to Next.");
            bed.assert_chain_held();
        }
    }
}

#[test]
fn a_service_that_loses_every_chain_gets_the_whole_conversation_each_time() {
    let bed = Bed::new();
    for number in 1..=5 {
        bed.world.model.forget();
        let id = format!("t{number}");
        bed.post(&turn(&id, &format!("Words-{number} [plan: server, mode:ddr]"))).final_text();
        let asked = bed.post(&turn(&format!("c{number}"), "Ask [plan: client]")).calls();
        bed.world.model.forget();
        bed.post(&results(&format!("c{number}"), &[(&asked[0], Value::Null)])).final_text();
    }
    let conversation = bed.world.model.conversation();
    assert!((1..=5).all(|number| conversation.heard(&format!("Words-{number}")) == 1));
    bed.assert_chain_held();
}

#[test]
fn a_fault_of_a_server_tool_fails_the_turn_and_the_session_stays_usable() {
    for answer in [ToolAnswer::Status(500), ToolAnswer::Status(404), ToolAnswer::Never] {
        for plan in ["server", "two-servers", "mixed", "server, two-servers"] {
            let bed = Bed::new();
            bed.world.tools.script([answer.clone()]);
            let request = turn("t1", &format!("Words [plan: {plan}]"));
            assert_eq!(bed.post(&request).failure(), (500, "server_tool_failed"));
            bed.restart();
            assert_eq!(bed.post(&turn("t2", "Next")).final_text(), "Answer to Next.");
            assert_eq!(bed.world.model.conversation().heard("Words"), 1);
            bed.post(&request).result();
            bed.assert_chain_held();
        }
    }
}
