//! The alarm of a workspace's object. It embeds what lacks its vectors, in the background of what changed the
//! documents, also when the instance that changed them is gone. The runtime stores one alarm for each object.

use std::cell::Cell;

use crate::contract::Fault;
use crate::ports::Platform;

/// The first wait after a failure of the service, in milliseconds, and the least that it can ask for. It doubles up
/// to the alarm's own interval.
const FIRST_WAIT_MS: u64 = 1_000;

/// The longest wait that a service can ask for, in milliseconds.
const MAX_RETRY_AFTER_MS: u64 = 600_000;

/// What this instance knows of the alarm.
#[derive(Debug, Default)]
pub(super) struct EmbeddingAlarm {
    /// When it rings next.
    at: Cell<Option<u64>>,
    /// Until when a service that failed is left alone.
    rests_until: Cell<u64>,
    /// How often it has failed since it last embedded something.
    failures: Cell<u32>,
    /// The requests that change documents at this moment.
    changes: Cell<u32>,
}

/// Documents are being changed as long as this is there.
pub(super) struct Changing<'a>(&'a EmbeddingAlarm);

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.0.changes.set(self.0.changes.get().saturating_sub(1));
    }
}

impl EmbeddingAlarm {
    /// Has the alarm ring after `ms`, or earlier where it is set so; not before the service has had its rest.
    pub(super) fn set<P: Platform>(&self, platform: &P, ms: u64) -> Result<(), Fault> {
        let at = platform.now_ms().saturating_add(ms).max(self.rests_until.get());
        if self.at.get().is_none_or(|known| known > at) {
            platform.set_alarm(at)?;
            self.at.set(Some(at));
        }
        Ok(())
    }

    /// Notes that documents are being changed.
    pub(super) fn changing(&self) -> Changing<'_> {
        self.changes.set(self.changes.get().saturating_add(1));
        Changing(self)
    }

    /// Whether documents are being changed: what is to be embedded is not all there.
    pub(super) fn is_changing(&self) -> bool {
        self.changes.get() > 0
    }

    /// Notes that it rang.
    pub(super) fn rang(&self) {
        self.at.set(None);
    }

    /// Notes that everything was erased.
    pub(super) fn forget(&self) {
        self.at.set(None);
        self.rests_until.set(0);
    }

    /// Whether a service that failed is left alone.
    pub(super) fn rests<P: Platform>(&self, platform: &P) -> bool {
        platform.now_ms() < self.rests_until.get()
    }

    /// Notes that the service embedded something.
    pub(super) fn succeeded(&self) {
        self.failures.set(0);
    }

    /// Notes that the service failed, and returns the wait before it is asked again, in milliseconds: what it
    /// asks for, or else one that grows up to `most_ms`.
    pub(super) fn failed<P: Platform>(
        &self,
        platform: &P,
        asked_ms: Option<u64>,
        most_ms: u64,
    ) -> u64 {
        let failures = self.failures.get();
        self.failures.set(failures.saturating_add(1));
        let wait_ms = asked_ms.map_or_else(
            || most_ms.min(FIRST_WAIT_MS << failures.min(10)),
            |asked| asked.clamp(FIRST_WAIT_MS, MAX_RETRY_AFTER_MS),
        );
        self.rests_until.set(platform.now_ms().saturating_add(wait_ms));
        wait_ms
    }
}
