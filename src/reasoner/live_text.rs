//! The text of one submission as it grows (interface §2, Delivery). The reasoner writes it; any number
//! of watchers read it through a `TextCursor`.
//!
//! Architecture Invariant: memory only. Everything here can be built again from the persistence layer.

use std::cell::{Ref, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::run_report::Timings;

/// What a submission ended with: the body of JSON delivery, and the data of `event: result`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// HTTP status of JSON delivery.
    pub http_status: u16,
    /// The `InvokeResult`, as JSON text.
    pub body: Rc<str>,
    /// The time that the run took, by part; zero for a stored outcome.
    pub timings: Timings,
}

/// The text of one model call.
#[derive(Debug)]
pub(super) struct Segment {
    /// Number of the model call within the turn.
    pub(super) number: u32,
    pub(super) text: String,
    pub(super) discarded: bool,
}

/// The state of a [`LiveText`].
#[derive(Debug, Default)]
pub(super) struct Growth {
    pub(super) segments: Vec<Segment>,
    pub(super) outcome: Option<Outcome>,
    /// Grows with every change.
    pub(super) version: u64,
    /// Watchers that wait for the next change.
    watching: Vec<Waker>,
    /// Tasks that wait for the end only.
    waiting: Vec<Waker>,
    /// Somebody watches, or has watched.
    watched: bool,
    /// The writer, while it waits for somebody to watch.
    writer: Option<Waker>,
}

/// The growing text of one submission.
#[derive(Debug, Default)]
pub struct LiveText {
    growth: RefCell<Growth>,
}

impl LiveText {
    /// The text of a submission that has ended, built from its stored outcome.
    pub fn ended(kept: Option<(u32, String)>, outcome: Outcome) -> Self {
        let live_text = Self::default();
        if let Some((segment, text)) = kept {
            live_text.append(segment, &text);
        }
        live_text.end(outcome);
        live_text
    }

    /// Appends text to a segment, opening the segment when it is new.
    pub fn append(&self, segment: u32, text: &str) {
        if text.is_empty() {
            return;
        }
        self.change(|growth| match growth.segments.last_mut() {
            Some(last) if last.number == segment => last.text.push_str(text),
            _ => growth.segments.push(Segment {
                number: segment,
                text: text.to_owned(),
                discarded: false,
            }),
        });
    }

    /// The segment has been opened.
    pub fn holds(&self, segment: u32) -> bool {
        self.growth.borrow().segments.iter().any(|known| known.number == segment)
    }

    /// Takes a segment back: its text is not the final one.
    pub fn discard(&self, segment: u32) {
        self.change(|growth| {
            for known in growth.segments.iter_mut().filter(|known| known.number == segment) {
                known.discarded = true;
                // No watcher reads this text any more.
                known.text = String::new();
            }
        });
    }

    /// Ends the submission. Only the first end counts.
    pub fn end(&self, outcome: Outcome) {
        self.change(|growth| {
            growth.outcome.get_or_insert(outcome);
        });
        let waiting = std::mem::take(&mut self.growth.borrow_mut().waiting);
        for waker in waiting {
            waker.wake();
        }
    }

    /// Notes that somebody watches the text from here on.
    pub fn watch(&self) {
        let writer = {
            let mut growth = self.growth.borrow_mut();
            growth.watched = true;
            growth.writer.take()
        };
        if let Some(writer) = writer {
            writer.wake();
        }
    }

    /// Ready when somebody watches, or has watched.
    pub fn poll_watched(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut growth = self.growth.borrow_mut();
        if growth.watched {
            return Poll::Ready(());
        }
        growth.writer = Some(context.waker().clone());
        Poll::Pending
    }

    /// How the submission ended, once it has.
    pub fn outcome(&self) -> Option<Outcome> {
        self.growth.borrow().outcome.clone()
    }

    /// The text that has not been taken back.
    pub fn text(&self) -> String {
        let growth = self.growth.borrow();
        growth
            .segments
            .iter()
            .filter(|segment| !segment.discarded)
            .map(|segment| segment.text.as_str())
            .collect()
    }

    /// The state, for a cursor.
    pub(super) fn growth(&self) -> Ref<'_, Growth> {
        self.growth.borrow()
    }

    /// Completes when the submission has ended.
    pub fn ended_with(&self) -> impl Future<Output = Outcome> + '_ {
        std::future::poll_fn(|context| {
            let mut growth = self.growth.borrow_mut();
            if let Some(outcome) = &growth.outcome {
                return Poll::Ready(outcome.clone());
            }
            if !growth.waiting.iter().any(|known| known.will_wake(context.waker())) {
                growth.waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
    }

    /// Completes when the text's version is no longer `seen`, and gives the version.
    pub fn changed_since(&self, seen: u64) -> impl Future<Output = u64> + '_ {
        std::future::poll_fn(move |context| {
            let mut growth = self.growth.borrow_mut();
            if growth.version != seen {
                return Poll::Ready(growth.version);
            }
            growth.watching.push(context.waker().clone());
            Poll::Pending
        })
    }

    fn change(&self, change: impl FnOnce(&mut Growth)) {
        let watching = {
            let mut growth = self.growth.borrow_mut();
            change(&mut growth);
            growth.version += 1;
            std::mem::take(&mut growth.watching)
        };
        for waker in watching {
            waker.wake();
        }
    }
}
