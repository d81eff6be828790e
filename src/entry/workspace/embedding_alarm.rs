//! The alarm of a workspace's object, in which chunks are embedded: in the background of the requests that change
//! documents, and after the loss of the instance that changed them. The runtime stores one alarm for each object.

use std::cell::Cell;

use crate::contract::Fault;
use crate::ports::Platform;

/// The first wait after a failure of the service, in milliseconds, and the shortest that the service can ask for. The
/// wait doubles up to the alarm's own interval.
const FIRST_WAIT_MS: u64 = 1_000;

/// The longest wait that a service can ask for, in milliseconds.
const MAX_RETRY_AFTER_MS: u64 = 600_000;

/// What this instance knows of the alarm.
#[derive(Debug, Default)]
pub(super) struct EmbeddingAlarm {
    /// When it rings next, where this instance has set it.
    at: Cell<Option<u64>>,
    /// When a service that failed may be asked again.
    retry_at: Cell<u64>,
    /// The failures of the service in a row.
    failures: Cell<u32>,
    /// The requests that are changing documents.
    changes: Cell<u32>,
}

/// A change of documents, which ends when it is dropped.
pub(super) struct ChangeGuard<'a>(&'a EmbeddingAlarm);

impl Drop for ChangeGuard<'_> {
    fn drop(&mut self) {
        self.0.changes.set(self.0.changes.get().saturating_sub(1));
    }
}

impl EmbeddingAlarm {
    /// Sets the alarm to ring after `ms`, unless it is set to an earlier time; never before the service may be asked
    /// again.
    pub(super) fn set<P: Platform>(&self, platform: &P, ms: u64) -> Result<(), Fault> {
        let at = platform.now_ms().saturating_add(ms).max(self.retry_at.get());
        if self.at.get().is_none_or(|known| known > at) {
            platform.set_alarm(at)?;
            self.at.set(Some(at));
        }
        Ok(())
    }

    /// Counts a change of documents.
    pub(super) fn begin_change(&self) -> ChangeGuard<'_> {
        self.changes.set(self.changes.get().saturating_add(1));
        ChangeGuard(self)
    }

    /// Whether documents are being changed, so that more chunks will have to be embedded.
    pub(super) fn has_changes(&self) -> bool {
        self.changes.get() > 0
    }

    /// Records that the alarm rang, and is no longer set.
    pub(super) fn clear(&self) {
        self.at.set(None);
    }

    /// Records that everything was erased, the alarm included.
    pub(super) fn reset(&self) {
        self.at.set(None);
        self.retry_at.set(0);
    }

    /// Whether a service that failed is left alone.
    pub(super) fn is_backing_off<P: Platform>(&self, platform: &P) -> bool {
        platform.now_ms() < self.retry_at.get()
    }

    /// Records a success of the service.
    pub(super) fn succeeded(&self) {
        self.failures.set(0);
    }

    /// Records a failure of the service, and returns the wait before the next request, in milliseconds: the service's own
    /// `Retry-After`, else one that doubles up to `most_ms`.
    pub(super) fn failed<P: Platform>(
        &self,
        platform: &P,
        retry_after_ms: Option<u64>,
        most_ms: u64,
    ) -> u64 {
        let failures = self.failures.get();
        self.failures.set(failures.saturating_add(1));
        let wait_ms = retry_after_ms.map_or_else(
            || most_ms.min(FIRST_WAIT_MS << failures.min(10)),
            |asked| asked.clamp(FIRST_WAIT_MS, MAX_RETRY_AFTER_MS),
        );
        self.retry_at.set(platform.now_ms().saturating_add(wait_ms));
        wait_ms
    }
}
