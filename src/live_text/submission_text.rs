//! The text of one submission as it grows, and what the turn is at (interface §2, Delivery). The reasoner
//! writes it; any number of watchers read it through a `TextCursor`.
//!
//! Architecture Invariant: memory only. Everything here can be built again from the persistence layer.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

use serde_json::{Map, Value};

use super::outcome::Outcome;
use crate::contract::Progress;
use crate::contract::event_frames;

/// The most bytes of progress events that wait for one watcher. They are news, so a watcher that reads
/// too slowly misses some.
const MAX_PROGRESS_BYTES: usize = 64 * 1024;

/// The progress events that one watcher has not read yet, as server-sent events.
pub(super) type ProgressBuffer = Rc<RefCell<String>>;

/// What the turn has been at since some moment.
#[derive(Clone, Debug)]
pub(crate) struct Activity {
    /// The data of its progress event.
    pub(crate) progress: Map<String, Value>,
    /// In milliseconds since the epoch.
    pub(crate) since_ms: u64,
}

/// The text of one model call.
#[derive(Debug)]
pub(super) struct Segment {
    /// The segment's number within the turn. Every model call and every new attempt begins one.
    pub(super) number: u32,
    pub(super) text: String,
    /// Where each piece of the text ends, in bytes.
    pub(super) ends: Vec<usize>,
    pub(super) discarded: bool,
}

/// The state of a [`LiveText`].
#[derive(Debug, Default)]
pub(super) struct TextState {
    pub(super) segments: Vec<Segment>,
    pub(super) outcome: Option<Outcome>,
    /// From this segment on the text is read again that an earlier instance has shown: a watcher may have more of it.
    pub(super) read_again: Option<u32>,
    /// Grows with every change.
    pub(super) version: u64,
    /// Tasks that wait for the next change.
    on_change: Vec<Waker>,
    /// Tasks that wait for the end only.
    on_end: Vec<Waker>,
    /// A client watches, or has watched.
    watched: bool,
    /// The writer, while it waits for a watcher.
    writer: Option<Waker>,
    /// The buffers of watchers that asked for progress.
    pub(super) progress_buffers: Vec<Weak<RefCell<String>>>,
    current_activity: Option<Activity>,
}

impl TextState {
    /// Whether a segment still grows to what an earlier instance has shown of it.
    pub(super) fn is_read_again(&self, segment: u32) -> bool {
        self.outcome.is_none()
            && self.read_again.is_some_and(|from| segment >= from)
            && self.segments.last().is_some_and(|last| last.number == segment)
    }
}

/// The growing text of one submission.
#[derive(Debug, Default)]
pub(crate) struct LiveText {
    pub(super) state: RefCell<TextState>,
}

impl LiveText {
    /// The text of a submission that ended before: the segment that its stored outcome holds.
    pub(crate) fn finished(kept: Option<(u32, String)>, outcome: Outcome) -> Self {
        let live_text = Self::default();
        if let Some((segment, text)) = kept {
            live_text.append(segment, &text);
        }
        live_text.end(outcome);
        live_text
    }

    /// Appends text to a segment, opening the segment when it is new.
    pub(crate) fn append(&self, segment: u32, text: &str) {
        if text.is_empty() {
            return;
        }
        self.change(|state| match state.segments.last_mut() {
            Some(last) if last.number == segment => {
                last.text.push_str(text);
                last.ends.push(last.text.len());
            }
            _ => state.segments.push(Segment {
                number: segment,
                text: text.to_owned(),
                ends: vec![text.len()],
                discarded: false,
            }),
        });
    }

    /// Notes that the text from a segment on is read again, after its instance was lost: whoever has more of it than is
    /// there waits for the rest.
    pub(crate) fn read_again(&self, segment: u32) {
        self.state.borrow_mut().read_again = Some(segment);
    }

    /// Whether the segment has been opened.
    pub(crate) fn holds(&self, segment: u32) -> bool {
        self.state.borrow().segments.iter().any(|known| known.number == segment)
    }

    /// Discards a segment: its text is not part of the response.
    pub(crate) fn discard(&self, segment: u32) {
        self.change(|state| {
            for known in state.segments.iter_mut().filter(|known| known.number == segment) {
                known.discarded = true;
                // No watcher reads this text any more.
                (known.text, known.ends) = Default::default();
            }
        });
    }

