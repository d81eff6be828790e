//! Turns, steers, tool results, repeats, cancels, erasures and crashes in a random order from a seed, with a webhook that
//! hears of them and a receiver that fails at times: each end and each pause is told at least once, under one id and with
//! equal bytes, and nothing is told of what was erased.
//!
//! `APTIX_SEED=n` runs one seed alone; `APTIX_LONG_TESTS=1` runs many more.

use std::collections::{BTreeMap, BTreeSet};

use bed::*;
use serde_json::{Value, json};

use super::beds::*;

const SEEDS: u64 = 150;
const LONG_SEEDS: u64 = 20_000;

struct Client<'a> {
    walk: Walk<'a, ()>,
    /// The requests of the present life of the session.
    sent: Vec<Value>,
    /// Turns so far, of all lives: none has the id of another.
    turns: u64,
    steers: u64,
    /// Pauses that a client heard of in the present life: the turn and the result.
    pauses: BTreeSet<(String, String)>,
    /// What was told before the latest erasure, and the number of turns by then.
    erased: (usize, u64),
}

impl Client<'_> {
    fn send(&mut self, request: Value) {
        self.walk.wait_for((), self.walk.bed.send(&request));
        self.sent.push(request);
    }

    fn act(&mut self) {
        let newest = format!("t{}", self.turns);
        match self.walk.random.below(100) {
            0..30 => {
                self.turns += 1;
                let plan = *self.walk.random.pick(&[
                    "",
                    "[plan: server]",
                    "[plan: mixed]",
                    "[plan: client, client]",
                ]);
                self.send(turn(&format!("t{}", self.turns), &format!("Words. {plan}")));
            }
            30..48 => self.answer(),
            48..58 if !self.sent.is_empty() => {
                let again = self.walk.random.pick(&self.sent).clone();
                // Whoever repeats a turn has heard of its end: two ends in one millisecond would have one id.
                let executor = &self.walk.bed.world.executor;
                executor.set_now_ms(executor.now_ms() + 1);
                self.walk.wait_for((), self.walk.bed.send(&again));
            }
            58..66 => {
                let body = steer(&format!("s{}", self.steers), "More.");
                let interrupt = json!({ "Interrupt": self.walk.random.chance(50) });
                self.steers += 1;
                self.walk.wait_for((), self.walk.bed.send_steer(&newest, &with(body, interrupt)));
            }
            66..72 => self.walk.wait_for((), self.walk.bed.send_cancel(&newest)),
            72..78 => {
                let fault = match self.walk.random.below(2) {
                    0 => http_error(401, json!({}), &[]),
                    _ => say("Half an answer.").breaks_after(6).into(),
                };
                self.walk
                    .bed
                    .world
                    .model
                    .spoil_once_after(self.walk.random.below(2) as usize, fault);
            }
            78..86 => {
                let answer = match self.walk.random.below(3) {
                    0 => WebhookAnswer::Reply(HttpReply::new(500, "")),
                    1 => WebhookAnswer::Unreachable,
                    _ => WebhookAnswer::Silence,
                };
                self.walk.bed.world.webhooks.script([answer]);
            }
            86..96 => {
                let writes = self.walk.bed.disk.writes.get();
                self.walk.bed.restart_to_crash(Some(Crash::BeforeWrite(
                    writes + 1 + self.walk.random.below(20),
                )));
                self.walk.bed.alarm();
                self.walk.note("crash");
            }
            _ => {
                if self.walk.bed.try_erase().is_some_and(|erased| erased.status == 200) {
                    self.erased = (self.walk.bed.world.webhooks.received().len(), self.turns);
                    self.sent.clear();
                    self.pauses.clear();
                    self.walk.note("erased");
                }
            }
        }
    }

    fn answer(&mut self) {
        let Some(session) = self.walk.bed.wait(&self.walk.bed.ask("GET", "/sessions/s", &[], ""))
        else {
            return;
        };
        let live = &session.body["Result"]["LiveTurn"];
        let Some(calls) = live["ToolCalls"].as_array() else { return };
        let ids: Vec<&str> =
            calls.iter().map(|call| call["ToolCallId"].as_str().unwrap()).collect();
        let given: Vec<(&str, Value)> = ids.iter().map(|id| (*id, json!(1))).collect();
        self.send(results(live["TurnId"].as_str().unwrap(), &given));
    }

    fn pass(&mut self, steps: u64) {
        for ((), heard) in self.walk.pass(steps, |_| ()) {
            let result = &heard.body["Result"];
            if result["Kind"] == "client_tool_continuation" {
                let id = result["TurnId"].as_str().unwrap().to_owned();
                let number: u64 = id.trim_start_matches('t').parse().unwrap();
                if number > self.erased.1 {
                    self.pauses.insert((id, heard.text.clone()));
                }
            }
        }
    }

    /// Each message has one id and one text, nothing erased is told, and each end and each pause is.
    fn look(&self) {
        let received = self.walk.bed.world.webhooks.received();
        let mut bodies: BTreeMap<&str, &str> = BTreeMap::new();
        let mut ids: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
        for (place, message) in received.iter().enumerate() {
            let known = bodies.entry(message.id()).or_insert(&message.body);
            assert_eq!(*known, message.body, "{} has two texts", message.id());
            let json = message.json();
            let id = json["data"]["TurnId"].as_str().unwrap().to_owned();
            let number: u64 = id.trim_start_matches('t').parse().unwrap_or(u64::MAX);
            let (told, turns) = self.erased;
            assert!(place < told || number > turns, "{id} was erased, and is told: {json}");
            ids.entry((id, message.event())).or_default().insert(message.id());
        }
        let told = |turn: &str, event: &str| {
            ids.get(&(turn.to_owned(), event.to_owned())).map_or(0, BTreeSet::len)
        };
        for row in self.walk.bed.disk.read("SELECT turn_id, status FROM turns") {
            let (id, status) = (row["turn_id"].as_str().unwrap(), row["status"].as_str().unwrap());
            let event = format!("turn.{status}");
            assert!(told(id, &event) >= 1, "{id} is {status}, and nobody was told");
        }
        let mut pauses: BTreeMap<&str, usize> = BTreeMap::new();
        for (id, _) in &self.pauses {
            *pauses.entry(id).or_default() += 1;
        }
        for (id, count) in pauses {
            assert!(told(id, "turn.awaiting_tools") >= count, "a pause of {id} was not told");
        }
    }
}

