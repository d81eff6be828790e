//! Each rung, what it sends, how long it holds, and what does not climb.

use super::*;

#[test]
fn a_call_that_nobody_asked_for_and_nobody_answers_is_not_gone_on_from() {
    for context in ["default", "replay"] {
        let bed = Bed::new();
        bed.post(&turn_in(context, "t1", "One")).final_text();
        let items = vec![unasked("ctc_1"), Item::Text(vec!["Two.".to_owned()])];
        bed.world.model.script([says(items).into()]);
        bed.post(&turn_in(context, "t2", "Second")).final_text();
        for number in 3..6 {
            let heard = bed.post(&turn_in(context, &format!("t{number}"), "Next"));
            assert_eq!(heard.final_text(), "Answer to Next.", "{context}");
        }
        let bodies = bed.world.model.bodies();
        let whole = &bodies[2];
        assert!(whole["previous_response_id"].is_null());
        assert!(whole["input"].to_string().contains("[INSTRUCTION]\\nOne"));
        assert!(!whole["input"].to_string().contains("custom_tool_call"));
        // From there on a new chain grows.
        assert_eq!(bodies[3]["previous_response_id"].is_string(), context == "default");
        assert_eq!(model_calls(&bed, "t2")[0]["Unanswered"], true);
        assert_eq!(reduced(&bed, "t3"), ["-"]);
        bed.assert_chain_held();
        assert_replays(&bed, context);
    }
}

#[test]
fn a_call_with_its_output_beside_it_is_gone_on_from() {
    let bed = Bed::new();
    let shell =
        json!({ "type": "shell_call", "call_id": "s", "action": {}, "status": "completed" });
    let output = json!({ "type": "shell_call_output", "call_id": "s", "output": [] });
    let text = Item::Text(vec!["Done.".to_owned()]);
    bed.world.model.script([says(vec![Item::Hosted(shell), Item::Hosted(output), text]).into()]);
    bed.post(&turn("t1", "One")).final_text();
    bed.post(&turn("t2", "Two")).final_text();
    assert!(bed.world.model.bodies()[1]["previous_response_id"].is_string());
    assert!(model_calls(&bed, "t1")[0].get("Unanswered").is_none());
}

/// Three turns: plain, with tools, and with reasoning and a search.
fn three_turns(bed: &Bed, context: &str) {
    bed.post(&turn_in(context, "t1", "First. [plan: server]")).final_text();
    bed.post(&turn_in(context, "t2", "Second.")).final_text();
    let items = vec![Item::Reasoning, searched(), Item::Text(vec!["Found it.".to_owned()])];
    bed.world.model.script([says(items).into()]);
    bed.post(&turn_in(context, "t3", "Third.")).final_text();
}

#[test]
fn a_chain_that_is_refused_is_sent_as_a_whole_from_then_on() {
    let bed = Bed::new();
    three_turns(&bed, "default");
    bed.world
        .model
        .rules
        .refuse_by(|body, _| body["previous_response_id"].is_string().then(refusal));
    bed.post(&turn("t4", "Fourth")).final_text();
    assert_eq!(reduced(&bed, "t4"), ["-", "whole"]);
    assert_eq!(logged(&bed), [("whole".to_owned(), json!("odd_request"))]);
    bed.post(&turn("t5", "Fifth")).final_text();
    assert_eq!(reduced(&bed, "t5"), ["whole"]);
    assert_eq!(bed.world.model.rules.refused.borrow().len(), 1);
    bed.assert_chain_held();
    assert_replays(&bed, "whole");
}

#[test]
fn a_refusal_that_quotes_the_conversation_at_any_length_is_one_like_any_other() {
    let bed = Bed::new();
    three_turns(&bed, "replay");
    bed.world.model.rules.refuse_by(|_, items| {
        let quoted = format!("1 validation error: {}", "quoted ".repeat(20_000));
        let body = json!({ "error": { "type": "Bad Request", "message": quoted } }).to_string();
        let pieces = body.as_bytes().chunks(16_000).map(|piece| Piece::Bytes(piece.to_vec()));
        of_kind(items, "reasoning").then(|| Reply::Http(HttpReply::in_pieces(400, pieces)))
    });
    bed.post(&turn_in("replay", "t4", "Fourth")).final_text();
    assert_eq!(reduced(&bed, "t4"), ["-", "items"]);
    bed.post(&turn_in("replay", "t5", "Fifth")).final_text();
    assert_eq!(reduced(&bed, "t5"), ["items"]);
}

