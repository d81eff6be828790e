//! The wait before something that has failed is tried again.

use std::cell::Cell;

/// The wait after the first failure, in milliseconds. It doubles with each failure in a row.
pub const FIRST_WAIT_MS: u64 = 1_000;

/// The failures in a row of one thing, as far as this instance knows.
#[derive(Debug, Default)]
pub struct Backoff {
    failures: Cell<u32>,
}

impl Backoff {
    /// The wait before the next try, in milliseconds, at most `longest_ms`.
    pub fn wait_ms(&self, longest_ms: u64) -> u64 {
        longest_ms.min(FIRST_WAIT_MS << self.failures.get().min(20))
    }

    /// Notes how a try ended.
    pub fn note(&self, failed: bool) {
        self.failures.set(if failed { self.failures.get().saturating_add(1) } else { 0 });
    }
}
