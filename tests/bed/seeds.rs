//! A random test, one seed after the other.

use std::collections::BTreeMap;

/// Runs a random test with each seed below `seeds`, or below `long` where `APTIX_LONG_TESTS` is set. `run` returns what
/// it met, and how often; the test fails where something `expected` is never met, since it is then not tested. With
/// `APTIX_SEED` the test runs with that seed alone, and `loud`: it may print what it does.
pub fn run_seeds(
    seeds: u64,
    long: u64,
    expected: &[&str],
    run: fn(seed: u64, loud: bool) -> BTreeMap<String, usize>,
) {
    if let Ok(seed) = std::env::var("APTIX_SEED") {
        run(seed.parse().unwrap(), true);
        return;
    }
    let seeds = if std::env::var_os("APTIX_LONG_TESTS").is_some() { long } else { seeds };
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..seeds {
        match std::panic::catch_unwind(|| run(seed, false)) {
            Ok(seen) => {
                seen.into_iter().for_each(|(what, times)| *met.entry(what).or_default() += times);
            }
            Err(panic) => {
                println!("repeat it with APTIX_SEED={seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    println!("{seeds} seeds: {met:?}");
    for what in expected {
        assert!(met.get(*what).is_some_and(|times| *times > 0), "it never happened: {what}");
    }
}