fn run(seed: u64, loud: bool) -> BTreeMap<String, usize> {
    let bed = told();
    let mut client = Client {
        walk: Walk::new(&bed, seed, loud),
        sent: Vec::new(),
        turns: 0,
        steers: 0,
        pauses: BTreeSet::new(),
        erased: (0, 0),
    };
    for _ in 0..24 {
        client.act();
        let steps = client.walk.steps();
        client.pass(steps);
    }
    bed.world.model.mend();
    client.pass(u64::MAX);
    bed.restart();
    assert!(bed.alarm());
    client.pass(u64::MAX);
    assert!(!client.walk.is_waited(), "a request was never answered");
    if let Some(live) = bed.session().body["Result"]["LiveTurn"]["TurnId"].as_str() {
        bed.try_cancel(live).unwrap();
    }
    client.turns += 1;
    bed.post(&turn(&format!("t{}", client.turns), "Last")).final_text();
    deliver_all(&bed);
    client.look();
    client.walk.met
}

#[test]
fn whatever_the_order_of_events_each_end_and_each_pause_is_told_and_nothing_that_was_erased() {
    let expected = ["200 ", "202 ", "409 turn_aborted", "crash", "erased"];
    run_seeds(SEEDS, LONG_SEEDS, &expected, run);
}
