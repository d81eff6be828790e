//! The messages in a response's body: one JSON object, or a stream of events.
//!
//! The first character tells the two apart more reliably than the content type.

use crate::encoding::{SseDecoder, SseFault};
use crate::outbound::ServiceFailure;

/// The most of a body that is read, in bytes: progress may be told of for long.
const BODY_BYTES: usize = 16_000_000;

/// A body as it comes.
pub(super) struct AnswerBody {
    /// The longest message, in bytes.
    longest: usize,
    read: usize,
    form: Form,
}

enum Form {
    Unknown,
    Json(Vec<u8>),
    Events(Box<SseDecoder>),
}

impl AnswerBody {
    pub(super) fn new(longest: usize) -> Self {
        Self { longest, read: 0, form: Form::Unknown }
    }

    /// The body in which the rest of a stream that was cut will come: the bounds are those of both together.
    pub(super) fn resumed(self) -> Self {
        Self { form: Form::Unknown, ..self }
    }

    /// Takes the next bytes.
    pub(super) fn push(&mut self, mut chunk: &[u8]) -> Result<(), ServiceFailure> {
        self.read = self.read.saturating_add(chunk.len());
        if self.read > BODY_BYTES {
            return Err(ServiceFailure::TooLarge(BODY_BYTES));
        }
        if let Form::Unknown = self.form {
            chunk = chunk.trim_ascii_start();
            self.form = match chunk.first() {
                None => return Ok(()),
                Some(b'{' | b'[') => Form::Json(Vec::new()),
                Some(_) => Form::Events(Box::new(SseDecoder::new(self.longest))),
            };
        }
        match &mut self.form {
            Form::Unknown => Ok(()),
            Form::Json(body) if body.len() + chunk.len() > self.longest => {
                Err(ServiceFailure::TooLarge(self.longest))
            }
            Form::Json(body) => {
                body.extend_from_slice(chunk);
                Ok(())
            }
            Form::Events(events) => events.push(chunk).map_err(|fault| match fault {
                SseFault::NotUtf8 => ServiceFailure::NotJson,
                SseFault::LineTooLong(_) | SseFault::EventTooLong(_) => {
                    ServiceFailure::TooLarge(self.longest)
                }
            }),
        }
    }

    /// The next message, oldest first; of a body that `has_ended` also the one that nothing ends.
    pub(super) fn next_message(&mut self, has_ended: bool) -> Option<String> {
        match &mut self.form {
            Form::Unknown => None,
            Form::Json(body) => {
                has_ended.then(|| String::from_utf8(std::mem::take(body)).ok()).flatten()
            }
            Form::Events(events) => events.next_event().map(|event| event.data).or_else(|| {
                let last = has_ended.then(|| events.finish().ok().flatten());
                last.flatten().map(|event| event.data)
            }),
        }
        // A stream begins with an event that has an id and nothing else.
        .filter(|message| !message.is_empty() || self.is_stream())
    }

    /// Whether messages that are no answer may come, too.
    pub(super) fn is_stream(&self) -> bool {
        matches!(self.form, Form::Events(_))
    }

    /// From where the server can go on with a stream that is cut here, and after how many milliseconds.
    pub(super) fn cut(&self) -> Option<(&str, Option<u64>)> {
        let Form::Events(events) = &self.form else { return None };
        // An empty id takes back the one before it.
        Some((events.last_id().filter(|id| !id.is_empty())?, events.retry_ms()))
    }
}
