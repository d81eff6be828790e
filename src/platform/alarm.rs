//! The alarm of a session's object: it keeps the object from being evicted under a turn, and rings for
//! a turn whose instance was lost. The runtime keeps one, as a part of the object's storage.

use std::cell::Cell;

use worker::{Env, State};

use super::environment::deployment;
use super::object_storage::RuntimeStorage;
use super::runtime::now_ms;
use crate::contract::Fault;
use crate::ports::{DatabaseFault, Deployment};

/// The alarm of one object.
pub(super) struct Alarm {
    env: Env,
    storage: RuntimeStorage,
    set: Cell<bool>,
}

impl Alarm {
    pub(super) fn new(env: Env, state: &State) -> Self {
        Self { env, storage: RuntimeStorage::of(state), set: Cell::new(false) }
    }

    /// Sees to it that the alarm is set, as a part of whatever is written next: what is accepted is
    /// looked after from that moment on.
    ///
    /// # Errors
    /// `internal` when the storage fails.
    pub(super) fn ensure(&self) -> Result<(), Fault> {
        if self.set.get() {
            return Ok(());
        }
        // A variable that is wrong must not end the looking after.
        let every_ms = deployment(&self.env)
            .map_or_else(|_| Deployment::default().turn_alarm_ms, |known| known.turn_alarm_ms);
        let at_ms = now_ms().saturating_add(every_ms);
        let setting = self.storage.set_alarm(at_ms as f64);
        // Its promise settles with the writes around it: when they are not kept, the object is reset.
        let _ = setting.map_err(|fault| DatabaseFault(format!("{fault:?}")))?;
        self.set.set(true);
        Ok(())
    }

    /// It has rung, or went with the storage.
    pub(super) fn is_gone(&self) {
        self.set.set(false);
    }
}
