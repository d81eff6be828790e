//! The spans of a call whose response is read on (docs/operations.md, Traces): a reading by another instance, or by
//! another attempt of the turn, has a `chat` of its own, below the `invoke_agent` of its run.

use super::*;

fn traced() -> Bed {
    let bed = in_background();
    bed.configure(|catalog| {
        ask_for_background(catalog);
        catalog["AgentContexts"]["default"]["ModelParameters"] =
            json!({ "reasoning": { "effort": "low" }, "max_output_tokens": 900 });
    });
    bed.world.spans.are_heard.set(true);
    bed.world.metered.replace(Some(Vec::new()));
    bed
}

/// A turn whose instance is lost behind that many events; the catalog names another model from then on.
fn lost_at(events: usize) -> Bed {
    let bed = traced();
    bed.world.model.script([long().paced(1_000).into()]);
    let _ = bed.send(&turn("t1", "Hello"));
    let began = bed.world.executor.now_ms();
    let came = began + 1_000 * events as u64;
    bed.run_until(|bed| bed.world.executor.now_ms() >= came, "the events have come");
    bed.run_at_once();
    bed.restart();
    bed.configure(|catalog| {
        ask_for_background(catalog);
        catalog["AgentContexts"]["default"]["Model"] = json!("another");
    });
    bed
}

fn last(bed: &Bed, name: &str) -> Value {
    bed.world.spans.named(name).pop().unwrap()
}

const TREE: [&str; 2] = ["invoke_agent default", "  chat m"];

#[test]
fn a_call_that_is_read_on_by_another_instance_has_the_span_of_one_that_was_not_cut() {
    let whole = traced();
    whole.world.model.script([long().into()]);
    whole.post(&turn("t1", "Hello")).final_text();
    let (mut agent, mut chat) = (last(&whole, "invoke_agent default"), last(&whole, "chat m"));
    assert_eq!(chat["gen_ai.request.reasoning.level"], "low");
    assert_eq!(chat["gen_ai.request.max_tokens"], 900.0);
    // The first chunk came to the instance that was lost, and the bed's service names no request to read.
    for gone in ["gen_ai.response.time_to_first_chunk", "aptix.upstream_request_id"] {
        chat.as_object_mut().unwrap().remove(gone).unwrap();
    }
    chat["aptix.resumed"] = json!(1.0);
    for (events, polled) in (1..EVENTS).flat_map(|events| [(events, false), (events, true)]) {
        let bed = lost_at(events);
        if polled {
            bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 300_000);
        }
        bed.post(&turn("t1", "Hello")).final_text();
        agent["aptix.catalog"] = json!(bed.catalog_hash());
        let what = format!("{events} events, polled: {polled}");
        assert_eq!(bed.world.spans.names(), [TREE, TREE].concat(), "{what}");
        assert_eq!(last(&bed, "invoke_agent default"), agent, "{what}");
        assert_eq!(last(&bed, "chat m"), chat, "{what}");
        let metered = bed.world.metered.borrow();
        let points: Vec<_> = metered.iter().flatten().collect();
        assert_eq!(points.len(), 1, "{what}");
        assert_eq!(serde_json::to_value(points[0]).unwrap()["blobs"][2], "m", "{what}");
        assert_eq!(reads(&bed)[0], if polled { "object" } else { "stream" }, "{what}");
    }
}

#[test]
fn a_call_that_is_cut_and_read_on_by_its_own_instance_is_one_span() {
    let bed = traced();
    bed.world.model.script([long().breaks_after(6).into()]);
    bed.post(&turn("t1", "Hello")).final_text();
    assert_eq!(bed.world.spans.names(), TREE);
    let chat = last(&bed, "chat m");
    assert_eq!((&chat["aptix.resumed"], &chat["aptix.attempts"]), (&json!(1.0), &json!(1.0)));
    assert!(chat["gen_ai.response.time_to_first_chunk"].is_number());
}

#[test]
fn a_response_that_is_lost_ends_its_span_with_an_error_and_the_call_that_follows_has_its_own() {
    let bed = lost_at(6);
    bed.world.model.background.loses.set(true);
    bed.world.model.script([say("Another text.").into()]);
    bed.post(&turn("t1", "Hello")).final_text();
    let names = bed.world.spans.names();
    assert_eq!(names[2..], ["invoke_agent default", "  chat m", "  chat another"]);
    let chat = last(&bed, "chat m");
    assert_eq!(chat["error.type"], "response_lost");
    assert_eq!(chat["gen_ai.response.finish_reasons"], "error");
    assert_eq!(last(&bed, "chat another").get("error.type"), None);
    // The model of the first call.
    assert_eq!(last(&bed, "invoke_agent default")["gen_ai.request.model"], "m");
}

#[test]
fn a_reading_that_is_cancelled_or_interrupted_keeps_what_it_had_learnt() {
    for interrupts in [false, true] {
        let bed = lost_at(6);
        bed.world.model.background.script([ReadAgain::Silent(6)]);
        let pending = bed.send(&turn("t1", "Hello"));
        bed.run_until(|bed| reads(bed).len() == 1, "the response is read on");
        bed.run_at_once();
        if interrupts {
            let steered = with(steer("s1", "Other."), json!({ "Interrupt": true }));
            assert_eq!(bed.steer("t1", &steered).status, 202);
        } else {
            bed.try_cancel("t1").unwrap();
        }
        bed.wait(&pending).unwrap();
        let chat = last(&bed, "chat m");
        let expected = if interrupts { "interrupted" } else { "turn_aborted" };
        assert_eq!(chat["error.type"], expected);
        assert_eq!(chat["gen_ai.response.id"], "resp_1");
        assert_eq!(chat["aptix.resumed"], 1.0);
        let agent = last(&bed, "invoke_agent default");
        let status = if interrupts { "completed" } else { "aborted" };
        assert_eq!(agent["aptix.turn.status"], status);
        assert_eq!(interrupts, bed.world.spans.names().contains(&"  chat another".to_owned()));
    }
}

#[test]
fn a_failed_turn_that_is_sent_again_reads_its_response_in_a_span_and_counts_the_tokens_once() {
    let bed = traced();
    bed.world.model.script([long().paced(100).breaks_after(6).into()]);
    let refused = ReadAgain::Reply(http_error(401, json!({}), &[]));
    bed.world.model.background.script([refused]);
    assert_eq!(bed.post(&turn("t1", "Hello")).failure(), (502, "upstream_rejected"));
    let failed = last(&bed, "chat m");
    assert_eq!(failed["error.type"], "401");
    assert_eq!(failed.get("gen_ai.usage.input_tokens"), None);
    bed.post(&turn("t1", "Hello")).final_text();
    assert_eq!(bed.world.spans.names(), [TREE, TREE].concat());
    let chat = last(&bed, "chat m");
    assert_eq!((&chat["gen_ai.response.id"], chat.get("error.type")), (&json!("resp_1"), None));
    let tokens = |name: &str| chat[format!("gen_ai.usage.{name}_tokens")].as_f64().unwrap();
    assert_eq!(tokens("input") + tokens("output"), USAGE as f64);
}
