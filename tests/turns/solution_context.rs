//! A solution context that the model service does not take is left out, and the session goes on (AGN-034 §4.5).

use serde_json::json;

use super::*;

const LEFT_OUT: &str = "The answer was given without the solution context: the model does not take it, or it is too long.";

fn given(id: &str, words: &str, context: &str) -> Value {
    with(turn(id, words), json!({ "SolutionContextText": context }))
}

/// Whether the client is told that the context was left out.
fn is_left_out(heard: &Heard) -> bool {
    heard.final_text();
    let warnings = heard.result()["UserWarnings"].as_array().cloned().unwrap_or_default();
    warnings.contains(&LEFT_OUT.into())
}

/// The ways in which a service does not take a context that begins with `Poison`.
fn refusing(how: &str) -> Bed {
    let bed = Bed::new();
    match how {
        "its words" => bed.world.model.think(|conversation| {
            match conversation.heard("[SOLUTION CONTEXT]\nPoison") {
                0 => planned(conversation),
                _ => http_error(400, json!({ "param": "input", "code": "invalid_prompt" }), &[]),
            }
        }),
        _ => bed
            .world
            .model
            .narrow(16_000, http_error(400, json!({ "code": "context_length_exceeded" }), &[])),
    }
    bed
}

#[test]
fn a_solution_context_that_is_refused_is_remembered_and_left_out_until_another_comes() {
    let poison = format!("Poison {}", "word ".repeat(8_000));
    for how in ["its words", "its length", "its length, without compaction"] {
        for context in ["default", "replay"] {
            let bed = refusing(how);
            if how.ends_with("without compaction") {
                bed.configure(|catalog| {
                    catalog["AgentContexts"][context]["Compaction"] = json!({ "By": "None" });
                });
            }
            let first = with(given("t1", "One", "A"), json!({ "ConversationContextId": context }));
            assert!(!is_left_out(&bed.post(&first)));
            assert!(is_left_out(&bed.post(&given("t2", "Two", &poison))), "{how}, {context}");
            // What was said before is all there.
            let heard = |words: &str| bed.world.model.conversation().heard(words);
            assert_eq!(["One", "Two", "Poison"].map(heard), [1, 1, 0], "{how}, {context}");
            let calls = bed.world.model.requests();
            bed.restart();
            assert!(is_left_out(&bed.post(&turn("t3", "Three"))));
            assert!(is_left_out(&bed.post(&given("t4", "Four", &poison))));
            assert_eq!(bed.world.model.requests(), calls + 2, "nothing is asked in vain");
            assert_eq!(bed.export()["Result"]["SolutionContextText"], poison.as_str());
            bed.world.model.forget();
            assert!(is_left_out(&bed.post(&turn("t5", "Five"))));
            assert!(!is_left_out(&bed.post(&given("t6", "Six", "B"))));
            assert!(!is_left_out(&bed.post(&turn("t7", "Seven"))));
            let heard = |words: &str| bed.world.model.conversation().heard(words);
            let words = ["One", "Two", "Five", "Poison", "[SOLUTION CONTEXT]\nB"];
            assert_eq!(words.map(heard), [1, 1, 1, 0, 1], "{how}, {context}");
            // Another one has come in between, so the service is asked again.
            let calls = bed.world.model.requests();
            assert!(is_left_out(&bed.post(&given("t8", "Eight", &poison))));
            assert!(bed.world.model.requests() > calls + 1);
            assert!(!is_left_out(&bed.post(&given("t9", "Nine", ""))));
            bed.assert_chain_held();
            super::replays::assert_replays(&bed, how);
        }
    }
}

