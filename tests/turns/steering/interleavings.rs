//! Steers, cancels, tool results, repeats, erasures and crashes in a random order from a seed: each steer that was
//! accepted is in exactly one place, and nothing is in the conversation that was not.
//!
//! `APTIX_SEED=n` runs one seed alone; `APTIX_LONG_TESTS=1` runs many more.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::*;

const SEEDS: u64 = 150;
const LONG_SEEDS: u64 = 20_000;

struct Client<'a> {
    /// Of the requests that steer, the id.
    walk: Walk<'a, Option<String>>,
    turns: Vec<Value>,
    /// Steers that were sent, with their turns.
    steers: Vec<(String, Value)>,
    /// The ids of steers that were accepted since the latest erasure, and of those that were refused.
    accepted: BTreeSet<String>,
    refused: BTreeSet<String>,
}

impl Client<'_> {
    fn act(&mut self) {
        match self.walk.random.below(100) {
            0..20 => {
                let id = format!("t{}", self.turns.len());
                let plan = *self.walk.random.pick(&[
                    "",
                    "[plan: server]",
                    "[plan: mixed]",
                    "[plan: client]",
                ]);
                let streaming = json!({ "Streaming": self.walk.random.chance(50) });
                let request = with(turn(&id, &format!("Words-{id}. {plan}")), streaming);
                self.walk.wait_for(None, self.walk.bed.send(&request));
                self.turns.push(request);
            }
            20..55 if !self.turns.is_empty() => {
                let newest = self.turns.len() - 1;
                let id = format!("s{}", self.steers.len());
                let plan = *self.walk.random.pick(&["", "[plan: server]", "[plan: client]"]);
                let interrupt = json!({ "Interrupt": self.walk.random.chance(40) });
                let body = with(steer(&id, &format!("Steer-{id}. {plan}")), interrupt);
                self.steer(format!("t{newest}"), body);
            }
            55..63 if !self.steers.is_empty() => {
                let (turn, body) = self.walk.random.pick(&self.steers).clone();
                self.steer(turn, body);
            }
            63..70 if !self.turns.is_empty() => {
                let again = self.walk.random.pick(&self.turns).clone();
                self.walk.wait_for(None, self.walk.bed.send(&again));
            }
            70..84 => self.answer(),
            84..89 if !self.turns.is_empty() => {
                let id = format!("t{}", self.turns.len() - 1);
                self.walk.wait_for(None, self.walk.bed.send_cancel(&id));
            }
            89..93 => {
                let well = self.walk.random.below(2) as usize;
                let fault = match self.walk.random.below(3) {
                    0 => http_error(401, json!({}), &[]),
                    1 => http_error(500, json!({}), &[]),
                    _ => say("Half an answer.").breaks_after(6).into(),
                };
                self.walk.bed.world.model.spoil_once_after(well, fault);
            }
            93..97 => {
                let crash = Crash::BeforeWrite(
                    self.walk.bed.disk.writes.get() + 1 + self.walk.random.below(20),
                );
                self.walk.bed.restart_to_crash(Some(crash));
                self.walk.note("crash");
            }
            97..98 => {
                // Whatever is under way ends first, so that it is known to which life a steer belongs.
                self.pass(u64::MAX);
                if let Some(erased) = self.walk.bed.try_erase()
                    && erased.status == 200
                {
                    self.accepted.clear();
                    self.steers.clear();
                    self.turns.clear();
                    self.walk.note("erased");
                }
            }
            _ => self.walk.bed.world.model.forget(),
        }
    }

    fn steer(&mut self, turn: String, body: Value) {
        let id = body["SteerId"].as_str().unwrap().to_owned();
        self.walk.wait_for(Some(id), self.walk.bed.send_steer(&turn, &body));
        self.steers.push((turn, body));
    }

    fn answer(&mut self) {
        let session = self.walk.bed.wait(&self.walk.bed.ask("GET", "/sessions/s", &[], ""));
        let Some(session) = session else { return };
        let live = &session.body["Result"]["LiveTurn"];
        let Some(calls) = live["ToolCalls"].as_array() else { return };
        let ids: Vec<&str> =
            calls.iter().map(|call| call["ToolCallId"].as_str().unwrap()).collect();
        let given: Vec<(&str, Value)> = ids.iter().map(|id| (*id, json!(1))).collect();
        let request = results(live["TurnId"].as_str().unwrap(), &given);
        self.walk.wait_for(None, self.walk.bed.send(&request));
    }

    fn pass(&mut self, steps: u64) {
        for (steer, heard) in self.walk.pass(steps, |_| ()) {
            let Some(id) = steer else { continue };
            match heard.failure() {
                (200 | 202, _) => _ = self.accepted.insert(id),
                (409, "turn_ended") => _ = self.refused.insert(id),
                (404, _) => {}
                other => panic!("{other:?}: {}", heard.text),
            }
        }
    }

    /// Each accepted steer stands in exactly one place, and nothing else does.
    fn look(&self) {
        let export = self.walk.bed.export();
        let none = Vec::new();
        let turns = export["Result"]["Turns"].as_array().unwrap_or(&none);
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for turn in turns {
            for entry in turn["Conversation"].as_array().unwrap() {
                let text = entry["Items"].to_string();
                for (_, rest) in text.match_indices("Steer-").map(|(at, _)| text.split_at(at + 6)) {
                    let id = rest.split('.').next().unwrap().to_owned();
                    if entry["Kind"] == "steer" {
                        *places.entry(id).or_default() += 1;
                    }
                }
            }
            for steer in turn["Steers"].as_array().unwrap_or(&none) {
                if steer["Instruction"].is_string() {
                    let id = steer["SteerId"].as_str().unwrap().to_owned();
                    *places.entry(id).or_default() += 1;
                }
            }
        }
        for id in &self.accepted {
            assert_eq!(places.get(id), Some(&1), "{id} was accepted: {places:?}");
        }
        for (id, times) in &places {
            assert_eq!(*times, 1, "{id}");
            assert!(!self.refused.contains(id) || self.accepted.contains(id), "{id} was refused");
        }
    }
}

fn run(seed: u64, loud: bool) -> BTreeMap<String, usize> {
    let bed = Bed::new();
    let mut client = Client {
        walk: Walk::new(&bed, seed, loud),
        turns: Vec::new(),
        steers: Vec::new(),
        accepted: BTreeSet::new(),
        refused: BTreeSet::new(),
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
    client.look();
    if let Some(live) = bed.session().body["Result"]["LiveTurn"]["TurnId"].as_str() {
        bed.try_cancel(live).unwrap();
    }
    bed.post(&turn("last", "Last")).final_text();
    client.look();
    let conversation = bed.world.model.conversation();
    for id in &client.accepted {
        let heard = conversation.heard(&format!("Steer-{id}."));
        assert_eq!(heard, 1, "{id} was accepted, and the model heard it {heard} times");
    }
    bed.assert_chain_held();
    client.walk.met
}

#[test]
fn whatever_the_order_of_events_each_accepted_steer_is_in_exactly_one_place() {
    let expected = ["202 ", "200 ", "409 turn_ended", "crash", "erased"];
    run_seeds(SEEDS, LONG_SEEDS, &expected, run);
}