    /// Forgets a segment and all later ones, as if they had never been. False, and nothing is changed,
    /// when a client watches or has watched: it may have got them.
    pub(crate) fn forget(&self, segment: u32) -> bool {
        let is_unseen = !self.state.borrow().watched;
        if is_unseen {
            self.change(|state| state.segments.retain(|known| known.number < segment));
        }
        is_unseen
    }

    /// Ends the submission. Only the first end counts.
    pub(crate) fn end(&self, outcome: Outcome) {
        self.change(|state| {
            state.outcome.get_or_insert(outcome);
        });
    }

    /// Notes that a client watches the text from here on: its writer then reads the model's output as it comes
    /// (`llm_call/reading.rs`), and takes back no text.
    pub(crate) fn watch(&self) {
        self.state.borrow_mut().watched = true;
        let writer = self.state.borrow_mut().writer.take();
        if let Some(writer) = writer {
            writer.wake();
        }
    }

    /// Ready when a client watches, or has watched.
    pub(crate) fn poll_watched(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state.borrow_mut();
        if state.watched {
            return Poll::Ready(());
        }
        state.writer = Some(context.waker().clone());
        Poll::Pending
    }

    /// Sends progress to the watchers that asked for it. Without such a watcher it costs nothing.
    pub(crate) fn progress(&self, progress: Progress<'_>) {
        let mut state = self.state.borrow_mut();
        state.progress_buffers.retain(|buffer| buffer.strong_count() > 0);
        if state.progress_buffers.is_empty() {
            return;
        }
        let frame = event_frames::progress(&progress);
        for buffer in state.progress_buffers.iter().filter_map(Weak::upgrade) {
            let mut buffer = buffer.borrow_mut();
            if buffer.len() + frame.len() <= MAX_PROGRESS_BYTES {
                buffer.push_str(&frame);
            }
        }
        drop(state);
        self.change(|_| {});
    }

    /// Does the same for what the turn does from here on, and remembers it as the current activity.
    pub(crate) fn begin_activity(&self, progress: Progress<'_>, now_ms: u64) {
        let data = serde_json::to_value(progress).ok();
        if let Some(Value::Object(members)) = data {
            let activity = Activity { progress: members, since_ms: now_ms };
            self.state.borrow_mut().current_activity = Some(activity);
        }
        self.progress(progress);
    }

    /// What the turn does now.
    pub(crate) fn current_activity(&self) -> Option<Activity> {
        self.state.borrow().current_activity.clone()
    }

    /// A buffer for the progress from here on.
    pub(super) fn subscribe_to_progress(&self) -> ProgressBuffer {
        let buffer = ProgressBuffer::default();
        self.state.borrow_mut().progress_buffers.push(Rc::downgrade(&buffer));
        buffer
    }

    /// The text that has not been discarded.
    pub(crate) fn text(&self) -> String {
        let state = self.state.borrow();
        state
            .segments
            .iter()
            .filter(|segment| !segment.discarded)
            .map(|segment| segment.text.as_str())
            .collect()
    }

    /// Completes when the submission has ended.
    pub(crate) fn outcome(&self) -> impl Future<Output = Outcome> + '_ {
        std::future::poll_fn(|context| {
            let mut state = self.state.borrow_mut();
            if let Some(outcome) = &state.outcome {
                return Poll::Ready(outcome.clone());
            }
            if !state.on_end.iter().any(|known| known.will_wake(context.waker())) {
                state.on_end.push(context.waker().clone());
            }
            Poll::Pending
        })
    }

    /// Completes when the text's version is no longer `seen`, and gives the version.
    pub(crate) fn changed_since(&self, seen: u64) -> impl Future<Output = u64> + '_ {
        std::future::poll_fn(move |context| {
            let mut state = self.state.borrow_mut();
            if state.version != seen {
                return Poll::Ready(state.version);
            }
            state.on_change.push(context.waker().clone());
            Poll::Pending
        })
    }

    fn change(&self, change: impl FnOnce(&mut TextState)) {
        let woken = {
            let mut state = self.state.borrow_mut();
            change(&mut state);
            state.version += 1;
            let mut woken = std::mem::take(&mut state.on_change);
            if state.outcome.is_some() {
                woken.append(&mut state.on_end);
            }
            woken
        };
        for waker in woken {
            waker.wake();
        }
    }
}
