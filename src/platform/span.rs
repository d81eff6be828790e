//! The runtime's spans as `ports::TraceSpan`, and tasks that stay below the span that they began in.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use super::bindings::tracing::{OpenSpan, here, open_span};
use crate::contract::TraceContext;
use crate::ports::TraceSpan;

thread_local! {
    /// Somebody has listened to a span of this isolate.
    static IS_HEARD: Cell<bool> = const { Cell::new(false) };
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// A task each step of which runs below the span below which the task began. The runtime would run a step below the
/// span of whoever wakes the task. Without a listener nothing is asked.
pub(super) fn staying(mut task: Task) -> Task {
    let Some(place) = IS_HEARD.get().then(here).flatten() else { return task };
    Box::pin(poll_fn(move |context| {
        let mut polled = Poll::Pending;
        place.run_there(&mut || polled = task.as_mut().poll(context));
        polled
    }))
}

/// An open span. Dropping it ends it.
pub(super) struct RuntimeSpan(OpenSpan);

impl RuntimeSpan {
    /// Opens a span; `None` where nobody listens.
    pub(super) fn open(name: &str) -> Option<Self> {
        let opened = open_span(name).map(Self);
        IS_HEARD.set(IS_HEARD.get() || opened.is_some());
        opened
    }
}

impl TraceSpan for RuntimeSpan {
    fn text(&self, name: &'static str, value: &str) {
        self.0.set_text(name, value);
    }

    fn number(&self, name: &'static str, value: f64) {
        self.0.set_number(name, value);
    }

    fn flag(&self, name: &'static str, value: bool) {
        self.0.set_flag(name, value);
    }

    fn run(&self, work: &mut dyn FnMut()) {
        self.0.run(&mut || work());
    }

    fn context(&self) -> Option<TraceContext> {
        TraceContext::read(self.0.context().as_deref(), None)
    }
}

impl Drop for RuntimeSpan {
    fn drop(&mut self) {
        self.0.end();
    }
}
