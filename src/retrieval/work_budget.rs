//! The budget of a long computation, after which it yields the thread.
//!
//! All tenants of an isolate share one thread, and its clock stands still while it computes. So work is
//! counted, not timed: when the budget of a slice is spent, the thread is free for whatever else is ready.

use std::ops::Add;

use crate::ports::Platform;

/// The work of a slice. In WebAssembly it takes two to four times as long, but most of the work is SQLite's.
const SLICE: Work = Work::from_us(15_000);

/// An amount of work: the time that native code takes for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Work {
    picoseconds: u64,
}

impl Work {
    /// In microseconds.
    pub const fn from_us(microseconds: u64) -> Self {
        Self::from_ns(microseconds.saturating_mul(1_000))
    }

    /// In nanoseconds.
    pub const fn from_ns(nanoseconds: u64) -> Self {
        Self::from_ps(nanoseconds.saturating_mul(1_000))
    }

    /// In picoseconds.
    pub const fn from_ps(picoseconds: u64) -> Self {
        Self { picoseconds }
    }

    /// The work of doing this `count` times.
    pub const fn times(self, count: usize) -> Self {
        Self { picoseconds: self.picoseconds.saturating_mul(count as u64) }
    }

    /// How often this fits into a slice; once at least.
    pub fn times_per_slice(self) -> usize {
        let times = SLICE.picoseconds.checked_div(self.picoseconds).unwrap_or(u64::MAX);
        usize::try_from(times).unwrap_or(usize::MAX).max(1)
    }
}

impl Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { picoseconds: self.picoseconds.saturating_add(other.picoseconds) }
    }
}

/// The budget of one request's work: it yields between slices.
pub struct WorkBudget<F> {
    yield_now: F,
    left: Work,
}

/// The budget of an object's work: one type for all, so that the work is compiled once.
pub fn budget_of<P: Platform>(platform: &P) -> WorkBudget<impl AsyncFn()> {
    WorkBudget::new(async || platform.yield_now().await)
}

impl<F: AsyncFn()> WorkBudget<F> {
    /// The budget of one slice. `yield_now` completes when no other task is ready to run.
    pub fn new(yield_now: F) -> Self {
        Self { yield_now, left: SLICE }
    }

    /// Takes `work` from the slice's budget. Yields first, and so begins a new slice, unless the rest of the budget
    /// covers it. Called right before the work.
    pub async fn spend(&mut self, work: Work) {
        if work > self.left {
            (self.yield_now)().await;
            self.left = SLICE;
        }
        self.left.picoseconds = self.left.picoseconds.saturating_sub(work.picoseconds);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_budget_yields_before_the_work_that_it_does_not_cover_and_never_in_the_middle_of_one() {
        let yields = Cell::new(0);
        let mut budget = WorkBudget::new(async || yields.set(yields.get() + 1));
        let mut after = |work| {
            budget.spend(work).now_or_never().unwrap();
            yields.get()
        };
        let half = Work::from_us(7_500);
        let works = [half, half, Work::from_ps(1), SLICE, Work::from_us(u64::MAX), half];
        assert_eq!(works.map(&mut after), [0, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn work_is_counted_to_the_picosecond_and_never_overflows() {
        assert_eq!(Work::from_ps(2_500).times(400), Work::from_us(1));
        assert_eq!(Work::from_ns(1_500) + Work::from_ps(500), Work::from_ps(1_500_500));
        assert_eq!(Work::from_us(100).times_per_slice(), 150);
        assert_eq!(Work::from_us(1_000_000).times_per_slice(), 1);
        assert_eq!(Work::from_ps(0).times_per_slice(), usize::MAX);
        assert_eq!(Work::from_us(u64::MAX).times(2), Work::from_ps(u64::MAX));
    }
}
