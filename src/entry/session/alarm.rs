//! The alarm of a session's object. It keeps the object from eviction while a turn runs, and wakes it
//! for a turn that lost its instance. The runtime stores one alarm for each object.

use std::cell::Cell;

use crate::contract::Fault;
use crate::ports::Platform;

/// What this instance knows of the alarm.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    is_set: Cell<bool>,
}

impl Alarm {
    /// Sets the alarm unless this instance has set it. The runtime commits it together with all writes
    /// up to the next await, so an accepted submission is never without its alarm.
    pub(super) fn ensure<P: Platform>(&self, platform: &P, every_ms: u64) -> Result<(), Fault> {
        if !self.is_set.get() {
            platform.set_alarm(platform.now_ms().saturating_add(every_ms))?;
            self.is_set.set(true);
        }
        Ok(())
    }

    /// Sets the alarm for a moment that is far off, unless it is set for one that is near.
    pub(super) fn set_for_later<P: Platform>(&self, platform: &P, at_ms: u64) -> Result<(), Fault> {
        if self.is_set.get() { Ok(()) } else { platform.set_alarm(at_ms) }
    }

    /// Notes that the alarm rang, or was deleted with the storage.
    pub(super) fn forget(&self) {
        self.is_set.set(false);
    }
}
