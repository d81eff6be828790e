//! The pace of a long computation.
//!
//! All tenants of an isolate share one thread, and its clock stands still while it computes. So work is
//! counted, not timed: after a slice of it the thread is free for whatever else is ready.

use crate::ports::Platform;

/// The work of a slice, in microseconds of native code. In WebAssembly it takes two to four times as
/// long, but most of the work is SQLite's.
pub const SLICE: usize = 15_000;

/// Divides the work of one request into slices.
#[derive(Debug)]
pub struct Pace<F> {
    idle: F,
    left: usize,
}

/// The pace of an object's work: one type for all, so that the work is compiled once.
pub fn pace_of<P: Platform>(platform: &P) -> Pace<impl AsyncFn()> {
    Pace::new(async || platform.yield_until_idle().await)
}

impl<F: AsyncFn()> Pace<F> {
    /// A pace whose slices `idle` separates: it completes when no other task is ready to run.
    pub fn new(idle: F) -> Self {
        Self { idle, left: SLICE }
    }

    /// Begins a new slice unless `work` fits into the present one. It is called right before the work.
    pub async fn before(&mut self, work: usize) {
        if work > self.left {
            (self.idle)().await;
            self.left = SLICE;
        }
        self.left = self.left.saturating_sub(work);
    }
}
