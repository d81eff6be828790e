//! The proof that no event is lost or invented: the instance ends at every durable step of a session whose turns end in
//! every way, before every write, and while a message is on its way.

use std::collections::{BTreeMap, BTreeSet};

use bed::*;
use serde_json::{Value, json};

use super::beds::*;

/// Something that a client does; `None` where the instance did not live through it.
type Act = Box<dyn Fn(&Bed) -> Option<()>>;

/// A client's acts; each may be repeated.
fn acts() -> Vec<Act> {
    let post = |request: Value| -> Act { Box::new(move |bed| bed.try_post(&request).map(|_| ())) };
    let answer = |id: &'static str| -> Act {
        Box::new(move |bed| {
            let view = bed.asked("GET", &format!("/sessions/s/turns/{id}"), "");
            let pending = view.result()["ToolCalls"].as_array().cloned().unwrap_or_default();
            if pending.is_empty() {
                return Some(());
            }
            let given: Vec<(&str, Value)> = pending
                .iter()
                .map(|call| (call["ToolCallId"].as_str().unwrap(), json!(1)))
                .collect();
            bed.try_post(&results(id, &given)).map(|_| ())
        })
    };
    vec![
        post(turn("t1", "One")),
        post(turn("t2", "Two [plan: client, server, client]")),
        answer("t2"),
        answer("t2"),
        post(turn("t3", "Three [plan: client]")),
        Box::new(|bed| bed.try_cancel("t3").map(|_| ())),
        post(turn("t4", "Four")),
    ]
}

/// The events of a session without a crash.
const EVENTS: [(&str, &str); 7] = [
    ("t1", "turn.completed"),
    ("t2", "turn.awaiting_tools"),
    ("t2", "turn.awaiting_tools"),
    ("t2", "turn.completed"),
    ("t3", "turn.awaiting_tools"),
    ("t3", "turn.aborted"),
    ("t4", "turn.completed"),
];

fn run(crash: Option<Crash>) -> Bed {
    let bed = told_to_crash(crash);
    for act in acts() {
        if act(&bed).is_none() || !bed.alive() {
            bed.restart();
            bed.alarm();
            bed.settle();
            act(&bed).expect("the second instance lives");
        }
    }
    if !bed.alive() {
        bed.restart();
    }
    bed.settle();
    if !bed.alive() {
        bed.restart();
    }
    deliver_all(&bed);
    bed
}

fn check(bed: &Bed, what: &str) {
    let mut bodies: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut seen: Vec<(String, String)> = Vec::new();
    for message in bed.world.webhooks.received() {
        let json = message.json();
        let turn = json["data"]["TurnId"].as_str().unwrap().to_owned();
        let of_id = bodies.entry(message.id().to_owned()).or_default();
        if of_id.is_empty() {
            seen.push((turn, message.event()));
        }
        of_id.insert(message.body);
    }
    seen.sort();
    let mut wanted: Vec<(String, String)> =
        EVENTS.iter().map(|(turn, event)| ((*turn).to_owned(), (*event).to_owned())).collect();
    wanted.sort();
    assert_eq!(seen, wanted, "{what}");
    assert!(bodies.values().all(|bodies| bodies.len() == 1), "{what}: {bodies:?}");
    let open = bed
        .disk
        .read("SELECT 1 FROM tasks WHERE kind = 'webhook' AND (state <> 'done' OR work <> '')");
    assert_eq!(open.len(), 0, "{what}");
}

#[test]
fn every_event_arrives_under_one_id_with_the_same_bytes_wherever_the_instance_ends() {
    let whole = run(None);
    check(&whole, "no crash");
    assert_eq!(whole.world.webhooks.received().len(), EVENTS.len());
    let (steps, writes) = (whole.disk.steps.get(), whole.disk.writes.get());
    let crashes = (1..=steps).map(Crash::AfterStep).chain((1..=writes).map(Crash::BeforeWrite));
    for crash in crashes {
        check(&run(Some(crash)), &format!("{crash:?}"));
    }
}

#[test]
fn a_message_whose_sender_is_lost_on_the_way_is_sent_again_by_the_alarm() {
    // The receiver has the message, and the instance ends before, or with, its answer.
    for answer in [WebhookAnswer::Silence, WebhookAnswer::Reply(HttpReply::new(204, "").after(500))]
    {
        let bed = told();
        bed.world.webhooks.script([answer]);
        bed.post(&turn("t1", "One")).final_text();
        bed.run_until(|bed| bed.world.webhooks.received().len() == 1, "the message is sent");
        bed.restart();
        deliver_all(&bed);
        let received = bed.world.webhooks.received();
        assert_eq!(received.len(), 2);
        assert_eq!((received[0].id(), &received[0].body), (received[1].id(), &received[1].body));
    }
}

#[test]
fn a_turn_whose_client_has_gone_and_whose_instances_are_lost_twice_is_told_as_failed() {
    let bed = told();
    let _ = bed.send_to_silence(&turn("t1", "One"));
    bed.restart();
    bed.world.model.script([Reply::Silence]);
    bed.alarm();
    bed.run_until(|bed| bed.world.model.requests() == 2, "the turn runs again");
    bed.restart();
    bed.alarm();
    deliver_all(&bed);
    let received = bed.world.webhooks.received();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].json()["data"]["ErrorCode"], "turn_interrupted");
}
