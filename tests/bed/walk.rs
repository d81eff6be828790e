//! A walk: what clients, operators and the machine do to a bed in random order, as a seed decides, and what is heard of it.

use std::collections::BTreeMap;
use std::fmt::Arguments;

use super::executor::Random;
use super::heard::Heard;
use super::session::{Bed, Pending};

/// A walk through a bed. `Q` is what is known of a request that was sent.
pub struct Walk<'a, Q> {
    pub bed: &'a Bed,
    pub random: Random,
    /// What happened, and how often.
    pub met: BTreeMap<String, usize>,
    waiting: Vec<(Q, Pending)>,
    loud: bool,
}

impl<'a, Q> Walk<'a, Q> {
    /// A walk that the seed determines, the order of tasks and all delays included.
    pub fn new(bed: &'a Bed, seed: u64, loud: bool) -> Self {
        bed.world.shake(seed);
        let random = Random(seed.wrapping_mul(0x1_0001));
        Self { bed, random, met: BTreeMap::new(), waiting: Vec::new(), loud }
    }

    pub fn note(&mut self, what: &str) {
        *self.met.entry(what.to_owned()).or_default() += 1;
    }

    /// Says what happens, where a seed is looked at alone.
    pub fn say(&self, what: Arguments<'_>) {
        if self.loud {
            println!("{:>8} ms  {what}", self.bed.world.executor.now_ms() % 100_000_000);
        }
    }

    /// Waits for the answer to a request.
    pub fn wait_for(&mut self, asked: Q, pending: Pending) {
        self.waiting.push((asked, pending));
    }

    /// The steps until the next thing happens: none, a few, or many.
    pub fn steps(&mut self) -> u64 {
        match self.random.below(4) {
            0 => 0,
            1 => self.random.below(10),
            2 => self.random.below(60),
            _ => self.random.below(400),
        }
    }

    /// Lets time pass for so many steps, at most until nothing is left to happen, and returns what was heard. `look` looks
    /// at each step. A request whose instance was lost is never answered.
    pub fn pass(&mut self, steps: u64, mut look: impl FnMut(&Bed)) -> Vec<(Q, Heard)> {
        for _ in 0..steps {
            let more = self.bed.step();
            look(self.bed);
            if !self.bed.alive() {
                self.say(format_args!("the instance has ended"));
                self.bed.restart();
            } else if !more {
                break;
            }
        }
        let mut heard = Vec::new();
        for (asked, pending) in std::mem::take(&mut self.waiting) {
            match pending.heard() {
                Some(answer) => heard.push((asked, answer)),
                None if pending.lives() => self.waiting.push((asked, pending)),
                None => {}
            }
        }
        for (_, answer) in &heard {
            let (status, code) = answer.failure();
            self.note(&format!("{status} {code}"));
        }
        heard
    }

    /// Whether somebody still waits for an answer.
    pub fn is_waited(&self) -> bool {
        !self.waiting.is_empty()
    }
}
