//! The alarm of a session's object: it keeps the object from being evicted under a turn, and rings for
//! a turn whose instance was lost. The runtime keeps one, as a part of the object's storage.

use std::cell::Cell;
use std::rc::Rc;

use worker::js_sys::Promise;
use worker::wasm_bindgen::prelude::wasm_bindgen;
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::{Env, State};

use super::environment::deployment;
use super::runtime::now_ms;
use crate::contract::{ErrorCode, Fault};

#[wasm_bindgen]
extern "C" {
    type AlarmStorage;

    #[wasm_bindgen(method, catch, js_name = setAlarm)]
    fn set_alarm(this: &AlarmStorage, at_ms: f64) -> Result<Promise, JsValue>;
}

/// The alarm of one object.
pub(super) struct Alarm {
    env: Env,
    state: Rc<State>,
    set: Cell<bool>,
}

impl Alarm {
    pub(super) fn new(env: Env, state: Rc<State>) -> Self {
        Self { env, state, set: Cell::new(false) }
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
        let at_ms = now_ms().saturating_add(deployment(&self.env)?.turn_alarm_ms);
        let storage = self.state.storage();
        let storage: &JsValue = storage.as_raw().as_ref();
        // Its promise settles with the writes around it: when they are not kept, the object is reset.
        let _ = storage
            .unchecked_ref::<AlarmStorage>()
            .set_alarm(at_ms as f64)
            .map_err(|_| Fault::new(ErrorCode::Internal, "The session's storage failed."))?;
        self.set.set(true);
        Ok(())
    }

    /// It has rung, or went with the storage.
    pub(super) fn is_gone(&self) {
        self.set.set(false);
    }
}
