//! The growing text of a submission, and its way to any number of watchers (interface §2, Delivery): as
//! server-sent events, each watcher with a position of its own, or as one outcome at the end.
//!
//! Architecture Invariant: memory only, and nothing of the reasoning that writes the text. It names
//! `contract` and `ports` alone.

mod event_stream;
mod outcome;
mod submission_text;
mod text_cursor;

pub use event_stream::EventStream;
pub(crate) use outcome::{Outcome, Timings};
pub(crate) use submission_text::{Activity, LiveText};
pub use text_cursor::Position;
pub(crate) use text_cursor::TextCursor;