#[test]
fn words_about_what_a_call_has_not_asked_for_concern_what_it_has_sent() {
    let of_storage =
        "Item with id 'fc_1' not found. Items are not persisted when `store` is set to false.";
    let of_background = "An item of background mode is unknown.";
    for context in ["default", "replay"] {
        for (status, words) in [(404, of_storage), (400, of_storage), (400, of_background)] {
            let bed = Bed::new();
            three_turns(&bed, context);
            bed.world.model.rules.refuse_by(move |_, items| {
                let refusal = || http_error(status, json!({ "message": words }), &[]);
                of_kind(items, "function_call").then(refusal)
            });
            bed.post(&turn_in(context, "t4", "Fourth")).final_text();
            assert_eq!(
                reduced(&bed, "t4").last().unwrap(),
                "plain",
                "{context}, {status}: {words}"
            );
            bed.post(&turn_in(context, "t5", "Fifth")).final_text();
            assert_eq!(reduced(&bed, "t5"), ["plain"], "{context}, {status}: {words}");
            assert_replays(&bed, context);
        }
    }
}

#[test]
fn what_a_gateway_does_not_know_is_no_place_in_a_request() {
    let said = json!({ "message": "no", "type": "None", "param": "None", "code": "400" });
    let in_a_stream = format!("data: {}\n\n", json!({ "error": said }));
    for refusal in [http_error(400, said, &[]), raw(&[&in_a_stream])] {
        let bed = Bed::new();
        three_turns(&bed, "replay");
        bed.world
            .model
            .rules
            .refuse_by(move |_, items| of_kind(items, "reasoning").then(|| refusal.clone()));
        bed.post(&turn_in("replay", "t4", "Fourth")).final_text();
        assert_eq!(reduced(&bed, "t4"), ["-", "items"]);
        bed.post(&turn_in("replay", "t5", "Fifth")).final_text();
        assert_eq!(reduced(&bed, "t5"), ["items"]);
    }
}

/// A second turn whose final text comes when a steer has, and a service that refuses what `breaks` says from then on.
fn steered(bed: &Bed, words: &str, breaks: fn(&Value) -> bool) -> Heard {
    bed.post(&turn("t1", "First.")).final_text();
    bed.world.model.script([say("Done.").paced(5).into()]);
    let pending = bed.send(&turn("t2", "Second."));
    bed.run_until(|bed| bed.world.model.requests() == 2, "the model is called");
    let steer = json!({ "SteerId": "s1", "Instruction": words });
    assert_eq!(bed.steer("t2", &steer).status, 202);
    bed.world.model.rules.refuse_by(move |body, _| breaks(body).then(refusal));
    bed.wait(&pending).unwrap()
}

#[test]
fn a_steer_is_not_blamed_for_a_chain_that_is_refused() {
    let bed = Bed::new();
    let heard = steered(&bed, "Rather this.", |body| body["previous_response_id"].is_string());
    heard.final_text();
    assert!(heard.result()["UserWarnings"].is_null(), "{}", heard.text);
    let state = bed.asked("GET", "/sessions/s/turns/t2", "").result()["Steers"][0].clone();
    assert_eq!(state["State"], "delivered");
    for words in ["Rather this.", "Second."] {
        assert_eq!(bed.world.model.conversation().heard(words), 1, "{words}");
    }
    assert_eq!(reduced(&bed, "t2").last().unwrap(), "whole");
    bed.assert_chain_held();
}

#[test]
fn a_steer_that_no_rung_takes_leaves_before_its_turn_does() {
    let bed = Bed::new();
    let heard = steered(&bed, "Bad.", |body| {
        body["previous_response_id"].is_string() || body["input"].to_string().contains("Bad.")
    });
    heard.final_text();
    assert_eq!(heard.result()["UserWarnings"].as_array().unwrap().len(), 1, "{}", heard.text);
    let state = bed.asked("GET", "/sessions/s/turns/t2", "").result()["Steers"][0].clone();
    assert_eq!(state["State"], "refused");
    bed.post(&turn("t3", "Third.")).final_text();
    assert_eq!(bed.world.model.conversation().heard("First."), 1);
    bed.assert_chain_held();
}

#[test]
fn a_turn_that_is_refused_without_its_steer_too_leaves_nothing_that_it_was_sent_with() {
    let bed = Bed::new();
    let heard = steered(&bed, "Bad.", |body| {
        let input = body["input"].to_string();
        let is_bad = input.contains("Second.") || input.contains("Bad.");
        is_bad || body["previous_response_id"].is_string()
    });
    assert_eq!(heard.failure().0, 502);
    bed.world.model.rules.refuse_nothing();
    bed.post(&turn("t3", "Third.")).final_text();
    let sent = bed.world.model.latest_body();
    // The model has responded to the turn's message before.
    assert_eq!((sent.matches("Second.").count(), sent.contains("Bad.")), (1, false), "{sent}");
    bed.assert_chain_held();
}

