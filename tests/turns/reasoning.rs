//! Reasoning goes back to the service as the service takes it, whatever became of the chain; and a refusal of it never
//! ends a session (interface §4). The stand-in has the live service's rule (`bed/pairing.rs`).

use serde_json::json;

use super::*;

/// A turn in a context of the bed's catalog.
fn turn_in(context: &str, id: &str, words: &str) -> Value {
    with(turn(id, words), json!({ "ConversationContextId": context }))
}

fn too_long() -> Reply {
    http_error(400, json!({ "code": "context_length_exceeded" }), &[])
}

fn orphan(words: &str) -> Reply {
    http_error(400, json!({ "message": words, "param": "input" }), &[])
}

/// The types of the items that the newest request sends, those with an id in capitals.
fn sent(bed: &Bed) -> String {
    let body = bed.world.model.bodies().pop().unwrap();
    let kind = |item: &Value| {
        let kind = item["type"].as_str().unwrap().to_owned();
        if item.get("id").is_some() { kind.to_uppercase() } else { kind }
    };
    body["input"].as_array().unwrap().iter().map(kind).collect::<Vec<_>>().join(" ")
}

/// A session whose first turn is long, and whose second one has this output first. With `client` outputs the turn is
/// continued.
fn thoughtful(context: &str, outputs: Vec<Vec<Item>>) -> Bed {
    let bed = Bed::new();
    bed.post(&turn_in(context, "t0", &"Long ".repeat(4_000))).final_text();
    bed.world.model.script(outputs.into_iter().map(|items| says(items).into()));
    let mut heard = bed.post(&turn_in(context, "t1", "Think"));
    while heard.result()["Kind"] != "final" {
        let asked = heard.calls();
        let given: Vec<_> = asked.iter().map(|id| (id.as_str(), json!(1))).collect();
        heard = bed.post(&results("t1", &given));
    }
    bed
}

