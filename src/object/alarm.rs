//! The alarm of an object. The runtime stores one for each object, so the earliest time that anything needs counts.

use std::cell::Cell;

use crate::contract::Result;
use crate::ports::Platform;

/// What this instance knows of the alarm.
#[derive(Debug, Default)]
pub struct Alarm {
    /// When it rings, in milliseconds since the Unix epoch, where this instance has set it.
    at_ms: Cell<Option<u64>>,
}

impl Alarm {
    /// Sets the alarm for a point in time, in milliseconds since the Unix epoch, unless this instance has set it for an
    /// earlier one. An earlier one of a lost instance is overwritten, so whoever has not just heard the alarm ring sets
    /// it for `TURN_ALARM_MS` at most, unless nothing earlier can be due.
    ///
    /// The runtime commits it together with all writes up to the next await, so what a step stores is never
    /// without its alarm.
    ///
    /// # Errors
    /// `internal` when the runtime refuses; nothing is noted then.
    pub fn set_by<P: Platform>(&self, platform: &P, at_ms: u64) -> Result<()> {
        if self.at_ms.get().is_none_or(|known| known > at_ms) {
            platform.set_alarm(at_ms)?;
            self.at_ms.set(Some(at_ms));
        }
        Ok(())
    }

    /// The same for a wait from now, in milliseconds.
    ///
    /// # Errors
    /// Those of [`Alarm::set_by`].
    pub fn set_in<P: Platform>(&self, platform: &P, wait_ms: u64) -> Result<()> {
        self.set_by(platform, platform.now_ms().saturating_add(wait_ms))
    }

    /// Notes that the alarm rang, or was deleted with the storage.
    pub fn forget(&self) {
        self.at_ms.set(None);
    }
}