#[test]
fn the_solution_context_is_sent_again_where_the_turn_that_showed_it_is_left_out() {
    for context in ["default", "replay"] {
        let bed = Bed::new();
        let shows = json!({ "SolutionContextText": "Solution." });
        bed.post(&with(turn_in(context, "t1", "Odd."), shows)).final_text();
        bed.world.model.rules.refuse_by(|body, _| {
            let is_odd = body["input"].to_string().contains("Odd.");
            (is_odd || body["previous_response_id"].is_string()).then(refusal)
        });
        bed.post(&turn("t2", "Second.")).final_text();
        assert_eq!(reduced(&bed, "t2").last().unwrap(), "turn");
        let heard = bed.world.model.conversation().heard("[SOLUTION CONTEXT]\nSolution.");
        assert_eq!(heard, 1, "{context}");
        let trace = bed.asked("GET", "/sessions/s/turns/t2/trace", "");
        // The system message, the note, and the turn's own message.
        assert_eq!(trace.result()["Compactions"][0]["ItemsAfter"], 3);
        bed.assert_chain_held();
        assert_replays(&bed, context);
    }
}

#[test]
fn a_conversation_that_is_sent_as_plain_messages_is_summarised_where_it_is_too_long() {
    let bed = Bed::new();
    three_turns(&bed, "default");
    let known = bed.world.model.conversation().outputs()[0].0.clone();
    refuse(&bed, move |items| items.iter().any(|item| item["call_id"] == *known));
    bed.post(&turn("t4", "Fourth.")).final_text();
    assert_eq!(reduced(&bed, "t4").last().unwrap(), "plain");
    let too_long = http_error(400, json!({ "code": "context_length_exceeded" }), &[]);
    bed.world.model.narrow(8_000, too_long);
    let mut compactions = Vec::new();
    for number in 5..15 {
        let id = format!("t{number}");
        bed.post(&turn(&id, &format!("Words {}", "word ".repeat(200)))).final_text();
        let trace = bed.asked("GET", &format!("/sessions/s/turns/{id}/trace"), "");
        compactions.extend(trace.result()["Compactions"].as_array().cloned().unwrap_or_default());
        assert_eq!(reduced(&bed, &id).last().unwrap(), "plain", "{id}");
    }
    assert!(!compactions.is_empty());
    for compaction in compactions {
        assert!(compaction["SummaryBytes"].as_u64() > Some(0), "{compaction}");
        assert_eq!(compaction["TurnsLeftOut"], 0, "{compaction}");
    }
    bed.assert_chain_held();
}

#[test]
fn reasoning_and_hosted_items_are_left_out_and_the_turns_stay_what_they_are() {
    let bed = Bed::new();
    three_turns(&bed, "replay");
    refuse(&bed, |items| of_kind(items, "reasoning"));
    bed.post(&turn("t4", "Fourth")).final_text();
    assert_eq!(reduced(&bed, "t4"), ["-", "items"]);
    let body = bed.world.model.bodies().pop().unwrap();
    let Conversation(sent) = Conversation::of(&body);
    assert!(of_kind(&sent, "function_call"));
    assert!(!of_kind(&sent, "web_search_call"));
    assert!(!body["input"].to_string().contains("\"id\":"), "{body}");
    bed.assert_chain_held();
    assert_replays(&bed, "items");
}

#[test]
fn earlier_turns_become_plain_messages_with_a_line_for_each_call() {
    for context in ["default", "replay"] {
        let bed = Bed::new();
        three_turns(&bed, context);
        let known = bed.world.model.conversation().outputs()[0].0.clone();
        refuse(&bed, move |items| items.iter().any(|item| item["call_id"] == *known));
        bed.post(&turn("t4", "Fourth [plan: server]")).final_text();
        let whole = if context == "default" { 2 } else { 1 };
        let refused = bed.world.model.rules.refused.borrow().len();
        let tried = reduced(&bed, "t4");
        assert_eq!(tried[refused..], ["plain", "plain"], "{tried:?}");
        assert!(refused > whole - 1 && refused <= 3, "{tried:?}");
        let sent = bed.world.model.bodies().last().unwrap()["input"].clone();
        let sent = sent.as_array().unwrap();
        let plain = |role: &str, text: &str| {
            sent.iter()
                .any(|item| item["role"] == role && item["content"].to_string().contains(text))
        };
        assert!(plain("user", "First. [plan: server]") && plain("user", "Third."), "{sent:?}");
        let line = r#"[tool lookup(\"{\\\"of\\\":\\\"x\\\"}\") → \""#;
        assert!(plain("assistant", line), "{sent:?}");
        assert!(plain("assistant", "Answer to First.") && plain("assistant", "Found it."));
        // The turn's own call stays a call.
        assert_eq!(sent.iter().filter(|item| item["type"] == "function_call").count(), 1);
        assert_eq!(sent.iter().filter(|item| !item["call_id"].is_null()).count(), 2);
        bed.post(&turn("t5", "Fifth")).final_text();
        assert_eq!(reduced(&bed, "t5"), ["plain"]);
        assert_eq!(bed.world.model.rules.refused.borrow().len(), refused);
        bed.assert_chain_held();
        assert_replays(&bed, context);
    }
}

