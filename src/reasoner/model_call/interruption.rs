//! The interrupt of a model call: a steer asks that the call under way be dropped and made again with the steer. It
//! stands around one call, never around the turn: tools are not cut, and no durable step is.

use std::cell::{Cell, RefCell};

use futures_util::future::{AbortHandle, Abortable};

/// The interrupt of a running turn's model calls.
#[derive(Debug, Default)]
pub(crate) struct Interruption {
    /// A model call for an output is under way, its retries included.
    calling: Cell<bool>,
    /// A steer has asked for it since the last boundary.
    requested: Cell<bool>,
    handle: RefCell<Option<AbortHandle>>,
}

/// A model call is under way as long as this value exists.
pub(crate) struct Calling<'a>(&'a Interruption);

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        self.0.calling.set(false);
        self.0.handle.take();
    }
}

impl Interruption {
    /// Whether a model call is under way that an interrupt would drop.
    pub(crate) fn finds_a_call(&self) -> bool {
        self.calling.get()
    }

    /// Drops the model call under way. Where there is none, the next boundary comes first, and nothing changes.
    pub(crate) fn request(&self) {
        self.requested.set(true);
        if let Some(handle) = self.handle.take() {
            handle.abort();
        }
    }

    /// Begins the calls between two boundaries, the first of which has taken all steers.
    pub(crate) fn begin(&self) -> Calling<'_> {
        self.requested.set(false);
        self.go_on()
    }

    /// Goes on with a call of an earlier run, at no boundary.
    pub(crate) fn go_on(&self) -> Calling<'_> {
        self.expect_call();
        Calling(self)
    }

    /// Notes that the run begins in the middle of a call, which an interrupt finds from here on.
    pub(crate) fn expect_call(&self) {
        self.calling.set(true);
    }

    /// Waits for a part of the call; `None` when an interrupt comes first, or came before.
    pub(super) async fn unless_requested<T>(&self, part: impl Future<Output = T>) -> Option<T> {
        if self.requested.get() {
            return None;
        }
        let (handle, registration) = AbortHandle::new_pair();
        self.handle.replace(Some(handle));
        let ended = Abortable::new(part, registration).await;
        self.handle.take();
        ended.ok()
    }
}
