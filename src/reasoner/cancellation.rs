//! The stop of a running turn, asked for by whoever cancels or erases.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::task::{Poll, Waker};

/// Says once, to whoever waits, that a turn is to stop.
#[derive(Debug, Default)]
pub struct Cancellation {
    requested: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

impl Cancellation {
    /// Asks for the stop. Asking twice is asking once.
    pub fn request(&self) {
        self.requested.set(true);
        for waker in self.waiting.take() {
            waker.wake();
        }
    }

    /// Completes when the stop has been asked for.
    pub fn requested(&self) -> impl Future<Output = ()> + '_ {
        std::future::poll_fn(|context| {
            if self.requested.get() {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
    }
}
