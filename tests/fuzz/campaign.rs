//! One campaign: a number of inputs from seeds, and a judge of each. A failure is shrunk and names
//! its seed.
//!
//! `APTIX_SEED=n` runs one seed alone and prints its input; `APTIX_LONG_TESTS=1` runs many more.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

const LONG: u64 = 80;

/// The numbers that follow from a seed (SplitMix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 when there is none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end.max(1) as u64)).unwrap()
    }

    pub(crate) fn one_in(&mut self, odds: usize) -> bool {
        self.below(odds) == 0
    }

    pub(crate) fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

/// The kind of an input, for the count, or the promise that it breaks.
pub(crate) type Verdict = Result<String, String>;

/// Runs the campaign. Every kind in `met` must occur, because a kind without inputs is not tested.
pub(crate) fn run(
    inputs: u64,
    make: impl Fn(&mut Random) -> Vec<u8>,
    judge: impl Fn(&[u8]) -> Verdict,
    met: &[&str],
) {
    let judged = |input: &[u8]| {
        catch_unwind(AssertUnwindSafe(|| judge(input))).unwrap_or(Err("it panics".to_owned()))
    };
    if let Ok(seed) = std::env::var("APTIX_SEED") {
        let input = make(&mut Random(seed.parse().unwrap()));
        println!("{}\n{:?}", input.escape_ascii(), judged(&input));
        assert!(judged(&input).is_ok());
        return;
    }
    let long = std::env::var_os("APTIX_LONG_TESTS").is_some();
    let inputs = if long { inputs * LONG } else { inputs };
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..inputs {
        let input = make(&mut Random(seed));
        match judged(&input) {
            Ok(kind) => *counts.entry(kind).or_default() += 1,
            Err(broken) => {
                let least = shrunk(input, |input| judged(input).is_err());
                let broken_by_least = judged(&least).unwrap_err();
                panic!(
                    "{broken}\nrepeat it with APTIX_SEED={seed}; the smallest such input:\n{}\n{broken_by_least}",
                    least.escape_ascii()
                );
            }
        }
    }
    println!("{inputs} inputs: {counts:?}");
    assert_eq!(counts.values().sum::<u64>(), inputs);
    for kind in met {
        assert!(counts.contains_key(*kind), "{kind} was never met");
    }
}

/// The input without the pieces that the failure does not need, large pieces first.
fn shrunk(mut input: Vec<u8>, fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut piece = input.len() / 2;
    while piece > 0 {
        let mut at = 0;
        while at + piece <= input.len() {
            let without = [&input[..at], &input[at + piece..]].concat();
            if fails(&without) { input = without } else { at += piece }
        }
        piece /= 2;
    }
    input
}