#[test]
fn at_last_earlier_turns_are_left_out_with_a_note_and_a_warning_and_storage_keeps_them() {
    for context in ["default", "replay"] {
        let bed = Bed::new();
        three_turns(&bed, context);
        let says_it = |items: &[ConversationItem]| {
            items.iter().any(|item| item.to_string().contains("Second."))
        };
        refuse(&bed, says_it);
        let heard = bed.post(&turn("t4", "Fourth"));
        assert_eq!(heard.final_text(), "Answer to Fourth.");
        let warnings = heard.result()["UserWarnings"].to_string();
        assert!(warnings.contains("3 earlier turns"), "{warnings}");
        assert_eq!(reduced(&bed, "t4").last().unwrap(), "turn");
        assert!(bed.world.model.rules.refused.borrow().len() <= 4);
        let sent = bed.world.model.bodies().last().unwrap()["input"].to_string();
        assert!(sent.contains("[EARLIER TURNS LEFT OUT]") && sent.contains("Boot."), "{sent}");
        // Later turns are added in plain words, and refuse nothing.
        let before = bed.world.model.rules.refused.borrow().len();
        bed.post(&turn("t5", "Fifth [plan: server]")).final_text();
        bed.post(&turn("t6", "Sixth")).final_text();
        assert_eq!(reduced(&bed, "t6"), ["turn"]);
        assert_eq!(bed.world.model.rules.refused.borrow().len(), before);
        let sent = bed.world.model.bodies().last().unwrap()["input"].to_string();
        assert!(sent.contains("Fourth") && sent.contains("[tool lookup("), "{sent}");
        assert!(bed.export().to_string().contains("Second."));
        // Where a later turn is refused, the cut moves.
        refuse(&bed, |items| items.iter().any(|item| item.to_string().contains("Fifth")));
        bed.post(&turn("t7", "Seventh")).final_text();
        assert_eq!(reduced(&bed, "t7"), ["turn", "turn"]);
        let sent = bed.world.model.bodies().last().unwrap()["input"].to_string();
        assert!(!sent.contains("Fifth") && !sent.contains("Fourth"), "{sent}");
        bed.assert_chain_held();
        assert_replays(&bed, context);
    }
}

#[test]
fn a_turn_that_is_refused_even_alone_fails_and_leaves_and_the_rung_is_not_kept() {
    for context in ["default", "replay"] {
        let bed = Bed::new();
        three_turns(&bed, context);
        refuse(&bed, |items| items.iter().any(|item| item.to_string().contains("Unheard")));
        let heard = bed.post(&turn("t4", "Unheard"));
        assert_eq!(heard.failure(), (502, "upstream_rejected"), "{}", heard.text);
        let refused = bed.world.model.rules.refused.borrow().len();
        assert!(refused <= 5, "{refused}");
        bed.post(&turn("t5", "Fifth")).final_text();
        assert_eq!(reduced(&bed, "t5"), ["-"]);
        assert_eq!(bed.world.model.rules.refused.borrow().len(), refused);
        let conversation = bed.world.model.conversation();
        assert_eq!((conversation.heard("Unheard"), conversation.heard("First.")), (0, 1));
        bed.assert_chain_held();
    }
}

