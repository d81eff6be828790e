//! Promises as futures. A pair of callbacks serves one wait after the other, because the runtime
//! registers each new callback with its finalizers, which costs more than the wait.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use worker::js_sys::Promise;
use worker::wasm_bindgen::JsValue;
use worker::wasm_bindgen::prelude::Closure;

use crate::ports::HttpFault;

/// How many pairs of callbacks are kept for the next wait.
const SPARE_CALLBACKS: usize = 64;

thread_local! {
    static SPARE: RefCell<Vec<Callbacks>> = const { RefCell::new(Vec::new()) };
    static NOTHING: Callback = Closure::new(|_| ());
}

pub(super) type Callback = Closure<dyn FnMut(JsValue)>;

/// Waits for a promise.
pub(super) async fn settled(promise: &Promise) -> Result<JsValue, JsValue> {
    let wait = Wait::new();
    wait.begin(|callbacks| promise.then2(&callbacks.fulfilled, &callbacks.rejected));
    wait.over().await
}

/// The runtime's words for the operator's log.
impl From<JsValue> for HttpFault {
    fn from(fault: JsValue) -> Self {
        Self(format!("{fault:?}"))
    }
}

/// Handles a promise's rejection, so that the runtime does not report it.
pub(super) fn ignore(promise: &Promise) {
    let _ = NOTHING.with(|nothing| promise.catch(nothing));
}

/// One wait, with a pair of callbacks that served earlier waits.
pub(super) struct Wait {
    /// `None` only while it is dropped.
    callbacks: Option<Callbacks>,
}

/// The two callbacks that the runtime calls, with a value or a fault.
pub(super) struct Callbacks {
    pub(super) fulfilled: Callback,
    rejected: Callback,
    state: Rc<RefCell<State>>,
}

#[derive(Default)]
struct State {
    settled: Option<Result<JsValue, JsValue>>,
    waker: Option<Waker>,
    /// The runtime may still call one of them.
    expected: bool,
}

impl Wait {
    pub(super) fn new() -> Self {
        let spare = SPARE.with_borrow_mut(Vec::pop);
        Self { callbacks: Some(spare.unwrap_or_else(Callbacks::new)) }
    }

    /// Passes the callbacks to the runtime.
    pub(super) fn begin<T>(&self, hand_over: impl FnOnce(&Callbacks) -> T) -> Option<T> {
        let callbacks = self.callbacks.as_ref()?;
        callbacks.state.borrow_mut().expected = true;
        Some(hand_over(callbacks))
    }

    /// Notes that the runtime will call neither of them.
    pub(super) fn call_off(&self) {
        if let Some(callbacks) = &self.callbacks {
            callbacks.state.borrow_mut().expected = false;
        }
    }

    /// The value or the fault that the runtime calls back with.
    pub(super) async fn over(&self) -> Result<JsValue, JsValue> {
        poll_fn(|context| {
            let Some(callbacks) = &self.callbacks else { return Poll::Pending };
            let mut state = callbacks.state.borrow_mut();
            match state.settled.take() {
                Some(result) => Poll::Ready(result),
                None => {
                    match &mut state.waker {
                        Some(waker) => waker.clone_from(context.waker()),
                        none => *none = Some(context.waker().clone()),
                    }
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let Some(callbacks) = self.callbacks.take() else { return };
        let State { expected, .. } = callbacks.state.replace(State::default());
        if expected {
            // The runtime may still call them, and from here on owns them.
            let _ = (callbacks.fulfilled.into_js_value(), callbacks.rejected.into_js_value());
            return;
        }
        SPARE.with_borrow_mut(|spare| {
            if spare.len() < SPARE_CALLBACKS {
                spare.push(callbacks);
            }
        });
    }
}

impl Callbacks {
    fn new() -> Self {
        let state = Rc::new(RefCell::new(State::default()));
        let callback = |result: fn(JsValue) -> Result<JsValue, JsValue>| {
            let state = Rc::clone(&state);
            Closure::new(move |value| {
                let waker = {
                    let mut state = state.borrow_mut();
                    state.expected = false;
                    state.settled = Some(result(value));
                    state.waker.take()
                };
                if let Some(waker) = waker {
                    waker.wake();
                }
            })
        };
        Self { fulfilled: callback(Ok), rejected: callback(Err), state }
    }
}
