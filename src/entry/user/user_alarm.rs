//! The alarm of a user's object. It brings removals of sessions to their end, and in the end it frees the storage. The
//! runtime stores one alarm for each object.

use std::cell::Cell;

use crate::contract::Fault;
use crate::ports::Platform;

/// The wait before sessions are asked again, in milliseconds. It doubles with each failure in a row.
const FIRST_WAIT_MS: u64 = 1_000;

/// What this instance knows of the alarm.
#[derive(Debug, Default)]
pub(super) struct UserAlarm {
    /// When it rings next, where this instance has set it.
    at: Cell<Option<u64>>,
    /// The passes in a row in which a session could not be erased.
    failures: Cell<u32>,
}

impl UserAlarm {
    /// Sets the alarm for the next pass over the sessions that are to be erased, unless it rings before.
    pub(super) fn set_for_pass<P: Platform>(
        &self,
        platform: &P,
        most_ms: u64,
    ) -> Result<(), Fault> {
        let wait_ms = most_ms.min(FIRST_WAIT_MS << self.failures.get().min(20));
        self.set(platform, platform.now_ms().saturating_add(wait_ms))
    }

    /// Sets the alarm, unless it rings before.
    pub(super) fn set<P: Platform>(&self, platform: &P, at_ms: u64) -> Result<(), Fault> {
        if self.at.get().is_none_or(|known| known > at_ms) {
            platform.set_alarm(at_ms)?;
            self.at.set(Some(at_ms));
        }
        Ok(())
    }

    /// Notes that the alarm rang, or was deleted with the storage.
    pub(super) fn forget(&self) {
        self.at.set(None);
    }

    /// Notes how a pass ended.
    pub(super) fn passed(&self, failed: bool) {
        self.failures.set(if failed { self.failures.get().saturating_add(1) } else { 0 });
    }
}
