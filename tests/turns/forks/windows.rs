//! What a fork of an earlier turn sends of its conversation, where that is not all of it.

use super::*;

fn in_context(id: &str, words: &str, context: &str) -> Value {
    with(turn(id, words), json!({ "SessionId": "p", "ConversationContextId": context }))
}

/// The input of a fork's next call.
fn next_input(bed: &Bed, session: &str) -> String {
    bed.say(session, "next", "Next").final_text();
    bed.latest_request()["input"].to_string()
}

#[test]
fn what_a_turn_has_compacted_that_was_repeated_after_later_ones_is_whole_in_a_fork_of_it() {
    for (by, context) in
        [("Own", "default"), ("Own", "replay"), ("Service", "default"), ("Service", "replay")]
    {
        let bed = Bed::new();
        bed.configure(|catalog| {
            catalog["AgentContexts"][context]["Compaction"] = match by {
                "Own" => json!({ "By": by }),
                _ => json!({ "By": by, "Threshold": 5_000 }),
            };
        });
        let long = |words: &str| format!("{words} {}", "word ".repeat(800));
        bed.post(&in_context("t1", &long("One"), context)).final_text();
        bed.world.model.script([http_error(401, json!({}), &[])]);
        bed.say("p", "t2", "Two").failure();
        bed.say("p", "t3", &long("Later-words")).final_text();
        let refusal = || http_error(400, json!({ "code": "context_length_exceeded" }), &[]);
        match by {
            "Own" => bed.world.model.narrow(4_000, refusal()),
            _ => {
                let text = Item::Text(vec!["Done.".to_owned()]);
                bed.world.model.script([says(vec![Item::Compaction, text]).into()]);
            }
        }
        bed.say("p", "t2", "Two").final_text();
        let compactions = bed.look("p", "/turns/t2/trace")["Compactions"].clone();
        assert!(compactions.is_array(), "{by}, {context}");
        bed.world.model.narrow(1_000_000, refusal());
        bed.fork(json!({ "AfterTurnId": "t2" })).result();
        let sent = next_input(&bed, "f");
        let has = |words: &str| sent.contains(words);
        assert!(
            has("[INSTRUCTION]\\nOne") && has("[INSTRUCTION]\\nTwo"),
            "{by}, {context}: {sent}"
        );
        assert!(!has("Later-words") && !has(r#""type":"compaction""#), "{by}, {context}: {sent}");
    }
}

#[test]
fn a_solution_context_is_shown_again_whose_message_a_later_turn_had_sent_without_it() {
    for context in ["default", "replay"] {
        let bed = Bed::new();
        bed.world.model.think(|conversation| match conversation.heard("Poison") {
            0 => planned(conversation),
            _ => http_error(400, json!({ "param": "input", "code": "invalid_prompt" }), &[]),
        });
        let given = |turn: Value, text: &str| {
            with(turn, json!({ "SessionId": "p", "SolutionContextText": text }))
        };
        bed.post(&given(in_context("t1", "One", context), "Good.")).final_text();
        bed.post(&given(turn("t2", "Two"), "Poison.")).final_text();
        bed.fork(json!({ "AfterTurnId": "t1" })).result();
        bed.say("f", "next", "Next").final_text();
        let heard = bed.world.model.conversation().heard("[SOLUTION CONTEXT]\nGood.");
        assert!(heard > 0, "{context}");
    }
}
