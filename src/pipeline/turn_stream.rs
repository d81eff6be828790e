//! The text of one submission as it grows, and cursors that watch it (interface.md, *Delivery*).
//!
//! The reasoner writes, any number of watchers read. A watcher holds a position, not a queue: what
//! came while it was busy goes out together, a slow one holds up nobody, and its memory is constant.
//!
//! Architecture Invariant: nothing is stored here that could not be built again from the
//! persistence layer; an event's id is a position in the text, never a counter.

use std::cell::RefCell;
use std::fmt::Write;
use std::future::Future;
use std::rc::Rc;
use std::task::{Poll, Waker};

use serde::Serialize;

/// The answer to a submission: what JSON delivery sends, and what `event: result` carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// HTTP status of JSON delivery.
    pub http_status: u16,
    /// The `InvokeResult`, as JSON text.
    pub body: Rc<str>,
}

/// A place in a submission's text: `{segment}.{byte offset}`, as `id:` and `Last-Event-ID` spell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Number of the model call within the turn.
    pub segment: u32,
    /// UTF-8 bytes of that segment which the watcher has.
    pub offset: usize,
}

impl Position {
    /// Reads `Last-Event-ID`; `None` when it is not one of ours, which means "from the start".
    pub fn parse(text: &str) -> Option<Self> {
        let (segment, offset) = text.trim().split_once('.')?;
        Some(Self { segment: segment.parse().ok()?, offset: offset.parse().ok()? })
    }
}

#[derive(Debug)]
struct Segment {
    number: u32,
    text: String,
    discarded: bool,
}

#[derive(Debug, Default)]
struct Growth {
    segments: Vec<Segment>,
    outcome: Option<Outcome>,
    watching: Vec<Waker>,
    version: u64,
}

/// The growing text of one submission.
#[derive(Debug, Default)]
pub struct TurnStream {
    growth: RefCell<Growth>,
}

impl TurnStream {
    /// The stream of a submission that has ended, built from what was stored of it.
    pub fn ended(kept: Option<(u32, String)>, outcome: Outcome) -> Self {
        let stream = Self::default();
        if let Some((segment, text)) = kept {
            stream.append(segment, &text);
        }
        stream.end(outcome);
        stream
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

    /// Takes a segment back: its text was not the answer.
    pub fn discard(&self, segment: u32) {
        self.change(|growth| {
            for known in growth.segments.iter_mut().filter(|known| known.number == segment) {
                known.discarded = true;
                // Nobody will be given this text any more.
                known.text = String::new();
            }
        });
    }

    /// Ends the stream. Only the first end counts.
    pub fn end(&self, outcome: Outcome) {
        self.change(|growth| {
            growth.outcome.get_or_insert(outcome);
        });
    }

    /// How the submission ended, once it has.
    pub fn outcome(&self) -> Option<Outcome> {
        self.growth.borrow().outcome.clone()
    }

    /// The text that has not been taken back.
    pub fn text(&self) -> String {
        let growth = self.growth.borrow();
        growth.segments.iter().filter(|segment| !segment.discarded).map(|segment| segment.text.as_str()).collect()
    }

    /// Completes when the submission has ended.
    pub async fn ended_with(&self) -> Outcome {
        let mut seen = 0;
        loop {
            if let Some(outcome) = self.outcome() {
                return outcome;
            }
            seen = self.changed_since(seen).await;
        }
    }

    /// Completes when the stream's version is another than `seen`, and gives it.
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

/// One watcher's place in a [`TurnStream`].
#[derive(Debug)]
pub struct StreamCursor {
    position: Option<Position>,
    seen: u64,
    finished: bool,
}

impl StreamCursor {
    /// A watcher that has everything up to `position`, or nothing yet.
    pub fn new(position: Option<Position>) -> Self {
        Self { position, seen: 0, finished: false }
    }

    /// The `result` event has been handed out; nothing will follow.
    pub fn finished(&self) -> bool {
        self.finished
    }

    /// Completes when the stream has grown since the last [`Self::frames`].
    pub async fn growth(&self, stream: &TurnStream) {
        stream.changed_since(self.seen).await;
    }

    /// Everything that this watcher does not have yet, as server-sent events; empty when it is up
    /// to date. Whatever came since the last time is one delta.
    pub fn frames(&mut self, stream: &TurnStream) -> String {
        let growth = stream.growth.borrow();
        self.seen = growth.version;
        let mut frames = String::new();
        if self.finished {
            return frames;
        }
        if let Some(held) = self.position
            && held.offset > 0
            && !growth.segments.iter().any(|segment| segment.number == held.segment && !segment.discarded)
            && (growth.outcome.is_some() || growth.segments.iter().any(|segment| segment.number >= held.segment))
        {
            // The watcher has text of a segment that was taken back, or that belongs to an attempt
            // or a submission which this stream no longer holds.
            write_discard(&mut frames, held.segment);
            self.position = Some(Position { segment: held.segment, offset: 0 });
        }
        for segment in growth.segments.iter().filter(|segment| !segment.discarded) {
            let held = match self.position {
                Some(held) if held.segment > segment.number => continue,
                Some(held) if held.segment == segment.number => held.offset,
                _ => 0,
            };
            let rest = segment.text.get(held..).unwrap_or_else(|| {
                // Not a place in this text: only taking it all back makes the watcher right again.
                write_discard(&mut frames, segment.number);
                &segment.text
            });
            if !rest.is_empty() {
                write_delta(&mut frames, segment, rest);
            }
            self.position = Some(Position { segment: segment.number, offset: segment.text.len() });
        }
        if let Some(outcome) = &growth.outcome {
            frames.push_str("event: result\ndata: ");
            frames.push_str(&outcome.body);
            frames.push_str("\n\n");
            self.finished = true;
        }
        frames
    }
}

/// Data of `output_text.delta`.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Delta<'a> {
    segment: u32,
    delta: &'a str,
}

fn write_delta(frames: &mut String, segment: &Segment, text: &str) {
    // Neither serializing two plain members nor writing to a String can fail.
    let data = serde_json::to_string(&Delta { segment: segment.number, delta: text }).unwrap_or_default();
    let _ = write!(
        frames,
        "event: output_text.delta\nid: {}.{}\ndata: {data}\n\n",
        segment.number,
        segment.text.len()
    );
}

fn write_discard(frames: &mut String, segment: u32) {
    let _ = write!(frames, "event: output_text.discard\ndata: {{\"Segment\":{segment}}}\n\n");
}
