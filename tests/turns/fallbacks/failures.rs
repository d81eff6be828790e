//! Which failures of a service make another one take over, after how many attempts and how long.

use super::*;

/// A failure of the first service, and the attempts at it before the next one is asked; 0 where none is.
struct Failure {
    name: &'static str,
    reply: Reply,
    attempts: usize,
}

fn failures() -> Vec<Failure> {
    let code = |code: &str| json!({ "code": code });
    let status = |status: u16| http_error(status, json!({ "type": "t" }), &[]);
    let late =
        |after: &str| http_error(429, code("rate_limit_exceeded"), &[("retry-after", after)]);
    let before_text = |code| Answer { ending: Ending::Failed(code), ..says(Vec::new()) }.into();
    let failure = |name, reply, attempts| Failure { name, reply, attempts };
    let message = "Invalid schema for function 'insufficient_quota'.";
    let called_so = json!({ "param": "tools[0].parameters", "message": message });
    vec![
        failure("no connection", Reply::Unreachable, 2),
        failure("silence", Reply::Silence, 1),
        failure("silence after the head", say("Half").silent_after(0).into(), 1),
        failure("a break at once", say("Half").breaks_after(0).into(), 2),
        failure("an early end", say("Half").ends_after(0).into(), 2),
        failure("408", status(408), 2),
        failure("409", status(409), 2),
        failure("429", http_error(429, code("rate_limit_exceeded"), &[]), 2),
        failure("429 for 5 s", late("5"), 2),
        failure("429 for 6 s", late("6"), 1),
        failure("500", status(500), 2),
        failure("503", status(503), 2),
        failure("529", status(529), 2),
        failure("503 for good", http_error(503, json!({}), &[("x-should-retry", "false")]), 1),
        failure("server_error in the stream", before_text("server_error"), 2),
        failure("rate_limit_exceeded in the stream", before_text("rate_limit_exceeded"), 2),
        failure("overloaded in the stream", before_text("server_is_overloaded"), 2),
        failure("402", status(402), 1),
        failure("insufficient_quota", http_error(429, code("insufficient_quota"), &[]), 1),
        failure("usage_limit_reached", http_error(429, code("usage_limit_reached"), &[]), 1),
        failure(
            "billing_hard_limit_reached",
            http_error(403, code("billing_hard_limit_reached"), &[]),
            1,
        ),
        failure("a quota in the stream", before_text("insufficient_quota"), 1),
        failure("400", http_error(400, code("invalid_value"), &[]), 0),
        failure("401", http_error(401, code("invalid_api_key"), &[]), 0),
        failure("403", status(403), 0),
        failure("404", http_error(404, code("model_not_found"), &[]), 0),
        failure("413", status(413), 0),
        failure("422", status(422), 0),
        failure("525", status(525), 0),
        failure("526", status(526), 0),
        failure("a refused tool", http_error(400, json!({ "param": "tools[0].name" }), &[]), 0),
        failure("a tool that is called so", http_error(400, called_so, &[]), 0),
        failure("a long input", http_error(400, code("context_length_exceeded"), &[]), 0),
        failure("no JSON", raw(&["event: response.created\ndata: {\"type\":\n\n"]), 0),
        failure("an unknown failure in the stream", before_text("unknown"), 0),
    ]
}

#[test]
fn what_is_down_busy_or_unpaid_is_taken_over_from_and_what_is_wrong_is_told() {
    for Failure { name, reply, attempts } in failures() {
        for context in ["default", "replay"] {
            for later_call in [false, true] {
                let what = format!("{name}, {context}, later call: {later_call}");
                let bed = with_fallbacks();
                let words = if later_call { "One [plan: server]" } else { "One" };
                let request = with(turn("t1", words), json!({ "ConversationContextId": context }));
                bed.world.model.spoil_after(usize::from(later_call), reply.clone());
                let heard = bed.post(&request);
                if attempts == 0 {
                    assert_ne!(heard.status, 200, "{what}");
                    assert_eq!(heard.details().get("Fallbacks"), None, "{what}");
                    assert_eq!(bed.world.spare.requests(), 0, "{what}");
                    continue;
                }
                assert_eq!(heard.final_text(), "Answer to One.", "{what}");
                assert_eq!(warnings(&heard), ["fallback_used"], "{what}");
                let asked = bed.world.model.requests() - usize::from(later_call);
                assert_eq!(asked, attempts, "{what}");
                assert_eq!(bed.world.spare.requests(), 1, "{what}");
                assert_whole(&bed.world.spare.bodies()[0]);
                assert_eq!(bed.world.third.requests(), 0, "{what}");
                let executions = bed.world.tools.executions();
                assert!(executions.values().all(|times| *times == 1), "{what}: {executions:?}");
                assert_eq!(bed.world.spare.refusals(), Vec::<String>::new(), "{what}");
            }
        }
    }
}

