//! Steering: words that a user adds to a turn that runs or waits (interface §14).

mod boundaries;
mod crashes;
mod endings;
mod interleavings;
mod interrupts;
mod requests;

use bed::*;
use serde_json::{Value, json};

/// What a driven turn came to.
struct Driven {
    /// The response to the steer.
    steer: Heard,
    /// The last response to the turn.
    turn: Heard,
}

/// Sends a turn, the results that it asks for, and a steer when so many steps of the world have been done; `None` when
/// the world stands still before.
fn drive(bed: &Bed, request: &Value, steered: &Value, at: usize) -> Option<Driven> {
    let id = request["TurnId"].as_str().unwrap();
    let mut pending = bed.send(request);
    let mut steer = None;
    let mut steps = 0;
    loop {
        if steps == at && steer.is_none() && bed.session().status == 200 {
            steer = Some(bed.send_steer(id, steered));
        }
        match pending.heard() {
            Some(heard) if heard.body["Result"]["Kind"] == "client_tool_continuation" => {
                let given: Vec<(String, Value)> =
                    heard.calls().into_iter().map(|id| (id.clone(), result_of(&id))).collect();
                let given: Vec<(&str, Value)> =
                    given.iter().map(|(id, result)| (id.as_str(), result.clone())).collect();
                pending = bed.send(&results(id, &given));
            }
            Some(turn) if steer.is_some() || steps > at => {
                let steer = bed.wait(&steer?).expect("the instance lives");
                return Some(Driven { steer, turn });
            }
            Some(_) | None => {}
        }
        steps += 1;
        if !bed.step() && pending.heard().is_some() && steps > at {
            let steer = bed.wait(&steer?).expect("the instance lives");
            return Some(Driven { steer, turn: pending.heard()? });
        }
    }
}

fn result_of(call: &str) -> Value {
    match call.starts_with("apr_") {
        true => json!({ "Approved": true }),
        false => json!(format!("result of {call}")),
    }
}

/// The conversation up to the latest model output.
fn said(bed: &Bed) -> Vec<Said> {
    bed.world.model.conversation().said()
}

/// The model service never saw a message between a call and its output, nor a steer twice in one conversation.
fn assert_each_once(bed: &Bed, words: &[&str]) {
    bed.assert_chain_held();
    let conversation = bed.world.model.conversation();
    for words in words {
        assert_eq!(conversation.heard(words), 1, "{words}: {:?}", conversation.said());
    }
    for body in bed.world.model.bodies() {
        let items = Conversation::of(&body);
        for words in words {
            assert!(items.heard(words) <= 1, "{words} twice in {body}");
        }
        let mut open = Vec::new();
        for said in items.said() {
            match said {
                Said::Call(id, ..) => open.push(id),
                Said::Output(id, _) => open.retain(|known| *known != id),
                Said::User(text) => assert!(open.is_empty(), "{text} stands before an output"),
                Said::System(_) | Said::Assistant(_) | Said::Other => {}
            }
        }
    }
}

/// The states of a turn's steers.
fn states(bed: &Bed, turn: &str) -> Vec<(String, String)> {
    let view = bed.turn(turn);
    let steers = view.result()["Steers"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    steers.iter().map(|steer| (text(&steer["SteerId"]), text(&steer["State"]))).collect()
}

fn state(id: &str, state: &str) -> (String, String) {
    (id.to_owned(), state.to_owned())
}
