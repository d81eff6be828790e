//! The alarm of a session's object: it keeps the object from being evicted under a turn, and rings
//! for a turn whose instance was lost. The runtime keeps one, as a part of the object's storage.

use std::cell::Cell;

use crate::contract::Fault;
use crate::ports::Platform;

/// Whether this instance has set the alarm that is to ring next.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    is_set: Cell<bool>,
}

impl Alarm {
    /// Sees to it that the alarm is set, together with whatever is written in the same stretch: what
    /// is accepted is looked after from that moment on.
    ///
    /// # Errors
    /// `internal` when the storage fails.
    pub(super) fn ensure<P: Platform>(&self, platform: &P, every_ms: u64) -> Result<(), Fault> {
        if !self.is_set.get() {
            platform.set_alarm(platform.now_ms().saturating_add(every_ms))?;
            self.is_set.set(true);
        }
        Ok(())
    }

    /// It has rung, or went with the storage.
    pub(super) fn forget(&self) {
        self.is_set.set(false);
    }
}
