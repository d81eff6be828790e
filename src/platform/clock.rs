//! The runtime's clock and timers.

use std::cell::Cell;
use std::time::Duration;

use worker::Delay;
use worker::js_sys::Date;

use super::bindings::timers::scheduler_wait;
use super::promise::settled;

/// A timer's time has 31 bits.
const LONGEST_TIMER_MS: u64 = i32::MAX as u64;

/// The longest timer that is not worth cancelling when nobody waits for it any more, in milliseconds.
const SHORT_TIMER_MS: u32 = 50;

/// A pause between two slices of long work, in milliseconds. A short turn has several steps, most of which wait
/// for the network, and each step that becomes ready during a slice waits for the slice's end: the pause is long
/// enough for several of them.
const PAUSE_MS: u32 = 3;

/// The most pauses of a slice: it waits for another one whenever a slice of another request has begun meanwhile.
const MOST_PAUSES: usize = 16;

thread_local! {
    /// The slices that this isolate has begun. A number alone, since no request may wake a task of another one.
    static SLICES: Cell<u64> = const { Cell::new(0) };
}

/// Milliseconds since the Unix epoch.
pub(super) fn now_ms() -> u64 {
    Date::now() as u64
}

/// Completes when the runtime has no work left that is ready.
pub(super) async fn yield_now() {
    let _ = settled(&scheduler_wait(0)).await;
}

/// Completes when the runtime has no work left that is ready, and has had a pause since the last slice of any
/// request. Of several requests that wait, the one that has waited longest comes first.
pub(super) async fn yield_to_others() {
    let mut pause = PAUSE_MS;
    for _ in 0..MOST_PAUSES {
        let begun = SLICES.get();
        let _ = settled(&scheduler_wait(pause)).await;
        if SLICES.get() == begun {
            break;
        }
        // This request comes before the one that has just begun a slice.
        pause = PAUSE_MS - 1;
    }
    SLICES.set(SLICES.get().wrapping_add(1));
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
