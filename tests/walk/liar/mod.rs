//! One walk with a model service that lies, beside clients, operators and a machine that do whatever they may: nothing that
//! was accepted is lost or doubled, each turn ends once, what watchers saw is what is stored, no request to a service is one
//! that it may refuse, and the session goes on after anything.
//!
//! | promise | kept in |
//! |---|---|
//! | a request has one answer, and a stream is that answer's text | [`hearing`] |
//! | what was said is in the conversation, and what is stored holds together | [`reckoning`] |

mod acts;
mod hearing;
mod model;
mod reckoning;
mod setting;

use std::collections::{BTreeMap, BTreeSet};

use bed::*;
use serde_json::Value;

use setting::Setting;

const SEEDS: u64 = 16;
const LONG_SEEDS: u64 = 4_000;

/// Who asks for everything.
const USER: &str = "alice";

/// More steps than any run takes.
const ALL: u64 = 2_000_000;

/// A request that was sent, and what is to be known of its answer.
enum Asked {
    Submission(Value),
    /// Of a session, with that id.
    Steer(String, String),
    /// It has no lasting answer.
    Other(&'static str),
}

struct Story<'a> {
    walk: Walk<'a, Asked>,
    setting: Setting,
    sessions: Vec<String>,
    /// Sessions that were, or may have been, erased.
    erased: BTreeSet<String>,
    /// What was sent to `/execute`.
    requests: Vec<Value>,
    /// The first success of each request.
    answers: BTreeMap<String, String>,
    /// Steers that were sent: session, turn, body.
    steers: Vec<(String, String, Value)>,
    /// Steers that were accepted: session, id.
    accepted: BTreeSet<(String, String)>,
    /// The status in which each turn was seen last, by session.
    statuses: BTreeMap<(String, String), String>,
    turns: u64,
    forks: u64,
    /// An instance may have been lost.
    crashed: bool,
}

fn run(seed: u64, loud: bool) -> BTreeMap<String, usize> {
    let (bed, setting) = Setting::of(seed);
    let mut story = Story {
        walk: Walk::new(&bed, seed, loud),
        setting,
        sessions: vec!["a".to_owned(), "b".to_owned()],
        erased: BTreeSet::new(),
        requests: Vec::new(),
        answers: BTreeMap::new(),
        steers: Vec::new(),
        accepted: BTreeSet::new(),
        statuses: BTreeMap::new(),
        turns: 0,
        forks: 0,
        crashed: false,
    };
    for _ in 0..[30, 60, 120][(seed / 3 % 3) as usize] {
        story.act();
        let steps = story.walk.steps();
        story.pass(steps);
    }
    story.end();
    let mut met = story.walk.met;
    for service in [&bed.world.model, &bed.world.spare] {
        for (what, times) in service.lies.told.take() {
            *met.entry(what.to_owned()).or_default() += times;
        }
    }
    met
}

#[test]
fn whatever_the_model_service_says_nothing_is_lost_doubled_or_stuck() {
    run_seeds(SEEDS, LONG_SEEDS, &["200 ", "201 ", "202 ", "409 turn_aborted", "a crash"], run);
}
