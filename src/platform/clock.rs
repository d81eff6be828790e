//! The runtime's clock and timers.

use worker::js_sys::{Date, Function, Promise};
use worker::wasm_bindgen::JsValue;

use super::bindings::timers::{clear_timeout, scheduler_wait, set_timeout};
use super::promise::settled;

/// A timer's time has 31 bits.
const LONGEST_TIMER_MS: u64 = i32::MAX as u64;

/// Milliseconds since the Unix epoch.
pub(super) fn now_ms() -> u64 {
    Date::now() as u64
}

/// Completes when the runtime has no work left that is ready.
pub(super) async fn idle() {
    let _ = settled(&scheduler_wait(0)).await;
}

/// Completes after `ms` milliseconds.
pub(super) async fn sleep(ms: u64) {
    let mut left = ms;
    while left > 0 {
        let step = left.min(LONGEST_TIMER_MS);
        Timer::new(step as i32).rings().await;
        left -= step;
    }
}

/// A timer. Dropping it before it rings clears it.
struct Timer {
    ringing: Promise,
    /// The timer's id and its callback, until it has rung.
    set: Option<(JsValue, Function)>,
}

impl Timer {
    fn new(ms: i32) -> Self {
        let mut set = None;
        let ringing = Promise::new(&mut |ring, _| set = Some((set_timeout(&ring, ms), ring)));
        Self { ringing, set }
    }

    async fn rings(mut self) {
        let _ = settled(&self.ringing).await;
        self.set = None;
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some((id, ring)) = &self.set {
            clear_timeout(id);
            // A promise that settles releases the future that waits for it.
            let _ = ring.call0(&JsValue::UNDEFINED);
        }
    }
}