#[test]
fn after_a_day_the_rung_below_is_tried_so_that_a_passing_fault_costs_nobody_the_past() {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    let bed = Bed::new();
    three_turns(&bed, "replay");
    let pass_a_day = || bed.world.executor.set_now_ms(bed.world.executor.now_ms() + DAY_MS);
    let refused = || bed.world.model.rules.refused.borrow().len();
    refuse(&bed, |items| items.iter().any(|item| item.to_string().contains("Second.")));
    bed.post(&turn("t4", "Fourth")).final_text();
    bed.post(&turn("t5", "Fifth")).final_text();
    let before = refused();
    // The fault is still there: it costs one call, and the cut stays where it was.
    pass_a_day();
    bed.post(&turn("t6", "Sixth")).final_text();
    assert_eq!((reduced(&bed, "t6"), refused()), (vec!["plain".into(), "turn".into()], before + 1));
    assert!(bed.world.model.bodies().last().unwrap()["input"].to_string().contains("Fourth"));
    bed.post(&turn("t7", "Seventh")).final_text();
    assert_eq!((reduced(&bed, "t7"), refused()), (vec!["turn".into()], before + 1));
    // Now it is gone.
    bed.world.model.rules.refuse_nothing();
    for (number, expected) in [(8, "plain"), (9, "items"), (10, "-"), (11, "-")] {
        pass_a_day();
        let id = format!("t{number}");
        bed.post(&turn(&id, "Next")).final_text();
        assert_eq!(reduced(&bed, &id), [expected], "{id}");
    }
    assert!(bed.world.model.conversation().heard("Second.") == 1);
    assert_eq!(refused(), before + 1);
    bed.assert_chain_held();
    assert_replays(&bed, "days");
}

#[test]
fn another_model_begins_without_a_rung() {
    let bed = Bed::new();
    three_turns(&bed, "replay");
    refuse(&bed, |items| items.iter().any(|item| item.to_string().contains("Second.")));
    bed.post(&turn("t4", "Fourth")).final_text();
    assert_eq!(reduced(&bed, "t4").last().unwrap(), "turn");
    bed.world.model.rules.refuse_nothing();
    bed.configure(|catalog| catalog["AgentContexts"]["replay"]["Model"] = json!("another"));
    bed.post(&turn("t5", "Fifth")).final_text();
    assert_eq!(reduced(&bed, "t5"), ["-"]);
    assert_eq!(bed.world.model.conversation().heard("Second."), 1);
}

#[test]
fn what_the_operator_mends_and_what_a_service_will_not_hear_does_not_climb() {
    for (what, reply) in [
        ("a parameter", http_error(400, json!({ "param": "temperature" }), &[])),
        ("the model", http_error(404, json!({ "code": "model_not_found" }), &[])),
        ("the model by name", http_error(400, json!({ "message": "The model `m` is gone." }), &[])),
        ("a policy", http_error(400, json!({ "code": "cyber_policy", "param": "input" }), &[])),
        ("a key", http_error(401, json!({}), &[])),
        ("a right", http_error(403, json!({}), &[])),
        ("a page", Reply::Http(HttpReply::new(404, "<html>Not found</html>"))),
        ("in the stream", failed("content_filter")),
    ] {
        let bed = Bed::new();
        three_turns(&bed, "default");
        bed.world.model.spoil_after(0, reply);
        bed.post(&turn("t4", "Fourth")).failure();
        assert_eq!(reduced(&bed, "t4"), ["-"], "{what}");
        assert!(logged(&bed).is_empty(), "{what}");
        bed.world.model.mend();
        bed.post(&turn("t5", "Fifth")).final_text();
        assert_eq!(reduced(&bed, "t5"), ["-"], "{what}");
    }
}

#[test]
fn a_conflict_is_repeated_before_the_first_rung_and_on_none() {
    let bed = Bed::new();
    three_turns(&bed, "default");
    bed.world.model.spoil_after(0, http_error(409, json!({ "message": "Conflict." }), &[]));
    let before = bed.world.model.requests();
    assert_eq!(bed.post(&turn("t4", "Fourth")).failure(), (502, "upstream_unavailable"));
    let calls = model_calls(&bed, "t4");
    let repeats: Vec<usize> =
        calls.iter().map(|call| call["Retries"].as_array().unwrap().len()).collect();
    assert_eq!(repeats[0], 2);
    assert!(repeats[1..].iter().all(|repeats| *repeats == 0) && calls.len() == 5, "{repeats:?}");
    assert_eq!(bed.world.model.requests(), before + 3 + 4);
}

#[test]
fn a_budget_is_looked_at_before_each_rung() {
    let bed = Bed::new();
    three_turns(&bed, "default");
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Budget"] = json!({ "TurnTokens": 120 });
    });
    let failing =
        Answer { ending: Ending::Failed("odd_request"), failing_usage: true, ..says(Vec::new()) };
    bed.world.model.spoil_after(0, failing.into());
    let before = bed.world.model.requests();
    assert_eq!(bed.post(&turn("t4", "Fourth")).failure().1, "budget_exceeded");
    assert_eq!(bed.world.model.requests(), before + 1);
}
