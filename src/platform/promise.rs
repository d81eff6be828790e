//! Promises as futures. One pair of callbacks serves one wait after the other, because the runtime registers
//! each new callback with its finalizers: with `JsFuture` a stream takes 4 to 11 % more processor time
//! (`make bench ONLY=burst,paced`).

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::{Error, Promise};

use crate::ports::HttpFault;

thread_local! {
    static SPARE: RefCell<Vec<Callbacks>> = const { RefCell::new(Vec::new()) };
    static NOTHING: Callback = Closure::new(|_| ());
}

type Callback = Closure<dyn FnMut(JsValue)>;
type Settled = Result<JsValue, JsValue>;
type Shared = Rc<(Cell<Option<Settled>>, Cell<Option<Waker>>)>;

/// A pair of callbacks, and what it shares with the wait that it serves.
struct Callbacks {
    fulfilled: Callback,
    rejected: Callback,
    shared: Shared,
}

/// A wait, with its callbacks until they have been called.
struct Wait(Option<Callbacks>);

/// Waits for a promise.
pub(super) async fn settled(promise: &Promise) -> Settled {
    let callbacks = SPARE.with_borrow_mut(Vec::pop).unwrap_or_else(Callbacks::new);
    let _ = promise.then2(&callbacks.fulfilled, &callbacks.rejected);
    let mut wait = Wait(Some(callbacks));
    poll_fn(|context| wait.poll(context)).await
}

/// Handles a promise's rejection, so that the runtime does not report it.
pub(super) fn ignore(promise: &Promise) {
    let _ = NOTHING.with(|nothing| promise.catch(nothing));
}

impl Callbacks {
    fn new() -> Self {
        let shared = Shared::default();
        let callback = |settled: fn(JsValue) -> Settled| {
            let shared = Rc::clone(&shared);
            Closure::new(move |value| {
                shared.0.set(Some(settled(value)));
                shared.1.take().into_iter().for_each(Waker::wake);
            })
        };
        Self { fulfilled: callback(Ok), rejected: callback(Err), shared }
    }
}

impl Wait {
    fn poll(&mut self, context: &Context<'_>) -> Poll<Settled> {
        let Some(callbacks) = &self.0 else { return Poll::Pending };
        let Some(settled) = callbacks.shared.0.take() else {
            callbacks.shared.1.set(Some(context.waker().clone()));
            return Poll::Pending;
        };
        SPARE.with_borrow_mut(|spare| spare.extend(self.0.take()));
        Poll::Ready(settled)
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(callbacks) = self.0.take() {
            // The runtime may still call them, and from here on owns them.
            let _ = (callbacks.fulfilled.into_js_value(), callbacks.rejected.into_js_value());
        }
    }
}

/// The runtime's words for the operator's log, without its stack.
impl From<JsValue> for HttpFault {
    fn from(fault: JsValue) -> Self {
        let error = fault.dyn_ref::<Error>();
        Self::Lost(error.map_or_else(|| format!("{fault:?}"), |error| error.to_string().into()))
    }
}
