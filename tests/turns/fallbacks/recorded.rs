//! What two services once answered, one after the other in one conversation, in both directions.

use super::*;

/// The ids and the encrypted reasoning of a response, which no other service may get.
fn secrets(recording: &Recording) -> Vec<String> {
    let items = recording.response.iter().flat_map(|response| response["output"].as_array());
    let members = |item: &Value| [item["id"].clone(), item["encrypted_content"].clone()];
    let texts = items.flatten().flat_map(members);
    texts
        .filter_map(|text| text.as_str().filter(|text| text.len() > 8).map(str::to_owned))
        .collect()
}

/// Runs a turn to its end, whatever it becomes; what the client has to run gives 1.
fn run(bed: &Bed, context: &str, id: &str, words: &str) {
    let mut heard = bed.post(&with(turn(id, words), json!({ "ConversationContextId": context })));
    while heard.body["Result"]["Kind"] == "client_tool_continuation" {
        let asked = heard.calls();
        let given: Vec<_> = asked.iter().map(|id| (id.as_str(), json!(1))).collect();
        heard = bed.post(&results(id, &given));
    }
}

#[test]
fn a_conversation_goes_from_any_recorded_service_to_another_and_back() {
    let Some(mut exchanges) = recorded_exchanges() else { return };
    exchanges.retain(|exchange| exchange.expected["http_status"].as_u64().unwrap() < 400);
    let other = |at: usize| {
        let later = exchanges[at..].iter().chain(&exchanges);
        later.into_iter().find(|other| other.dialect != exchanges[at].dialect).unwrap()
    };
    let pairs = exchanges.iter().enumerate().map(|(at, one)| (at, one, other(at)));
    let mut played = 0;
    for (at, one, other) in pairs {
        let context = ["default", "replay"][at % 2];
        for (first, second) in [(one, other), (other, one)] {
            let what = format!("{}, then {}, {context}", first.name, second.name);
            let bed = with_fallbacks();
            let (model, spare) = (&bed.world.model, &bed.world.spare);
            let clock = &bed.world.executor;
            run(&bed, context, "t0", &"Long ".repeat(first.body.len() / 4 + 1_000));
            let (recorded, other) = (first.recording(), second.recording());
            model.script([Reply::Recorded(recorded.clone())]);
            run(&bed, context, "t1", "One");
            // What was sent and could not be used is not taken.
            while model.drop_scripted() {}
            model.spoil_after(0, down());
            spare.script([Reply::Recorded(other.clone())]);
            run(&bed, context, "t2", "Two");
            while spare.drop_scripted() {}
            assert_whole(&spare.bodies()[0]);
            for (id, words) in [("t3", "Three"), ("t5", "Five")] {
                model.mend();
                clock.set_now_ms(clock.now_ms() + 30_000);
                let before = model.requests();
                assert_eq!(
                    bed.post(&turn(id, words)).final_text(),
                    format!("Answer to {words}."),
                    "{what}"
                );
                let body = model.bodies()[before].to_string();
                for secret in secrets(&other) {
                    assert!(!body.contains(&secret), "{what}: {secret} in {body}");
                }
                model.spoil_after(0, down());
                let id = format!("{id}-elsewhere");
                let heard = bed.post(&turn(&id, "Else"));
                assert_eq!(heard.final_text(), "Answer to Else.", "{what}");
                assert_eq!(warnings(&heard), ["fallback_used"], "{what}");
                let body = spare.bodies().pop().unwrap().to_string();
                for secret in secrets(&recorded) {
                    assert!(!body.contains(&secret), "{what}: {secret} in {body}");
                }
            }
            for service in [model, spare, &bed.world.third] {
                assert_eq!(service.refusals(), Vec::<String>::new(), "{what}");
            }
            played += 1;
        }
    }
    assert!(played > 150, "{played}");
}
