//! The alarm of a session's object. It keeps the object from eviction while a turn runs, and wakes it for a turn that
//! lost its instance, for a webhook's next attempt and for the end of the retention. The runtime stores one alarm for
//! each object, so the earliest of these times counts.

use std::cell::Cell;

use crate::contract::Fault;
use crate::ports::Platform;

/// What this instance knows of the alarm.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    /// When it rings, where this instance has set it.
    at_ms: Cell<Option<u64>>,
}

impl Alarm {
    /// Sets the alarm unless this instance has set it for an earlier time. The runtime commits it together with all
    /// writes up to the next await, so an accepted submission is never without its alarm.
    pub(super) fn ensure<P: Platform>(&self, platform: &P, every_ms: u64) -> Result<(), Fault> {
        self.ensure_by(platform, platform.now_ms().saturating_add(every_ms))
    }

    /// The same for a point in time.
    pub(super) fn ensure_by<P: Platform>(&self, platform: &P, at_ms: u64) -> Result<(), Fault> {
        if self.at_ms.get().is_none_or(|known| known > at_ms) {
            platform.set_alarm(at_ms)?;
            self.at_ms.set(Some(at_ms));
        }
        Ok(())
    }

    /// Notes that the alarm rang, or was deleted with the storage.
    pub(super) fn forget(&self) {
        self.at_ms.set(None);
    }
}
