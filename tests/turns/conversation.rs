//! The model service receives every item of the conversation once, and no item that it refused
//! (interface §2 and §4).

use serde_json::json;

use bed::*;

#[test]
fn in_replay_mode_the_whole_conversation_is_sent_each_time_and_nothing_is_stored_there() {
    let bed = Bed::new();
    let request =
        with(turn("t1", "Look [plan: mixed]"), json!({ "ConversationContextId": "replay" }));
    let asked = bed.post(&request).calls();
    bed.restart();
    bed.post(&results("t1", &[(&asked[0], json!(1)), (&asked[1], json!(2))])).final_text();
    bed.world.model.spoil_after(0, Reply::Unreachable);
    assert_eq!(bed.post(&turn("t2", "Lost?")).failure(), (502, "upstream_unavailable"));
    bed.world.model.mend();
    bed.post(&turn("t3", "Last")).final_text();
    for body in bed.world.model.bodies() {
        assert_eq!((&body["store"], body.get("previous_response_id")), (&false.into(), None));
    }
    let said = bed.world.model.conversation().said();
    assert_eq!(said.len(), 1 + 1 + 4 + 4 + 1 + 1 + 1 + 1, "{said:?}");
    assert_eq!(bed.world.model.conversation().heard("Lost?"), 1);
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "conversation");
}

#[test]
fn a_lost_chain_is_rebuilt_from_the_stored_conversation() {
    let bed = Bed::new();
    bed.post(&turn("t1", "One")).final_text();
    let asked = bed.post(&turn("t2", "Two [plan: mixed]")).calls();
    let before = bed.world.model.conversation().said();
    bed.world.model.forget();
    bed.post(&results("t2", &[(&asked[0], json!(1)), (&asked[1], json!(2))])).final_text();
    let after = bed.world.model.conversation().said();
    assert_eq!(after[..before.len()], before);
    bed.post(&turn("t3", "Three")).final_text();
    assert_eq!(bed.world.model.requests(), 2 + 2 + 1, "one call in vain");
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "conversation");
}

#[test]
fn turns_that_were_made_without_a_chain_are_in_the_chain_that_comes_after_them() {
    let bed = Bed::new();
    bed.post(&turn("t1", "One")).final_text();
    let asks_for = |continuation: &str| {
        bed.configure(|catalog| {
            catalog["AgentContexts"]["default"]["Continuation"] = json!(continuation);
        });
    };
    asks_for("replay");
    bed.post(&turn("t2", "Two [plan: server]")).final_text();
    asks_for("stored");
    bed.post(&turn("t3", "Three")).final_text();
    bed.post(&turn("t4", "Four")).final_text();
    let conversation = bed.world.model.conversation();
    for word in ["One", "Two", "Three", "Four"] {
        assert_eq!(conversation.heard(&format!("[INSTRUCTION]\n{word}")), 1, "{word}");
    }
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "turns without a chain");
}

#[test]
fn only_refused_words_leave_the_conversation() {
    let bed = Bed::new();
    let no =
        || http_error(400, json!({ "param": "input[0].content[0]", "code": "invalid_value" }), &[]);
    bed.post(&turn("t1", "One")).final_text();
    bed.world.model.spoil_after(0, Reply::Unreachable);
    bed.post(&turn("t2", "Innocent")).failure();
    bed.world.model.mend();
    let guilty = with(turn("t3", "Guilty"), json!({ "SolutionContextText": "S" }));
    for _ in 0..3 {
        // With all entries, without those of others, and without the solution context.
        // Then as a whole in place of the chain, and without the turns before.
        bed.world.model.script(std::iter::repeat_with(no).take(8));
        assert_eq!(bed.post(&guilty).failure(), (502, "upstream_rejected"));
        bed.settle();
        // The replies of the script that no call took.
        while bed.world.model.drop_scripted() {}
    }
    assert_eq!(bed.post(&turn("t4", "Next")).final_text(), "Answer to Next.");
    let conversation = bed.world.model.conversation();
    let heard = ["One", "Innocent", "Guilty", "Next", "[SOLUTION CONTEXT]\nS"]
        .map(|words| conversation.heard(words));
    assert_eq!(heard, [1, 1, 0, 1, 1]);
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "conversation");
}

#[test]
fn refused_words_of_a_cancelled_turn_do_not_block_the_session() {
    // The service refuses every input with these words, and the turn that brings them is cancelled first.
    let bed = Bed::new();
    let refuse = |conversation: &Conversation| match conversation.heard("Poison") {
        0 => planned(conversation),
        _ => http_error(400, json!({ "param": "input", "code": "invalid_prompt" }), &[]),
    };
    bed.world.model.think(refuse);
    bed.world.model.script([say("Slow.").silent_after(1).into()]);
    let running = bed.send(&turn("t1", "Poison"));
    bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
    bed.try_cancel("t1").unwrap();
    bed.wait(&running).unwrap();
    // The call is repeated without them, which shows whose words were refused.
    assert_eq!(bed.post(&turn("t2", "Two")).final_text(), "Answer to Two.");
    assert_eq!(bed.world.model.requests(), 3);
    bed.world.model.forget();
    assert_eq!(bed.post(&turn("t3", "Three")).final_text(), "Answer to Three.");
    let conversation = bed.world.model.conversation();
    assert_eq!(["Poison", "Two", "Three"].map(|words| conversation.heard(words)), [0, 1, 1]);
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "conversation");
}