#[test]
fn a_context_that_an_unanswered_turn_brought_is_left_out_in_its_place() {
    for how in ["its words", "its length"] {
        let bed = refusing(how);
        bed.post(&turn("t1", "One")).final_text();
        bed.world.model.spoil_after(0, Reply::Unreachable);
        let poison = format!("Poison {}", "word ".repeat(8_000));
        bed.post(&given("t2", "Two", &poison)).failure();
        bed.world.model.mend();
        for id in ["t3", "t4"] {
            assert_eq!(bed.post(&turn(id, "Next")).final_text(), "Answer to Next.", "{how}");
        }
        assert!(is_left_out(&bed.post(&turn("t5", "Last"))));
        bed.assert_chain_held();
        super::replays::assert_replays(&bed, how);
    }
}

#[test]
fn a_context_that_is_refused_in_words_that_explain_nothing_is_left_out_like_others() {
    fn gone() -> Reply {
        http_error(404, json!({ "message": "Item not found.", "code": "item_not_found" }), &[])
    }
    fn failed() -> Reply {
        Answer { ending: Ending::Failed("unsupported_item"), ..says(Vec::new()) }.into()
    }
    for refusal in [gone as fn() -> Reply, failed] {
        for context in ["default", "replay"] {
            let bed = Bed::new();
            let first = with(given("t1", "One", "A"), json!({ "ConversationContextId": context }));
            assert!(!is_left_out(&bed.post(&first)));
            bed.world.model.rules.refuse_by(move |body, _| {
                body["input"].to_string().contains("Poison").then(refusal)
            });
            assert!(is_left_out(&bed.post(&given("t2", "Two", "Poison"))), "{context}");
            let calls = bed.world.model.requests();
            assert!(is_left_out(&bed.post(&turn("t3", "Three"))));
            assert_eq!(bed.world.model.requests(), calls + 1, "nothing is asked in vain");
            let heard = |words: &str| bed.world.model.conversation().heard(words);
            assert_eq!(["One", "Two", "Three", "Poison"].map(heard), [1, 1, 1, 0], "{context}");
            bed.assert_chain_held();
        }
    }
}

#[test]
fn a_solution_context_is_not_blamed_for_the_words_of_its_turn() {
    for how in ["its words", "its length"] {
        let bed = refusing(how);
        bed.world.model.think(|conversation| match conversation.heard("Guilty") {
            0 => planned(conversation),
            _ => http_error(400, json!({ "param": "input", "code": "invalid_prompt" }), &[]),
        });
        let guilty = format!("Guilty {}", "word ".repeat(8_000));
        let (status, code) = match how {
            "its words" => (502, "upstream_rejected"),
            _ => (413, "context_window_exceeded"),
        };
        assert_eq!(bed.post(&given("t1", &guilty, "Innocent.")).failure(), (status, code));
        let next = bed.post(&turn("t2", "Next"));
        assert!(!is_left_out(&next), "{how}");
        let conversation = bed.world.model.conversation();
        assert_eq!(["Guilty", "Innocent."].map(|words| conversation.heard(words)), [0, 1], "{how}");
        bed.assert_chain_held();
        super::replays::assert_replays(&bed, how);
    }
}

#[test]
fn a_turn_that_is_repeated_behind_another_context_does_not_bring_its_own_back() {
    for is_refused in [false, true] {
        let bed = refusing("its words");
        let old = if is_refused { "Poison" } else { "Old" };
        let first = given("t1", "One", old);
        bed.world.model.spoil_after(0, Reply::Unreachable);
        bed.post(&first).failure();
        bed.world.model.mend();
        assert!(!is_left_out(&bed.post(&given("t2", "Two", "New"))));
        let heard = bed.post(&first);
        assert!(!is_left_out(&heard));
        assert_eq!(heard.final_text(), "Answer to One.");
        let times = |context: &str| {
            bed.world.model.conversation().heard(&format!("[SOLUTION CONTEXT]\n{context}"))
        };
        assert_eq!(times(old), usize::from(!is_refused));
        assert!(!is_left_out(&bed.post(&turn("t3", "Three"))));
        assert!(times("New") > 0);
        bed.assert_chain_held();
    }
}
