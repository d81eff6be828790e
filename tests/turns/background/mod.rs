//! Background responses (interface §4): a response that the model service makes without its reader is read on after a
//! cut and after a crash; nothing is paid twice, and no text is taken back.

mod cancels;
mod crashes;
mod cuts;
mod interleavings;
mod polls;
mod rows;
mod spans;

use super::watched;
use bed::*;
use serde_json::{Value, json};

/// The usage that the service reports of each response.
const USAGE: u64 = 120;

/// A session whose agent context asks for background responses.
fn in_background() -> Bed {
    in_background_to_crash(None)
}

/// The same; the first instance ends at `crash`.
fn in_background_to_crash(crash: Option<Crash>) -> Bed {
    let bed = Bed::with_crash(crash);
    bed.configure(ask_for_background);
    bed
}

fn ask_for_background(catalog: &mut Value) {
    catalog["AgentContexts"]["default"]["Background"] = json!("Always");
}

/// A text in several pieces, each an event.
fn long() -> Answer {
    say("One two three four five six.")
}

/// The number of events of [`long`].
const EVENTS: usize = 2 + 2 + 6 + 3 + 1;

fn trace(bed: &Bed, turn: &str) -> Value {
    bed.asked("GET", &format!("/sessions/s/turns/{turn}/trace"), "").result().clone()
}

/// The model calls of a turn's trace.
fn model_calls(bed: &Bed, turn: &str) -> Vec<Value> {
    trace(bed, turn)["ModelCalls"].as_array().unwrap().clone()
}

fn reads(bed: &Bed) -> Vec<String> {
    bed.world.model.background.reads.borrow().clone()
}

fn cancels(bed: &Bed) -> Vec<String> {
    bed.world.model.background.cancels.borrow().clone()
}

/// The text that a watcher keeps of a stream.
fn kept(heard: &Heard) -> String {
    let frames = heard.frames.as_ref().unwrap().replace(": keep-alive\n\n", "");
    watched(&frames).0
}

/// Nothing of a background response is left in the storage.
fn assert_settled(bed: &Bed) {
    let pending = "SELECT 1 FROM turns WHERE progress LIKE '%\"pending\":{%'";
    assert_eq!(bed.disk.read(pending).len(), 0, "a response is still pending");
    let owed = bed.disk.read("SELECT * FROM tasks WHERE kind = 'cancel'");
    assert_eq!(owed, [], "a response is still to be cancelled");
}