/// Makes the next call one that sends the whole conversation.
type Loss = (&'static str, fn(&Bed));

const LOSSES: [Loss; 2] = [
    ("a compaction", |bed| bed.world.model.spoil_once_after(0, too_long())),
    ("a lost chain", |bed| bed.world.model.forget()),
];

fn text(words: &str) -> Item {
    Item::Text(vec![words.to_owned()])
}

fn custom_call() -> Item {
    Item::Hosted(json!({ "type": "custom_tool_call", "call_id": "c", "name": "n", "input": "i" }))
}

fn search() -> Item {
    Item::Hosted(json!({
        "type": "web_search_call", "status": "completed", "action": { "type": "search", "query": "q" },
    }))
}

#[test]
fn reasoning_goes_back_with_its_follower_or_not_at_all() {
    let ask = || call("ask", json!({}));
    for (outputs, expected) in [
        (vec![vec![Item::Reasoning, text("Yes.")]], "REASONING MESSAGE"),
        (
            vec![vec![Item::Reasoning, ask(), ask()], vec![Item::Reasoning, text("Yes.")]],
            "REASONING FUNCTION_CALL FUNCTION_CALL function_call_output function_call_output REASONING MESSAGE",
        ),
        (
            vec![vec![Item::Reasoning, search(), Item::Reasoning, text("Yes.")]],
            "REASONING WEB_SEARCH_CALL REASONING MESSAGE",
        ),
        (vec![vec![Item::Reasoning, custom_call(), text("Yes.")]], "message"),
        (vec![vec![Item::Reasoning, custom_call(), search(), text("Yes.")]], "message"),
        (vec![vec![text("Yes."), Item::Reasoning]], "message"),
    ] {
        for context in ["default", "replay"] {
            for (loss, lose) in LOSSES {
                let bed = thoughtful(context, outputs.clone());
                lose(&bed);
                bed.post(&turn("t2", "Next")).final_text();
                let sent = sent(&bed);
                assert!(
                    sent.ends_with(&format!("message {expected} message")),
                    "{context}, {loss}: {sent}"
                );
                bed.post(&turn("t3", "Last")).final_text();
                bed.assert_chain_held();
                super::replays::assert_replays(&bed, loss);
            }
        }
    }
}

#[test]
fn reasoning_that_is_refused_is_left_out_once_and_for_all() {
    for words in [
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
        "The encrypted content gAAA...Rg== could not be verified.",
    ] {
        for context in ["default", "replay"] {
            for (loss, lose) in LOSSES {
                let ask = vec![Item::Reasoning, call("ask", json!({}))];
                let bed = thoughtful(context, vec![ask, vec![Item::Reasoning, text("Yes.")]]);
                // From here on it takes no reasoning that it has given so far.
                let words = words.to_owned();
                bed.world.model.think(move |conversation| {
                    let is_thought = |item: &ConversationItem| item["type"] == "reasoning";
                    match conversation.0.iter().any(is_thought) {
                        true if !is_record(&conversation.user_texts().join("")) => orphan(&words),
                        _ => planned(conversation),
                    }
                });
                lose(&bed);
                assert_eq!(bed.post(&turn("t2", "Next")).final_text(), "Answer to Next.");
                assert!(!sent(&bed).contains("REASONING"), "{context}, {loss}: {}", sent(&bed));
                bed.restart();
                bed.world.model.forget();
                let calls = bed.world.model.requests();
                assert_eq!(bed.post(&turn("t3", "Last")).final_text(), "Answer to Last.");
                let in_vain = usize::from(context == "default");
                assert_eq!(bed.world.model.requests(), calls + 1 + in_vain, "{context}, {loss}");
                assert_eq!(bed.world.model.conversation().heard("Next"), 1);
                bed.assert_chain_held();
                super::replays::assert_replays(&bed, loss);
            }
        }
    }
}

#[test]
fn a_session_goes_on_after_every_recorded_response() {
    let Some(exchanges) = recorded_exchanges() else { return };
    let (mut played, mut thoughts) = (0, 0);
    for exchange in &exchanges {
        if exchange.expected["http_status"].as_u64().unwrap() >= 400 {
            continue;
        }
        for context in ["default", "replay"] {
            let Exchange { name, .. } = exchange;
            let bed = Bed::new();
            let words = "Long ".repeat(exchange.body.len() / 4 + 1_000);
            bed.post(&turn_in(context, "t0", &words)).final_text();
            bed.world.model.script([Reply::Recorded(exchange.recording())]);
            let mut heard = bed.post(&turn_in(context, "t1", "Recorded"));
            while heard.body["Result"]["Kind"] == "client_tool_continuation" {
                let asked = heard.calls();
                let given: Vec<_> = asked.iter().map(|id| (id.as_str(), json!(1))).collect();
                heard = bed.post(&results("t1", &given));
            }
            // The reply of the script is not taken where it was sent and could not be used.
            while bed.world.model.drop_scripted() {}
            assert_eq!(bed.post(&turn("t2", "Two")).final_text(), "Answer to Two.", "{name}");
            for (number, (loss, lose)) in LOSSES.iter().enumerate() {
                lose(&bed);
                let heard = bed.post(&turn(&format!("l{number}"), "Three"));
                assert_eq!(heard.body["Successful"], true, "{name}, {loss}: {}", heard.text);
                assert_eq!(heard.final_text(), "Answer to Three.", "{name}, {loss}");
                assert_eq!(bed.world.model.conversation().heard("Two"), 1, "{name}, {loss}");
                thoughts += sent(&bed).matches("REASONING").count();
            }
            assert_eq!(bed.world.model.refusals(), Vec::<String>::new(), "{name}, {context}");
            played += 1;
        }
    }
    println!("played {played} sessions, in which reasoning went back {thoughts} times");
    assert!(played > 200 && thoughts > 50, "{played} {thoughts}");
}
