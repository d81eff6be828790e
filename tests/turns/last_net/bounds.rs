//! A request to the model service is bounded in bytes (interface §4), and so are the steers that wait for one (§14).

use super::*;

const MOST: usize = 32_000_000;

/// An instruction with artifacts of so many bytes in all.
fn much(id: &str, bytes: usize) -> Value {
    with(turn(id, &format!("Words-{id}.")), json!({ "InputArtifacts": artifacts(bytes) }))
}

#[test]
fn a_conversation_that_makes_too_long_a_request_is_compacted_before_it() {
    let bed = Bed::new();
    bed.world.model.forgetful_of_bodies.set(true);
    let replay = json!({ "ConversationContextId": "replay" });
    let mut compacted = 0;
    for number in 1..=8 {
        let id = format!("t{number}");
        let heard = bed.post(&with(much(&id, 6_300_000), replay.clone()));
        assert_eq!(heard.final_text(), format!("Answer to Words-{id}.."));
        assert!(bed.world.model.latest_body().len() <= MOST);
        let trace = bed.asked("GET", &format!("/sessions/s/turns/{id}/trace"), "");
        let calls = trace.result()["ModelCalls"].as_array().unwrap();
        assert!(calls.iter().all(|call| call["Fault"].is_null()), "{}", trace.text);
        compacted += trace.result()["Compactions"].as_array().unwrap().len();
    }
    assert!(compacted > 0);
    assert!(bed.world.yields.get() > 100, "others went on meanwhile");
    bed.assert_chain_held();
}

#[test]
fn a_turn_that_alone_is_too_long_is_shortened_where_compaction_permits_or_leaves() {
    for by in ["Own", "None"] {
        let bed = Bed::new();
        bed.world.model.forgetful_of_bodies.set(true);
        bed.deploy("MAX_BODY_BYTES", "24000000");
        bed.configure(|catalog| {
            catalog["AgentContexts"]["replay"]["Compaction"] = json!({ "By": by });
        });
        let replay = json!({ "ConversationContextId": "replay" });
        bed.post(&with(turn("t1", "One"), replay.clone())).final_text();
        let mut request = with(much("t2", 15_000_000), replay.clone());
        request["Instruction"] = json!("Two [plan: client, client]");
        let calls = bed.post(&request).calls();
        let long = json!("y".repeat(9_000_000));
        let calls = bed.post(&results("t2", &[(&calls[0], long.clone())])).calls();
        let requests = bed.world.model_calls.borrow().len();
        let last = bed.post(&results("t2", &[(&calls[0], long)]));
        if by == "Own" {
            assert_eq!(last.final_text(), "Answer to Two.");
        } else {
            assert_eq!(last.failure(), (413, "context_window_exceeded"), "{}", last.text);
            assert!(last.text.contains("begin a new session"), "{}", last.text);
            assert_eq!(bed.world.model_calls.borrow().len(), requests, "nothing was sent");
        }
        bed.post(&with(turn("t3", "Three"), replay)).final_text();
        let sent = bed.world.model.latest_body();
        assert!(sent.len() <= MOST, "{}", sent.len());
        assert_eq!(sent.contains("Two [plan"), by == "Own");
        bed.assert_chain_held();
    }
}

#[test]
fn the_steers_that_wait_have_so_many_bytes_and_delivered_ones_free_their_room() {
    let bed = Bed::new();
    bed.world.model.forgetful_of_bodies.set(true);
    let long =
        |id: &str| with(steer(id, "More"), json!({ "InputArtifacts": artifacts(3_600_000) }));
    let calls = bed.post(&turn("t1", "One [plan: client]")).calls();
    for id in ["s1", "s2"] {
        assert_eq!(bed.steer("t1", &long(id)).status, 202);
    }
    let refused = bed.steer("t1", &long("s3"));
    assert_eq!(refused.failure(), (413, "body_too_large"), "{}", refused.text);
    assert_eq!(refused.details()["MaxBytes"], 8_000_000);
    // A short one finds room, a repeated one is the same, and another instance counts alike.
    assert_eq!(bed.steer("t1", &steer("s4", "Short")).status, 202);
    assert_eq!(bed.steer("t1", &long("s1")).status, 200);
    bed.restart();
    assert_eq!(bed.steer("t1", &long("s3")).failure().1, "body_too_large");
    let yields = bed.world.yields.get();
    bed.world.model.script([says(vec![call("ask", json!({}))]).into()]);
    let calls = bed.post(&results("t1", &[(&calls[0], json!(1))])).calls();
    assert!(bed.world.yields.get() > yields + 2, "others went on between the steers");
    assert_eq!(bed.steer("t1", &long("s3")).status, 202);
    bed.post(&results("t1", &[(&calls[0], json!(1))])).final_text();
    bed.assert_chain_held();
}
