//! The messages in a response's body: one JSON object, or a stream of events.
//!
//! The first character tells the two apart more reliably than the content type.

use crate::encoding::{SseDecoder, SseFault};
use crate::outbound::ServiceFailure;

/// Reads the messages of a body as it arrives.
pub(super) struct MessageReader {
    /// The longest message, in bytes.
    longest: usize,
    form: BodyForm,
}

/// Where a broken stream can be resumed.
pub(super) struct Resumption {
    pub(super) last_event_id: String,
    /// The pause for which the server asks, in milliseconds.
    pub(super) retry_ms: Option<u64>,
}

enum BodyForm {
    Unknown,
    Json(Vec<u8>),
    Events(Box<SseDecoder>),
}

impl MessageReader {
    /// The reader of a body of which no message is longer.
    pub(super) fn new(longest: usize) -> Self {
        Self { longest, form: BodyForm::Unknown }
    }

    /// Takes the next bytes.
    pub(super) fn push(&mut self, mut chunk: &[u8]) -> Result<(), ServiceFailure> {
        if let BodyForm::Unknown = self.form {
            // A byte order mark before JSON is skipped, as RFC 8259 permits; a stream loses nothing by it.
            chunk = chunk.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(chunk).trim_ascii_start();
            self.form = match chunk.first() {
                None => return Ok(()),
                Some(b'{' | b'[') => BodyForm::Json(Vec::new()),
                Some(_) => BodyForm::Events(Box::new(SseDecoder::new(self.longest))),
            };
        }
        match &mut self.form {
            BodyForm::Unknown => Ok(()),
            BodyForm::Json(body) if body.len() + chunk.len() > self.longest => {
                Err(ServiceFailure::TooLarge(self.longest))
            }
            BodyForm::Json(body) => {
                body.extend_from_slice(chunk);
                Ok(())
            }
            BodyForm::Events(events) => events.push(chunk).map_err(|fault| match fault {
                SseFault::NotUtf8 => ServiceFailure::NotJson,
                SseFault::LineTooLong(_) | SseFault::EventTooLong(_) => {
                    ServiceFailure::TooLarge(self.longest)
                }
            }),
        }
    }

    /// The next message, oldest first; at the end of the body, also a last event without its blank line.
    pub(super) fn next_message(&mut self, has_ended: bool) -> Option<String> {
        match &mut self.form {
            BodyForm::Unknown => None,
            BodyForm::Json(body) => {
                has_ended.then(|| String::from_utf8(std::mem::take(body)).ok()).flatten()
            }
            BodyForm::Events(events) => events.next_event().map(|event| event.data).or_else(|| {
                let last = has_ended.then(|| events.finish().ok().flatten());
                last.flatten().map(|event| event.data)
            }),
        }
        // The first event of a stream may have an id and no data.
        .filter(|message| !message.is_empty() || self.is_stream())
    }

    /// Whether the body may hold other messages than the one that is awaited.
    pub(super) fn is_stream(&self) -> bool {
        matches!(self.form, BodyForm::Events(_))
    }

    /// Where the stream can be resumed if it ends here.
    pub(super) fn resumption(&self) -> Option<Resumption> {
        let BodyForm::Events(events) = &self.form else { return None };
        // An empty id revokes the one before it.
        let last_event_id = events.last_id().filter(|id| !id.is_empty())?.to_owned();
        Some(Resumption { last_event_id, retry_ms: events.retry_ms() })
    }
}