#[test]
fn a_call_waits_twenty_seconds_for_a_service_that_another_one_can_replace() {
    let bed = with_fallbacks();
    bed.world.model.spoil_after(0, Reply::Silence);
    let began = bed.world.executor.now_ms();
    bed.post(&turn("t1", "One")).final_text();
    assert_eq!(bed.world.executor.now_ms() - began, 20_000);
    // Comments are no beginning of a response.
    let bed = with_fallbacks();
    let comments = (0..60).flat_map(|_| [Piece::Silence(1_000), Piece::text(": waiting\n\n")]);
    let waiting = HttpReply::in_pieces(200, comments).with("content-type", "text/event-stream");
    bed.world.model.spoil_after(0, Reply::Http(waiting));
    let began = bed.world.executor.now_ms();
    bed.post(&turn("t1", "One")).final_text();
    assert_eq!(bed.world.executor.now_ms() - began, 20_000);
    // A response that has begun has all of its time, and so has the last service.
    let bed = with_fallbacks();
    bed.world.model.script([Answer { pause_ms: 15_000, ..say("Slow.") }.into()]);
    assert_eq!(bed.post(&turn("t1", "One")).final_text(), "Slow.");
    assert_eq!(bed.world.spare.requests(), 0);
    let bed = with_fallbacks();
    bed.deploy("UPSTREAM_IDLE_TIMEOUT_MS", "7000");
    bed.world.model.spoil_after(0, Reply::Silence);
    let began = bed.world.executor.now_ms();
    bed.post(&turn("t1", "One")).final_text();
    assert_eq!(bed.world.executor.now_ms() - began, 7_000);
}

#[test]
fn text_that_went_out_is_not_written_on_by_another_service_and_the_repeat_begins_there() {
    let bed = with_fallbacks();
    let request = with(turn("t1", "One"), json!({ "Streaming": true }));
    bed.world.model.spoil_after(0, say("Half an answer").breaks_after(6).into());
    let heard = bed.post(&request);
    assert_eq!(heard.failure(), (502, "upstream_protocol"));
    assert_eq!((bed.world.model.requests(), bed.world.spare.requests()), (1, 0));
    let heard = bed.post(&request);
    assert_eq!(heard.final_text(), "Answer to One.");
    assert_eq!(warnings(&heard), ["fallback_used"]);
    assert_eq!((bed.world.model.requests(), bed.world.spare.requests()), (1, 1));
    // Text that nobody got is taken back.
    let bed = with_fallbacks();
    bed.world.model.spoil_after(0, say("Half an answer").breaks_after(6).into());
    assert_eq!(bed.post(&turn("t1", "One")).final_text(), "Answer to One.");
}

#[test]
fn a_background_response_whose_id_is_known_is_asked_for_at_its_service_alone() {
    let bed = with_fallbacks();
    bed.configure(|catalog| {
        add_fallbacks(catalog);
        catalog["AgentContexts"]["default"]["Background"] = json!("Always");
    });
    bed.world.model.script([say("One two three.").breaks_after(3).into()]);
    let heard = bed.post(&turn("t1", "One"));
    assert_eq!(heard.final_text(), "One two three.");
    assert_eq!((bed.world.model.requests(), bed.world.spare.requests()), (1, 0));
    assert!(!bed.world.model.background.reads.borrow().is_empty());
    assert!(bed.world.spare.background.reads.borrow().is_empty());
    // A call that is refused before is taken over, in the background where the other context says so.
    bed.world.model.spoil_after(0, down());
    bed.post(&turn("t2", "Two")).final_text();
    assert_eq!(bed.world.spare.bodies()[0].get("background"), None);
}

#[test]
fn a_conflict_climbs_the_ladder_only_where_no_service_is_left() {
    let conflict = || http_error(409, json!({ "message": "Conflict." }), &[]);
    let bed = with_fallbacks();
    bed.post(&turn("t1", "One")).final_text();
    for service in [&bed.world.model, &bed.world.spare] {
        service.spoil_after(0, conflict());
    }
    // The last one refuses what continues nothing else than this turn.
    bed.world.third.rules.refuse_by(|body, _| {
        let is_whole = body["input"].to_string().contains("Answer to One.");
        is_whole.then(|| http_error(409, json!({ "message": "Conflict." }), &[]))
    });
    assert_eq!(bed.post(&turn("t2", "Two")).final_text(), "Answer to Two.");
    assert_eq!((bed.world.model.requests(), bed.world.spare.requests()), (3, 2));
    let calls = model_calls(&bed, "t2");
    let last = calls.last().unwrap();
    assert_eq!((&last["Service"], &last["Reduced"]), (&json!("third"), &json!("turn")));
}