#[test]
fn a_tool_result_that_the_service_refuses_is_withheld_and_the_session_goes_on() {
    for (plan, repeated_first) in
        [("server", true), ("server", false), ("client", true), ("client", false)]
    {
        let bed = Bed::new();
        let refuse = |conversation: &Conversation| match conversation
            .outputs()
            .iter()
            .any(|(_, output)| output.contains("poison"))
        {
            false => planned(conversation),
            true => http_error(
                400,
                json!({ "param": "input[0].output", "code": "string_above_max_length" }),
                &[],
            ),
        };
        bed.world.model.think(refuse);
        bed.world.tools.script([ToolAnswer::Json(json!("poison"))]);
        let mut request = turn("t1", &format!("Look [plan: {plan}]"));
        let mut heard = bed.post(&request);
        if plan == "client" {
            request = results("t1", &[(&heard.calls()[0], json!("poison"))]);
            heard = bed.post(&request);
        }
        assert_eq!(heard.failure(), (502, "upstream_rejected"));
        bed.restart();
        if repeated_first {
            assert_eq!(bed.post(&request).final_text(), "Answer to Look.");
        }
        assert_eq!(bed.post(&turn("t2", "Next")).final_text(), "Answer to Next.");
        let outputs = bed.world.model.conversation().outputs();
        assert!(outputs[0].1.starts_with(r#"{"error":"#), "{outputs:?}");
        bed.assert_chain_held();
        super::replays::assert_replays(&bed, "conversation");
    }
}

#[test]
fn the_next_turn_carries_the_words_of_a_failed_turn() {
    let bed = Bed::new();
    bed.world.model.spoil_after(0, http_error(500, json!({}), &[]));
    for id in ["t1", "t2"] {
        assert_eq!(
            bed.post(&turn(id, &format!("Words of {id}"))).failure(),
            (502, "upstream_unavailable")
        );
    }
    assert_eq!(bed.world.model.requests(), 6, "each call was made three times");
    bed.world.model.mend();
    bed.restart();
    bed.post(&turn("t3", "Words of t3")).final_text();
    let conversation = bed.world.model.conversation();
    assert_eq!(
        ["t1", "t2", "t3"].map(|id| conversation.heard(&format!("Words of {id}"))),
        [1, 1, 1]
    );
}

#[test]
fn a_failed_turn_that_is_repeated_after_others_sends_its_words_again() {
    let bed = Bed::new();
    let request = turn("t1", "Late [plan: server]");
    bed.world.model.spoil_after(1, failed("server_error"));
    bed.post(&request).failure();
    bed.world.model.mend();
    bed.post(&turn("t2", "Next")).final_text();
    let paused = bed.post(&turn("t3", "Ask [plan: client]"));
    assert_eq!(bed.post(&request).failure(), (409, "turn_awaiting_tools"));
    bed.post(&results("t3", &[(&paused.calls()[0], json!(1))])).final_text();
    let heard = bed.post(&request);
    assert_eq!(heard.final_text(), "Answer to Late.");
    assert_eq!(bed.post(&request).text, heard.text);
    assert_eq!(bed.world.model.conversation().heard("Late"), 2);
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "conversation");
}

#[test]
fn of_the_earlier_turns_that_the_model_has_not_got_only_the_refused_one_leaves() {
    for error in [json!({ "param": "input", "code": "invalid_value" }), json!({})] {
        for guilty in 1..=4 {
            let bed = Bed::new();
            bed.post(&turn("t0", "Begin")).final_text();
            bed.world.model.spoil_after(0, Reply::Unreachable);
            let words = |n| if n == guilty { "Poison".to_owned() } else { format!("Words of {n}") };
            for n in 1..=4 {
                bed.post(&turn(&format!("t{n}"), &words(n))).failure();
            }
            bed.world.model.mend();
            let error = error.clone();
            bed.world.model.think(move |conversation| match conversation.heard("Poison") {
                0 => planned(conversation),
                _ => http_error(400, error.clone(), &[]),
            });
            let before = bed.world.model.requests();
            assert_eq!(bed.post(&turn("t5", "Next")).final_text(), "Answer to Next.");
            let made = bed.world.model.requests() - before;
            assert_eq!(made, 1 + (5 - guilty), "the newest turn is tried first");
            let conversation = bed.world.model.conversation();
            for n in 1..=4 {
                let expected = usize::from(n != guilty);
                assert_eq!(conversation.heard(&words(n)), expected, "{guilty}: {n}");
            }
            bed.post(&turn("t6", "Last")).final_text();
            bed.assert_chain_held();
            super::replays::assert_replays(&bed, "only the refused turn");
        }
    }
}

#[test]
fn where_two_earlier_turns_are_refused_all_that_the_model_has_not_got_leave() {
    let bed = Bed::new();
    bed.world.model.spoil_after(0, Reply::Unreachable);
    for (id, words) in [("t1", "Poison"), ("t2", "Words"), ("t3", "Poison")] {
        bed.post(&turn(id, words)).failure();
    }
    bed.world.model.mend();
    bed.world.model.think(|conversation| match conversation.heard("Poison") {
        0 => planned(conversation),
        _ => http_error(400, json!({ "param": "input", "code": "invalid_value" }), &[]),
    });
    assert_eq!(bed.post(&turn("t4", "Next")).final_text(), "Answer to Next.");
    assert_eq!(bed.world.model.conversation().heard("Words"), 0);
    bed.assert_chain_held();
}
