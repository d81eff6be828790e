//! The runtime's clock and timers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use wasm_bindgen::prelude::Closure;
use worker::js_sys::Date;

use super::bindings::plain::{scheduler_wait, start, stop};
use super::promise::settled;

/// A timer's time has 31 bits.
const LONGEST_TIMER_MS: u64 = i32::MAX as u64;

/// The longest timer that is not worth cancelling when nobody waits for it any more, in milliseconds.
const SHORT_TIMER_MS: u32 = 50;

/// The pause between two slices of long work, in milliseconds. A short turn has several steps, most of which wait
/// for the network, and each step that becomes ready during a slice waits for the slice's end: the pause is long
/// enough for several of them.
const PAUSE_MS: u32 = 3;

/// The most pauses of a slice: it waits for another one whenever a slice of another request has begun meanwhile.
const MOST_PAUSES: usize = 16;

thread_local! {
    /// The slices that this isolate has begun. A number alone, since no request may wake a task of another one.
    static SLICES: Cell<u64> = const { Cell::new(0) };
    /// What time it is in the present step of a task.
    static STEP: Cell<StepClock> = const { Cell::new(StepClock::OutsideOfSteps) };
    /// The timers that somebody waits for.
    static TIMERS: RefCell<Timers> = const { RefCell::new(Timers { begun: 0, waiting: BTreeMap::new() }) };
    static RING: Closure<dyn FnMut(u32)> = Closure::new(ring);
}

/// The clock stands still while code runs, so one look is enough for a step from one wait to the next.
#[derive(Clone, Copy)]
enum StepClock {
    OutsideOfSteps,
    Unread,
    Read(u64),
}

/// The isolate's timers that have not rung, with whom each of them wakes, by their numbers, of which none is given twice. A
/// timer that another request stops can ring nevertheless.
struct Timers {
    begun: u32,
    waiting: BTreeMap<u32, Option<Waker>>,
}

/// Milliseconds since the Unix epoch.
pub(super) fn now_ms() -> u64 {
    if let StepClock::Read(now) = STEP.get() {
        return now;
    }
    let now = Date::now() as u64;
    if let StepClock::Unread = STEP.get() {
        STEP.set(StepClock::Read(now));
    }
    now
}

/// A task each step of which looks at the clock once at most.
pub(super) async fn stepwise<T>(task: impl Future<Output = T>) -> T {
    let mut task = pin!(task);
    poll_fn(|context| {
        STEP.set(StepClock::Unread);
        let polled = task.as_mut().poll(context);
        STEP.set(StepClock::OutsideOfSteps);
        polled
    })
    .await
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
        Timer::new(step as u32).rung().await;
        left -= step;
    }
}

/// A timer, which is stopped when nobody waits for it any more.
struct Timer {
    number: u32,
    /// By which the runtime knows it.
    of_runtime: f64,
}

impl Timer {
    fn new(ms: u32) -> Self {
        let number = TIMERS.with_borrow_mut(Timers::begin);
        let of_runtime = RING.with(|ring| start(ring, ms, number));
        Self { number, of_runtime }
    }

    async fn rung(self) {
        let wait = |context: &mut Context<'_>| {
            TIMERS.with_borrow_mut(|timers| match timers.waiting.get_mut(&self.number) {
                Some(waker) => {
                    *waker = Some(context.waker().clone());
                    Poll::Pending
                }
                None => Poll::Ready(()),
            })
        };
        poll_fn(wait).await;
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if TIMERS.with_borrow_mut(|timers| timers.waiting.remove(&self.number)).is_some() {
            stop(self.of_runtime);
        }
    }
}

impl Timers {
    fn begin(&mut self) -> u32 {
        self.begun = self.begun.wrapping_add(1);
        self.waiting.insert(self.begun, None);
        self.begun
    }
}

fn ring(number: u32) {
    let ended = TIMERS.with_borrow_mut(|timers| timers.waiting.remove(&number));
    ended.flatten().into_iter().for_each(Waker::wake);
}
