//! The last net beside fall-backs: a rung holds for the service whose refusals led there, and for no other.

use super::*;

/// What each model call of a turn was reduced to.
fn reduced(bed: &Bed, turn: &str) -> Vec<String> {
    let calls = model_calls(bed, turn);
    calls.iter().map(|call| call["Reduced"].as_str().unwrap_or("-").to_owned()).collect()
}

fn refusal() -> Reply {
    http_error(400, json!({ "message": "Bad request.", "code": "odd_request" }), &[])
}

fn says(items: &[ConversationItem], text: &str) -> bool {
    items.iter().any(|item| item.to_string().contains(text))
}

/// Has a service refuse each conversation with the first call that another one knows, as an item.
fn refuse_first_call(service: &ModelService, known: &ModelService) {
    let call = known.conversation().outputs()[0].0.clone();
    service
        .rules
        .refuse_by(move |_, items| items.iter().any(|item| item["call_id"] == *call).then(refusal));
}

#[test]
fn a_service_that_takes_over_again_gets_this_turn_whole_and_earlier_ones_as_it_took_them() {
    for rung in ["plain", "turn"] {
        let bed = with_fallbacks();
        let (first, spare) = (&bed.world.model, &bed.world.spare);
        first.spoil_after(0, down());
        bed.post(&turn("t1", "First [plan: server]")).final_text();
        bed.post(&turn("t2", "Second")).final_text();
        match rung {
            "plain" => refuse_first_call(spare, spare),
            _ => spare.rules.refuse_by(|_, items| says(items, "Second").then(refusal)),
        }
        bed.post(&turn("t3", "Third")).final_text();
        assert_eq!(reduced(&bed, "t3").last().unwrap(), rung);
        let refused = spare.rules.refused.borrow().len();
        // The first service is tried again, and is still down.
        let executor = &bed.world.executor;
        executor.set_now_ms(executor.now_ms() + 30_000);
        let image = json!({ "Id": "i", "MimeType": "image/png", "DataBase64": "AAAA" });
        let look = turn("t4", "Look [plan: server]");
        let heard = bed.post(&with(look, json!({ "ClipboardImages": [image] })));
        assert_eq!(heard.final_text(), "Answer to Look.");
        assert_eq!(services(&bed, "t4"), ["spare [default default]", "spare"]);
        assert_eq!(reduced(&bed, "t4"), [rung, rung]);
        assert_eq!(spare.rules.refused.borrow().len(), refused, "{rung}");
        let sent = spare.bodies().pop().unwrap()["input"].clone();
        let sent = sent.as_array().unwrap();
        let of = |kind: &str| sent.iter().filter(|item| item["type"] == kind).count();
        assert!(sent.iter().any(|item| item.to_string().contains("input_image")), "{sent:?}");
        assert_eq!((of("function_call"), of("function_call_output")), (1, 1), "{sent:?}");
        assert_replays(&bed, rung);
    }
}

#[test]
fn what_one_service_has_refused_is_tried_at_another() {
    let bed = with_fallbacks();
    bed.configure(|catalog| {
        add_fallbacks(catalog);
        let agents = &mut catalog["AgentContexts"];
        agents["spare"]["Continuation"] = json!("replay");
        (agents["spare"]["Model"], agents["replay"]["Model"]) = (json!("same"), json!("same"));
    });
    let of =
        |id: &str, words: &str| with(turn(id, words), json!({ "ConversationContextId": "replay" }));
    let (first, spare) = (&bed.world.model, &bed.world.spare);
    bed.post(&of("t1", "First [plan: server]")).final_text();
    // The first service refuses all but this turn alone, and breaks down over that.
    first.rules.refuse_by(|_, items| Some(if says(items, "First") { refusal() } else { down() }));
    refuse_first_call(spare, first);
    assert_eq!(bed.post(&of("t2", "Second")).final_text(), "Answer to Second.");
    assert_eq!(services(&bed, "t2").last().unwrap(), "spare");
    assert_eq!(reduced(&bed, "t2").last().unwrap(), "plain");
    assert!(says(&[spare.bodies().pop().unwrap().into()], "First"));
}
