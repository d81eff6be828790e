//! Every fault of the model service, at the first and at a later call of a turn; the session
//! survives each (interface §2 and §3).

use bed::*;
use serde_json::{Value, json};

use super::fallbacks::{add_fallbacks, down, with_fallbacks};

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
    let too_long = (413, "context_window_exceeded");
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
        fault("a break at once", half().breaks_after(0).into(), protocol, 3),
        fault("a break in the text", half().breaks_after(6).into(), protocol, 1),
        fault("a break before the end", half().breaks_after(9).into(), protocol, 1),
        fault("an end at once", half().ends_after(0).into(), protocol, 3),
        fault("an end in the text", half().ends_after(6).into(), protocol, 1),
        fault("an end within an event", half().in_chunks_of(700).ends_after(1).into(), protocol, 3),
        fault("response.failed", failed("server_error"), gave_up, 1),
        fault("a nested error event", error_event("server_error", true), gave_up, 1),
        fault("a flat error event", error_event("server_error", false), gave_up, 1),
        fault("a web page", raw(&["<!DOCTYPE html>", "<p>Hello</p>"]), protocol, 3),
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
            3,
        ),
        fault(
            "an answer beside an error",
            raw(&[concat!(
                r#"{"id":"r","status":"completed","error":{"message":"cut"},"output":[{"type":"message","#,
                r#""content":[{"type":"output_text","text":"Half"}]}]}"#
            )]),
            gave_up,
            1,
        ),
        fault("bytes", raw(&["\u{0}\u{1}\u{2}"]), protocol, 3),
        fault("a cut call", incomplete(cut_call(), "max_output_tokens"), cut, 1),
        fault("nothing but a cut", incomplete_without_items("content_filter"), cut, 1),
        blaming(
            "an input too long",
            http_error(400, json!({ "code": "context_length_exceeded", "param": "input" }), &[]),
            too_long,
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
        blaming("413", http_error(413, json!({}), &[]), too_long, 1),
        blaming("an input too long, said late", failed("context_length_exceeded"), too_long, 1),
        blaming(
            "an input too long, said in words with a status that could pass",
            http_error(500, json!({ "message": "Context size has been exceeded." }), &[]),
            too_long,
            1,
        ),
        blaming("an invalid prompt, said late", failed("invalid_prompt"), gave_up, 1),
    ]
}

/// The faults after which less of the conversation is sent.
const CONCERN_CONVERSATION: [&str; 6] = [
    "404",
    "409",
    "an input of a wrong form",
    "an input too long",
    "413",
    "an input too long, said late",
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    NextTurn,
    Repeat,
    NextTurnAndRepeat,
}

/// Which service has the fault.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Service,
    /// The one that took over from a service that is down.
    OnlyFallback,
}

impl Fault {
    /// Whether another service would have taken over; where none is left, the first one's failure is told.
    fn moves_on(&self) -> bool {
        let at_once = ["a spent quota", "silence", "silence after the head"];
        self.calls > 1 || at_once.contains(&self.name)
    }
}

/// A session whose service is replaced by one other.
fn with_fallback() -> Bed {
    let bed = with_fallbacks();
    bed.configure(|catalog| {
        add_fallbacks(catalog);
        for context in ["default", "replay"] {
            catalog["AgentContexts"][context]["Fallbacks"] = json!(["spare"]);
        }
    });
    bed
}

/// Runs a turn in which every attempt at one call meets the fault, and then what `then` says. `at`: whose fault it is.
fn fail(fault: &Fault, later_call: bool, context: &str, then: Then, at: At) {
    let case =
        format!("{}, later call: {later_call}, {context}, then {then:?}, {at:?}", fault.name);
    let is_behind = at == At::OnlyFallback;
    let bed = if is_behind { with_fallback() } else { Bed::new() };
    let words = if later_call { "Words [plan: server]" } else { "Words" };
    let request =
        with(turn("t1", words), json!({ "ConversationContextId": context, "Streaming": true }));
    let before = if is_behind { down() } else { fault.reply.clone() };
    bed.world.model.spoil_after(usize::from(later_call), before);
    bed.world.spare.spoil_after(0, fault.reply.clone());
    let heard = bed.post(&request);
    let is_covered = is_behind && fault.moves_on();
    let expected = if is_covered { (502, "upstream_unavailable") } else { fault.expected };
    assert_eq!(heard.failure(), expected, "{case}");
    // What may concern the conversation is sent once more as a whole, and a conflict is not waited for then.
    let is_continued = later_call && context == "default" && !is_behind;
    let again = is_continued && CONCERN_CONVERSATION.contains(&fault.name);
    let in_vain = if is_behind { 2 } else { 0 };
    let attempts = if again { 1 } else { fault.calls + in_vain };
    assert_eq!(heard.details()["Attempts"], attempts, "{case}");
    let calls = usize::from(later_call) + fault.calls + usize::from(again) + in_vain;
    assert_eq!(bed.world.model.requests() + bed.world.spare.requests(), calls, "{case}");
    assert_eq!(bed.turn("t1").result()["Status"], "failed");
    assert_eq!(bed.turn("t1").result()["Outcome"], heard.body);
    for service in [&bed.world.model, &bed.world.spare] {
        assert_eq!(service.open.get(), 0, "{case}: the call is over");
        service.mend();
    }
    bed.restart();
    // By then the first service rests no more.
    let executor = &bed.world.executor;
    executor.set_now_ms(executor.now_ms() + 30_000);
    if then != Then::Repeat {
        assert_eq!(bed.post(&turn("t2", "Next")).final_text(), "Answer to Next.", "{case}");
    }
    // A turn that does not fit leaves the conversation as a whole.
    let too_long = fault.expected.1 == "context_window_exceeded";
    let carried = usize::from(!too_long && (later_call || !fault.blames_input));
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
    assert_eq!(bed.world.spare.refusals(), Vec::<String>::new(), "{case}");
    bed.assert_chain_held();
}

