//! Waiting for promises, many one after the other, with one pair of callbacks: a pair for each is
//! registered with the runtime's finalizers each time, which costs more than the waiting.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};

use worker::js_sys::Promise;
use worker::wasm_bindgen::JsValue;
use worker::wasm_bindgen::prelude::Closure;

type Callback = Closure<dyn FnMut(JsValue)>;

/// Waits for one promise at a time.
pub(super) struct Awaiter {
    settled: Rc<RefCell<Settled>>,
    /// What to call with a value, and with a fault.
    callbacks: Option<(Callback, Callback)>,
}

#[derive(Default)]
struct Settled {
    with: Option<Result<JsValue, JsValue>>,
    waker: Option<Waker>,
    /// Promises that have not settled.
    awaited: usize,
}

impl Awaiter {
    pub(super) fn new() -> Self {
        let settled = Rc::new(RefCell::new(Settled::default()));
        let callback = |result: fn(JsValue) -> Result<JsValue, JsValue>| {
            let settled = Rc::clone(&settled);
            Closure::new(move |value| {
                let waker = {
                    let mut settled = settled.borrow_mut();
                    settled.awaited -= 1;
                    settled.with = Some(result(value));
                    settled.waker.take()
                };
                if let Some(waker) = waker {
                    waker.wake();
                }
            })
        };
        let callbacks = (callback(Ok), callback(Err));
        Self { settled, callbacks: Some(callbacks) }
    }

    /// What the promise settles with. The promise before it must have settled.
    pub(super) fn settle(
        &self,
        promise: &Promise,
    ) -> impl Future<Output = Result<JsValue, JsValue>> + use<> {
        self.ignore(promise);
        let settled = Rc::clone(&self.settled);
        poll_fn(move |context| {
            let mut settled = settled.borrow_mut();
            match settled.with.take() {
                Some(result) => Poll::Ready(result),
                None => {
                    settled.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
    }

    /// Lets the promise settle however it will, without a report of a fault that nobody handles.
    pub(super) fn ignore(&self, promise: &Promise) {
        if let Some((fulfilled, rejected)) = &self.callbacks {
            self.settled.borrow_mut().awaited += 1;
            let _ = promise.then2(fulfilled, rejected);
        }
    }
}

impl Drop for Awaiter {
    fn drop(&mut self) {
        // What is still to be called must not be gone: the runtime keeps it as long as it needs it.
        if self.settled.borrow().awaited > 0
            && let Some((fulfilled, rejected)) = self.callbacks.take()
        {
            let _ = (fulfilled.into_js_value(), rejected.into_js_value());
        }
    }
}
