//! The runtime's clock and timers.

use std::time::Duration;

use worker::Delay;
use worker::js_sys::Date;

use super::bindings::timers::scheduler_wait;
use super::promise::settled;

/// A timer's time has 31 bits.
const LONGEST_TIMER_MS: u64 = i32::MAX as u64;

/// The longest timer that is not worth cancelling when nobody waits for it any more, in milliseconds.
const SHORT_TIMER_MS: u32 = 50;

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
    if let Ok(ms @ ..=SHORT_TIMER_MS) = u32::try_from(ms) {
        let _ = settled(&scheduler_wait(ms)).await;
        return;
    }
    let mut left = ms;
    while left > 0 {
        let step = left.min(LONGEST_TIMER_MS);
        Delay::from(Duration::from_millis(step)).await;
        left -= step;
    }
}
