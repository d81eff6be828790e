//! The signal that stops a running turn; cancelling a turn or erasing its session sends it.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::task::{Poll, Waker};

/// A signal to stop. It is sent once and stays set.
#[derive(Debug, Default)]
pub(crate) struct Cancellation {
    requested: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

impl Cancellation {
    /// Sends the signal. A second request changes nothing.
    pub(crate) fn request(&self) {
        self.requested.set(true);
        for waker in self.waiting.take() {
            waker.wake();
        }
    }

    /// Completes when the signal has been sent.
    pub(crate) fn requested(&self) -> impl Future<Output = ()> + '_ {
        std::future::poll_fn(|context| {
            if self.requested.get() {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
    }
}