#[test]
fn a_fault_of_the_model_service_fails_the_turn_and_the_session_stays_usable() {
    every_fault(At::Service);
}

#[test]
fn a_fault_of_the_service_that_took_over_fails_the_turn_and_the_session_stays_usable() {
    every_fault(At::OnlyFallback);
}

fn every_fault(at: At) {
    for fault in faults() {
        for later_call in [false, true] {
            for then in [Then::NextTurn, Then::Repeat, Then::NextTurnAndRepeat] {
                fail(&fault, later_call, "default", then, at);
            }
            fail(&fault, later_call, "replay", Then::NextTurn, at);
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
fn the_next_attempt_waits_as_long_as_the_service_asks_and_up_to_a_quarter_longer() {
    let bed = Bed::new();
    let limited =
        http_error(429, json!({ "code": "rate_limit_exceeded" }), &[("retry-after", "7")]);
    bed.world.model.script([limited]);
    let before = bed.world.executor.now_ms();
    bed.post(&turn("t1", "Hello")).final_text();
    let waited = bed.world.executor.now_ms() - before;
    assert!((7_000..8_750).contains(&waited), "{waited}, which is up to a quarter more");
}

/// Fails before any text, in each way that passes.
fn early_failures() -> Vec<Reply> {
    let event = |event: &str| raw(&[&format!("data: {event}\n\n")]);
    vec![
        event(r#"{"type":"response.failed","response":{"error":{"code":"server_error"}}}"#),
        event(r#"{"type":"error","error":{"type":"tokens","code":"rate_limit_exceeded"}}"#),
        event(r#"{"type":"error","code":"server_is_overloaded","message":"m"}"#),
        event(r#"{"error":{"message":"Overloaded","code":529}}"#),
        event(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
        say("Never.").breaks_after(0).into(),
        say("Never.").ends_after(0).into(),
        say("Never.").in_one_json().in_chunks_of(80).ends_after(2).into(),
        raw(&[r#"{"status":"failed","error":{"code":"server_error","message":"m"}}"#]),
    ]
}

#[test]
fn the_client_does_not_see_a_failure_inside_the_stream_before_any_text() {
    for failure in early_failures() {
        for streaming in [false, true] {
            let bed = Bed::new();
            bed.world.model.script([failure.clone(), failure.clone()]);
            let heard = bed.post(&with(turn("t1", "Hello"), json!({ "Streaming": streaming })));
            assert_eq!(heard.final_text(), "Answer to Hello.", "{failure:?}");
            let bodies = bed.world.model.bodies();
            assert!(bodies.len() == 3 && bodies.iter().all(|body| *body == bodies[0]));
            let trace = bed.asked("GET", "/sessions/s/turns/t1/trace", "");
            let retries = &trace.result()["ModelCalls"][0];
            assert_eq!(retries["Retries"].as_array().map(Vec::len), Some(2), "{retries}");
            bed.assert_chain_held();
        }
    }
}

#[test]
fn text_that_nobody_has_seen_is_taken_back_and_the_call_is_made_again() {
    let bed = Bed::new();
    bed.world.model.script([failed("server_error"), say("Half").paced(100).breaks_after(6).into()]);
    let posted = bed.send(&turn("t1", "Hello"));
    bed.run_until(|bed| bed.world.model.requests() == 2, "the call is made again");
    let watcher = bed.attach("t1", None);
    assert_eq!(bed.wait(&posted).unwrap().failure(), (502, "upstream_protocol"));
    assert_eq!(bed.world.model.requests(), 2, "the watcher has seen text of the second call");
    let frames = bed.wait(&watcher).unwrap().frames.unwrap();
    assert!(frames.starts_with("event: output_text.delta\nid: 0."), "{frames}");

    let bed = Bed::new();
    bed.world.model.script([failed("server_error"), failed("server_error")]);
    let heard = bed.post(&turn("t1", "Hello"));
    assert_eq!(heard.final_text(), "Answer to Hello.");
    let again = bed.wait(&bed.attach("t1", None)).unwrap().frames.unwrap();
    assert!(again.starts_with("event: output_text.delta\nid: 0."), "{again}");
    assert!(!again.contains("discard") && !again.contains("Half"), "{again}");
}

#[test]
fn a_wait_longer_than_a_minute_ends_the_turn_at_once_and_the_client_is_told() {
    for (asked, told) in [
        (("retry-after", "61"), Some((61_000, "61"))),
        (("retry-after-ms", "3600001"), Some((3_600_001, "3601"))),
        (("retry-after", "60"), None),
    ] {
        let bed = Bed::new();
        let limited = http_error(429, json!({ "code": "rate_limit_exceeded" }), &[asked]);
        bed.world.model.script([limited]);
        let before = bed.world.executor.now_ms();
        let heard = bed.post(&turn("t1", "Hello"));
        let Some((ms, header)) = told else {
            assert_eq!(heard.final_text(), "Answer to Hello.");
            assert_eq!(heard.headers.get("Retry-After"), None);
            continue;
        };
        assert_eq!(heard.failure(), (502, "upstream_unavailable"));
        assert_eq!(bed.world.executor.now_ms(), before);
        let details = heard.details();
        assert_eq!((&details["RetryAfterMs"], &details["Attempts"]), (&json!(ms), &json!(1)));
        assert_eq!(heard.headers["Retry-After"], header);
        assert_eq!(bed.post(&turn("t2", "Later")).final_text(), "Answer to Later.");
    }
}

#[test]
fn an_error_that_quotes_the_continued_response_or_names_its_parameter_is_a_lost_chain() {
    let event = |event: &str| raw(&[&format!("data: {event}\n\n")]);
    for lost in [
        event(r#"{"error":{"message":"400: Invalid value: Response with id resp_1 not found"}}"#),
        event(r#"{"type":"error","error":{"message":"gone: 'resp_1'"}}"#),
        event(
            r#"{"type":"response.failed","response":{"status":"failed","error":{"message":"m","param":"response_id"}}}"#,
        ),
        http_error(404, json!({ "message": "m", "param": "response_id" }), &[]),
        http_error(404, json!({ "message": "Response with id 'resp_1' not found." }), &[]),
        http_error(422, json!({ "message": "No state for resp_1" }), &[]),
    ] {
        for streaming in [false, true] {
            let bed = Bed::new();
            bed.post(&turn("t1", "One")).final_text();
            bed.world.model.script([lost.clone()]);
            let request = with(turn("t2", "Two"), json!({ "Streaming": streaming }));
            assert_eq!(bed.post(&request).final_text(), "Answer to Two.", "{lost:?}");
            let bodies = bed.world.model.bodies();
            assert_eq!((bodies.len(), bodies[2].get("previous_response_id")), (3, None));
            assert_eq!(bed.world.model.conversation().heard("One"), 1);
            bed.assert_chain_held();
        }
    }
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

#[test]
fn a_response_that_is_known_whole_is_not_made_again_whatever_the_connection_does_behind_it() {
    let mut cases = Vec::new();
    for background in [false, true] {
        for streaming in [false, true] {
            // All but the end of the last event's blank line.
            for lacks in 1..=2 {
                cases.push((background, streaming, say("One two.").breaks_short_by(lacks)));
                cases.push((background, streaming, say("One two.").silent_short_by(lacks)));
            }
        }
    }
    for streaming in [false, true] {
        cases.push((false, streaming, say("One two.").in_one_json().breaks_after(1)));
        cases.push((false, streaming, say("One two.").in_one_json().silent_after(1)));
    }
    for (background, streaming, reply) in cases {
        let bed = Bed::new();
        if background {
            bed.configure(|catalog| {
                catalog["AgentContexts"]["default"]["Background"] = json!("Always");
            });
        }
        let connection = reply.connection;
        bed.world.model.script([reply.into()]);
        let heard = bed.post(&with(turn("t1", "Hello"), json!({ "Streaming": streaming })));
        assert_eq!(heard.final_text(), "One two.", "{connection:?}");
        assert_eq!(bed.world.model.requests(), 1, "it is paid once: {connection:?}");
        assert!(bed.world.model.background.reads.borrow().is_empty());
        bed.post(&turn("t2", "More")).final_text();
        bed.assert_chain_held();
    }
}
