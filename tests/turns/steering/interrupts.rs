//! `Interrupt`: a model call under way is dropped and made again with the steer.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;

fn interrupt(id: &str, words: &str) -> Value {
    with(steer(id, words), json!({ "Interrupt": true }))
}

/// At each event of a response, with and without `DeleteStored`.
#[test]
fn an_interrupt_at_each_event_takes_the_text_back_and_counts_what_was_spent() {
    for delete_stored in [false, true] {
        let mut interrupted = 0;
        for pieces in 0.. {
            let bed = Bed::new();
            bed.configure(|catalog| {
                catalog["AgentContexts"]["default"]["DeleteStored"] = json!(delete_stored);
            });
            let mut long = say("One two three four.").paced(10);
            long.early_usage = Some([70, 0, 3, 0]);
            bed.world.model.script([long.into(), say("Short.").into()]);
            let streamed = bed.send(&with(turn("t1", "Words"), json!({ "Streaming": true })));
            bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
            let until = bed.world.executor.now_ms() + 10 * pieces + 5;
            while bed.world.executor.now_ms() < until && streamed.heard().is_none() {
                assert!(bed.step());
            }
            if streamed.heard().is_some() {
                break;
            }
            assert_eq!(bed.steer("t1", &interrupt("s1", "Shorter.")).status, 202);
            let heard = bed.wait(&streamed).unwrap();
            assert_eq!(heard.final_text(), "Short.", "after {pieces} events");
            let frames = heard.frames.unwrap();
            assert_eq!(super::super::watched(&frames).0, "Short.");
            let shown = frames.contains("\"Delta\":\"One");
            assert_eq!(frames.contains("output_text.discard"), shown, "after {pieces}: {frames}");
            let trace = bed.asked("GET", "/sessions/s/turns/t1/trace", "");
            let calls = trace.result()["ModelCalls"].as_array().unwrap().clone();
            assert_eq!(trace.result()["Steers"][0]["State"], "delivered");
            assert_eq!(calls.len(), 2, "{calls:?}");
            if calls[0]["Interrupted"] == true {
                interrupted += 1;
                assert_eq!(trace.result()["Steers"][0]["Interrupted"], true);
                assert_eq!(bed.world.model.conversation().said().len(), 4, "after {pieces}");
                let known = calls[0]["ResponseId"].is_string();
                let usage = &calls[0]["Usage"];
                assert_eq!(usage["Estimated"], true, "after {pieces}: {usage}");
                let (prompt, completion) = (&usage["PromptTokens"], &usage["CompletionTokens"]);
                // What the service has told stays, unless more has come.
                assert!(!known || *prompt == 70 && (3..=4).contains(&completion.as_u64().unwrap()));
                let told = usage["TotalTokens"].as_u64().unwrap() + 120;
                assert_eq!(heard.body["Result"]["Usage"]["TotalTokens"], told, "after {pieces}");
                assert_eq!(heard.body["Result"]["Usage"]["Estimated"], true);
                assert!(known || !delete_stored, "the id is waited for");
            }
            assert_each_once(&bed, &["Shorter."]);
            if delete_stored {
                let ids: BTreeSet<String> = calls
                    .iter()
                    .filter_map(|call| Some(call["ResponseId"].as_str()?.to_owned()))
                    .collect();
                let receipt = bed.try_erase().unwrap();
                assert_eq!(receipt.result()["StoredResponses"]["Unknown"], 0, "{}", receipt.text);
                bed.settle();
                let deleted: BTreeSet<String> =
                    bed.world.model.deletions.borrow().iter().cloned().collect();
                assert!(deleted.is_superset(&ids), "{deleted:?} lacks some of {ids:?}");
            }
        }
        assert!(interrupted > 5, "{interrupted} calls were dropped");
    }
}

#[test]
fn an_interrupt_ends_the_wait_before_a_retry() {
    let bed = Bed::new();
    let busy = http_error(503, json!({}), &[("retry-after", "30")]);
    bed.world.model.script([busy, say("Short.").into()]);
    let pending = bed.send(&turn("t1", "Words"));
    bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
    bed.run_at_once();
    let before = bed.world.executor.now_ms();
    assert_eq!(bed.steer("t1", &interrupt("s1", "Shorter.")).status, 202);
    assert_eq!(bed.wait(&pending).unwrap().final_text(), "Short.");
    assert!(bed.world.executor.now_ms() - before < 20_000, "nobody waits for the retry");
    assert_each_once(&bed, &["Shorter."]);
}

#[test]
fn while_tools_run_or_the_turn_waits_an_interrupt_changes_nothing() {
    let bed = Bed::new();
    bed.world.model.script([says(vec![call("lookup", json!({})), call("ask", json!({}))]).into()]);
    let asked = bed.post(&turn("t1", "Words")).calls();
    assert_eq!(bed.steer("t1", &interrupt("s1", "Rather this.")).status, 202);
    bed.post(&results("t1", &[(&asked[0], json!(1))])).final_text();
    let trace = bed.asked("GET", "/sessions/s/turns/t1/trace", "");
    assert_eq!(trace.result()["Steers"][0]["Interrupted"], false);
    assert_eq!(trace.result()["ModelCalls"].as_array().unwrap().len(), 2);
    assert_eq!(bed.world.tools.calls().len(), 1);
    assert_each_once(&bed, &["Rather this."]);
}

#[test]
fn the_chain_goes_on_from_the_response_before_the_dropped_one() {
    let bed = Bed::new();
    bed.post(&turn("t0", "Before")).final_text();
    let pending = bed.send_to_silence(&turn("t1", "Words"));
    assert_eq!(bed.steer("t1", &interrupt("s1", "Rather this.")).status, 202);
    bed.wait(&pending).unwrap().final_text();
    let bodies = bed.world.model.bodies();
    assert_eq!(bodies[1]["previous_response_id"], bodies[2]["previous_response_id"]);
    assert_each_once(&bed, &["Before", "Words", "Rather this."]);
    let log = bed.world.log.borrow();
    let line = log.iter().rfind(|line| line["event"] == "submission").unwrap();
    assert_eq!((&line["report"]["steers"], &line["report"]["interrupts"]), (&json!(1), &json!(1)));
}

#[test]
fn an_interrupt_costs_no_turn_its_place_in_a_summary_that_waits_before_a_retry() {
    for already in [false, true] {
        let bed = Bed::new();
        bed.configure(|catalog| {
            catalog["AgentContexts"]["default"]["Compaction"] = json!({ "Threshold": 1_000 });
        });
        bed.world.model.counts.set(true);
        bed.post(&turn("t1", &"word ".repeat(1_200))).final_text();
        let busy = http_error(503, json!({}), &[("retry-after", "30")]);
        bed.world.model.script([busy]);
        let before = bed.world.model.requests();
        let pending = bed.send(&turn("t2", "Words"));
        if !already {
            bed.run_until(|bed| bed.world.model.requests() > before, "the summary is asked for");
            bed.run_at_once();
        }
        assert_eq!(bed.steer("t2", &interrupt("s1", "Shorter.")).status, 202);
        bed.wait(&pending).unwrap().final_text();
        let trace = bed.asked("GET", "/sessions/s/turns/t2/trace", "");
        let made = &trace.result()["Compactions"][0];
        assert_eq!(made["TurnsLeftOut"], 0, "{made}");
        assert!(made["SummaryBytes"].as_u64() > Some(0), "{made}");
        assert_each_once(&bed, &["Shorter."]);
    }
}
