//! Background turns, steers, cancels, repeats, erasures, cuts and crashes in a random order from a seed: nothing that was
//! accepted is lost, nothing stays pending, and no response goes on without a reader or a cancellation.
//!
//! `APTIX_SEED=n` runs one seed alone; `APTIX_LONG_TESTS=1` runs many more.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

const SEEDS: u64 = 150;
const LONG_SEEDS: u64 = 20_000;

struct Client<'a> {
    walk: Walk<'a, ()>,
    turns: Vec<Value>,
    steers: u64,
    /// Responses that receipts call unknown.
    unknown: u64,
}

impl Client<'_> {
    fn act(&mut self) {
        let newest = format!("t{}", self.turns.len().saturating_sub(1));
        match self.walk.random.below(100) {
            0..25 => {
                let id = format!("t{}", self.turns.len());
                let plan = *self.walk.random.pick(&["", "[plan: server]", "[plan: mixed]"]);
                let streaming = json!({ "Streaming": self.walk.random.chance(50) });
                let request = with(turn(&id, &format!("Words-{id}. {plan}")), streaming);
                self.walk.wait_for((), self.walk.bed.send(&request));
                self.turns.push(request);
            }
            25..45 => {
                let model = &self.walk.bed.world.model;
                let events = self.walk.random.below(12) as usize;
                let answer = long().paced(*self.walk.random.pick(&[1, 100, 30_000]));
                let cut = match self.walk.random.below(3) {
                    0 => answer.breaks_after(events),
                    1 => answer.silent_after(events),
                    _ => answer,
                };
                model.spoil_once_after(self.walk.random.below(2) as usize, cut.into());
            }
            45..60 => {
                let again = match self.walk.random.below(7) {
                    0 => ReadAgain::Breaks(self.walk.random.below(5) as usize),
                    1 => ReadAgain::Repeats(self.walk.random.below(5)),
                    2 => ReadAgain::LeavesOut(1),
                    3 => ReadAgain::Reply(Reply::Unreachable),
                    4 => ReadAgain::Reply(http_error(404, json!({}), &[])),
                    5 => ReadAgain::Reply(http_error(401, json!({}), &[])),
                    _ => ReadAgain::Reply(http_error(503, json!({}), &[])),
                };
                self.walk.bed.world.model.background.script([again]);
            }
            60..68 if !self.turns.is_empty() => {
                let interrupt = json!({ "Interrupt": self.walk.random.chance(60) });
                let body = steer(&format!("s{}", self.steers), "More words.");
                self.steers += 1;
                self.walk.wait_for((), self.walk.bed.send_steer(&newest, &with(body, interrupt)));
            }
            68..76 if !self.turns.is_empty() => {
                let again = self.walk.random.pick(&self.turns).clone();
                self.walk.wait_for((), self.walk.bed.send(&again));
            }
            76..82 if !self.turns.is_empty() => {
                self.walk.wait_for((), self.walk.bed.send_cancel(&newest));
                self.walk.note("cancel");
            }
            82..94 => {
                let writes = self.walk.bed.disk.writes.get();
                let crash = Crash::BeforeWrite(writes + 1 + self.walk.random.below(12));
                self.walk.bed.restart_to_crash(Some(crash));
                self.walk.bed.alarm();
                self.walk.note("crash");
            }
            94..97 => {
                if let Some(erased) = self.walk.bed.try_erase()
                    && erased.status == 200
                {
                    self.turns.clear();
                    self.unknown += unknown(&erased);
                    self.walk.note("erased");
                }
            }
            _ => {
                let reply =
                    *self.walk.random.pick(&[CancelReply::Unreachable, CancelReply::Status(500)]);
                self.walk.bed.world.model.background.script_cancels([reply]);
            }
        }
    }

    fn pass(&mut self, steps: u64) {
        for ((), heard) in self.walk.pass(steps, |_| ()) {
            let (status, code) = heard.failure();
            let foreseen = [
                "turn_interrupted",
                "upstream_unavailable",
                "upstream_timeout",
                "upstream_rejected",
                "upstream_protocol",
            ];
            assert!(status < 500 || foreseen.contains(&code), "{}", heard.text);
        }
    }
}

/// `StoredResponses.Unknown` of a receipt.
fn unknown(erased: &Heard) -> u64 {
    erased.result()["StoredResponses"]["Unknown"].as_u64().unwrap_or_default()
}

fn run(seed: u64, loud: bool) -> BTreeMap<String, usize> {
    let bed = in_background();
    let deletes = seed.is_multiple_of(2);
    bed.configure(|catalog| {
        ask_for_background(catalog);
        catalog["AgentContexts"]["default"]["DeleteStored"] = json!(deletes);
    });
    bed.deploy("UPSTREAM_IDLE_TIMEOUT_MS", "20000");
    let mut client =
        Client { walk: Walk::new(&bed, seed, loud), turns: Vec::new(), steers: 0, unknown: 0 };
    for _ in 0..20 {
        client.act();
        let steps = client.walk.steps();
        client.pass(steps);
    }
    bed.world.model.mend();
    bed.world.model.background.drop_script();
    client.pass(u64::MAX);
    bed.restart();
    assert!(bed.alarm());
    client.pass(u64::MAX);
    assert!(!client.walk.is_waited(), "a request was never answered");
    if let Some(live) = bed.session().body["Result"]["LiveTurn"]["TurnId"].as_str() {
        bed.try_cancel(live).unwrap();
    }
    let resumed = reads(&bed).len();
    client.walk.met.insert("read on".to_owned(), usize::from(resumed > 0));
    bed.post(&turn("last", "Last")).final_text();
    bed.settle();
    for _ in 0..8 {
        let Some(at) = bed.world.alarm_at.get() else { break };
        bed.world.executor.set_now_ms(at.max(bed.world.executor.now_ms()));
        bed.alarm();
        bed.settle();
    }
    // A response that goes on belongs to a failed turn that waits for its repeat.
    assert_eq!(bed.disk.read("SELECT * FROM tasks WHERE kind = 'cancel'"), []);
    let live = "SELECT 1 FROM turns WHERE status <> 'failed' AND progress LIKE '%\"pending\":{%'";
    assert_eq!(bed.disk.read(live).len(), 0, "a response is still pending");
    let conversation = bed.world.model.conversation();
    let accepted: BTreeSet<String> = bed
        .disk
        .read("SELECT turn_id FROM turns")
        .iter()
        .map(|row| row["turn_id"].as_str().unwrap().to_owned())
        .collect();
    for id in accepted.iter().filter(|id| *id != "last") {
        assert!(conversation.heard(&format!("Words-{id}.")) >= 1, "the words of {id} are lost");
    }
    bed.assert_chain_held();
    if deletes {
        let unknown = client.unknown + unknown(&bed.try_erase().unwrap());
        bed.settle();
        // An id that was read and not durable yet when its instance was lost.
        let left = bed.world.model.held.borrow().clone();
        assert!(
            left.len() as u64 <= unknown,
            "responses are left: {left:?}, {unknown} are unknown"
        );
    }
    client.walk.met
}

#[test]
fn whatever_the_order_of_events_no_response_is_lost_and_none_is_forgotten() {
    let expected = ["200 ", "crash", "erased", "cancel", "read on", "409 turn_aborted"];
    run_seeds(SEEDS, LONG_SEEDS, &expected, run);
}
