//! The machine's tracing: a span stands for a piece of work, and what is opened or sent inside of it is below it.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use crate::contract::TraceContext;

/// An open span, to which somebody listens. Dropping it ends it.
pub trait TraceSpan: 'static {
    /// Sets an attribute; the last value of a name counts. Never content, never a secret.
    fn text(&self, name: &'static str, value: &str);

    /// The same for a number.
    fn number(&self, name: &'static str, value: f64);

    /// The same for a truth value.
    fn flag(&self, name: &'static str, value: bool);

    /// Does synchronous work inside of the span.
    fn run(&self, work: &mut dyn FnMut());

    /// The span's own place in its trace; `None` where the machine does not tell.
    fn context(&self) -> Option<TraceContext>;
}

/// Does work inside of a span, each step of it, whatever runs between two steps; without a span, as it is. The work stays
/// where its caller has put it: a turn's is large, and would be copied and held twice.
pub async fn within<S: TraceSpan, T>(
    span: Option<&S>,
    mut work: Pin<&mut impl Future<Output = T>>,
) -> T {
    let Some(span) = span else { return work.await };
    poll_fn(|context| {
        let mut polled = Poll::Pending;
        span.run(&mut || polled = work.as_mut().poll(context));
        polled
    })
    .await
}
