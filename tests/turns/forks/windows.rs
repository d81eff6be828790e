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
        // A prompt of its own stands behind all turns of a fork.
        bed.configure(|catalog| {
            let contexts = &mut catalog["ConversationContexts"];
            contexts["prompt"] = contexts[context].clone();
            contexts["prompt"]["BootPrompt"] = json!("Be brief.");
        });
        fork_of(&bed, "p", "q", json!({ "ConversationContextId": "prompt" }));
        fork_of(&bed, "q", "g", json!({ "AfterTurnId": "t1" }));
        for session in ["f", "g"] {
            bed.say(session, "next", "Next").final_text();
            let heard = bed.world.model.conversation().heard("[SOLUTION CONTEXT]\nGood.");
            assert!(heard > 0, "{context}, {session}");
        }
    }
}

/// `agent` leads to another agent context.
fn add_contexts(catalog: &mut Value) {
    catalog["AgentContexts"]["other"] = json!({ "ApiKeySecret": "OPENAI_API_KEY", "Model": "n" });
    let contexts = &mut catalog["ConversationContexts"];
    contexts["same"] = contexts["default"].clone();
    contexts["agent"] = contexts["default"].clone();
    contexts["agent"]["AgentContextId"] = json!("other");
}

fn fork_of(bed: &Bed, parent: &str, id: &str, members: Value) {
    let body = with(json!({ "SessionId": id }), members).to_string();
    bed.asked("POST", &format!("/sessions/{parent}/fork"), &body).result();
}

#[test]
fn a_fork_of_a_fork_continues_no_chain_of_turns_that_were_made_under_another_context() {
    for context in ["same", "agent"] {
        let bed = Bed::new();
        bed.configure(add_contexts);
        for id in ["t1", "t2", "t3"] {
            bed.say("p", id, id).final_text();
        }
        fork_of(&bed, "p", "f", json!({ "ConversationContextId": context }));
        bed.say("f", "t4", "t4").final_text();
        bed.say("f", "t5", "t5").final_text();
        let continued = |session: &str| {
            bed.say(session, "next", "Next").final_text();
            bed.latest_request()["previous_response_id"].is_string()
        };
        fork_of(&bed, "f", "g", json!({ "AfterTurnId": "t2" }));
        assert_eq!(continued("g"), context == "same", "{context}");
        bed.say("g", "more", "More").final_text();
        // What is copied of a copy is still the first parent's, and a fork's own turns are its own.
        fork_of(&bed, "g", "h", json!({ "AfterTurnId": "t1" }));
        assert_eq!(continued("h"), context == "same", "{context}");
        fork_of(&bed, "g", "i", json!({ "AfterTurnId": "next" }));
        bed.say("i", "then", "Then").final_text();
        assert!(bed.latest_request()["previous_response_id"].is_string(), "{context}");
        fork_of(&bed, "f", "j", json!({ "AfterTurnId": "t4" }));
        assert!(continued("j"), "{context}");
        bed.assert_chain_held();
    }
}

#[test]
fn a_fork_of_a_fork_continues_no_chain_from_before_its_parent_went_on_under_another_agent_context()
{
    let bed = Bed::new();
    bed.configure(add_contexts);
    for id in ["t1", "t2"] {
        bed.say("p", id, id).final_text();
    }
    bed.configure(|catalog| {
        add_contexts(catalog);
        let contexts = &mut catalog["ConversationContexts"];
        contexts["likewise"] = contexts["agent"].clone();
        contexts["default"]["Instead"] = json!("agent");
    });
    bed.say("p", "t3", "t3").final_text();
    fork_of(&bed, "p", "f", json!({ "ConversationContextId": "likewise" }));
    for (id, is_continued) in [("t2", false), ("t3", true)] {
        fork_of(&bed, "f", id, json!({ "AfterTurnId": id }));
        bed.say(id, "next", "Next").final_text();
        assert_eq!(bed.latest_request()["previous_response_id"].is_string(), is_continued, "{id}");
    }
}

#[test]
fn a_fork_of_a_fork_sends_no_compaction_item_of_another_agent_context() {
    let bed = Bed::new();
    bed.configure(|catalog| {
        add_contexts(catalog);
        catalog["AgentContexts"]["default"]["Compaction"] =
            json!({ "By": "Service", "Threshold": 5_000 });
    });
    bed.say("p", "t1", "One").final_text();
    for (id, words) in [("t2", "Two"), ("t3", "Three")] {
        let items = vec![Item::Compaction, Item::Text(vec!["Done.".to_owned()])];
        bed.world.model.script([says(items).into()]);
        bed.say("p", id, words).final_text();
    }
    fork_of(&bed, "p", "f", json!({ "ConversationContextId": "agent" }));
    fork_of(&bed, "f", "g", json!({ "AfterTurnId": "t2" }));
    let sent = next_input(&bed, "g");
    assert!(!sent.contains(r#""type":"compaction""#), "{sent}");
    for words in ["One", "Two", "Next"] {
        assert!(sent.contains(&format!("[INSTRUCTION]\\n{words}")), "{sent}");
    }
}
