//! When chunks are embedded next: after a change of documents, and after a wait where the service failed.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use crate::contract::Result;
use crate::object::{Alarm, Backoff, FIRST_WAIT_MS};
use crate::ports::Platform;

/// The longest wait that a service can ask for, in milliseconds.
const MAX_RETRY_AFTER_MS: u64 = 600_000;

/// What this instance knows of the alarm, the service and the requests under way.
#[derive(Debug, Default)]
pub(super) struct EmbeddingWakeUp {
    pub(super) alarm: Alarm,
    pub(super) backoff: Backoff,
    /// From when to when a service that failed is left alone: for no longer where the clock was set back.
    rests: RefCell<Range<u64>>,
    /// The requests that are changing documents.
    pub(super) changes: Cell<u32>,
}

/// A change of documents, which ends when it is dropped.
pub(super) struct ChangeGuard<'a>(&'a EmbeddingWakeUp);

impl Drop for ChangeGuard<'_> {
    fn drop(&mut self) {
        self.0.changes.set(self.0.changes.get().saturating_sub(1));
    }
}

impl EmbeddingWakeUp {
    /// Sets the alarm to ring after `wait_ms`, unless it is set to an earlier time; never before the service may be asked
    /// again.
    pub(super) fn set_in<P: Platform>(&self, platform: &P, wait_ms: u64) -> Result<()> {
        let now = platform.now_ms();
        let rests_until = if self.is_backing_off(platform) { self.rests.borrow().end } else { 0 };
        self.alarm.set_by(platform, now.saturating_add(wait_ms).max(rests_until))
    }

    /// Counts a change of documents.
    pub(super) fn begin_change(&self) -> ChangeGuard<'_> {
        self.changes.set(self.changes.get().saturating_add(1));
        ChangeGuard(self)
    }

    /// Records that everything was erased, the alarm included.
    pub(super) fn reset(&self) {
        self.alarm.forget();
        self.rests.take();
    }

    /// Whether a service that failed is left alone.
    pub(super) fn is_backing_off<P: Platform>(&self, platform: &P) -> bool {
        self.rests.borrow().contains(&platform.now_ms())
    }

    /// Records a failure of the service, and returns the wait before the next request, in milliseconds: the service's own
    /// `Retry-After`, else one that doubles up to `alarm_interval_ms`.
    pub(super) fn failed<P: Platform>(
        &self,
        platform: &P,
        retry_after_ms: Option<u64>,
        alarm_interval_ms: u64,
    ) -> u64 {
        let wait_ms = retry_after_ms.map_or_else(
            || self.backoff.wait_ms(alarm_interval_ms),
            |asked| asked.clamp(FIRST_WAIT_MS, MAX_RETRY_AFTER_MS),
        );
        self.backoff.note(true);
        let now = platform.now_ms();
        self.rests.replace(now..now.saturating_add(wait_ms));
        wait_ms
    }
}
