//! The runtime's spans as `ports::TraceSpan`.

use super::bindings::tracing::{OpenSpan, open_span};
use crate::contract::TraceContext;
use crate::ports::TraceSpan;

/// An open span. Dropping it ends it.
pub(super) struct RuntimeSpan(OpenSpan);

impl RuntimeSpan {
    /// Opens a span; `None` where nobody listens.
    pub(super) fn open(name: &str) -> Option<Self> {
        open_span(name).map(Self)
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
