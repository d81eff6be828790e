//! One model output from its bytes: framing, events and accumulation in a row.
//!
//! It owns what only the whole can know: whether the body is an event stream or one JSON
//! object (the content type does not say it reliably, the first character does), and that a
//! body that stops inside an event ended early. It does no I/O and keeps no clock.

use super::split_character::SplitCharacter;
use super::{
    ResponseAccumulator, ResponseEnd, ResponseEvent, SseDecoder, SseEvent, SseFault, SseLimits,
    StreamFault, TextProgress, end_of_json,
};

/// The sizes that a stream accepts, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// The longest event, and the largest body that is one JSON object. The terminal event
    /// repeats the whole output and the request's instructions and tools.
    pub event_bytes: usize,
    /// The largest output: text, arguments and items.
    pub output_bytes: usize,
}

/// Reads the body of one successful HTTP response, chunk by chunk.
#[derive(Clone, Debug)]
pub struct ResponseStream {
    limits: StreamLimits,
    body: Body,
    accumulator: ResponseAccumulator,
    split: SplitCharacter,
}

#[derive(Clone, Debug)]
enum Body {
    /// Nothing yet but white space, which can begin either.
    Blank(Vec<u8>),
    Events(SseDecoder),
    Json(Vec<u8>),
}

impl ResponseStream {
    /// A reader at the start of a body.
    pub fn new(limits: StreamLimits) -> Self {
        let accumulator = ResponseAccumulator::new(limits.output_bytes);
        Self {
            limits,
            body: Body::Blank(Vec::new()),
            accumulator,
            split: SplitCharacter::default(),
        }
    }

    /// Takes the next bytes and gives all the progress in them as one. After a fault the
    /// output is lost and the reader must be dropped.
    pub fn push(&mut self, chunk: &[u8]) -> Result<TextProgress, StreamFault> {
        if self.is_finished() {
            return Ok(TextProgress::Nothing);
        }
        if let Body::Blank(held) = &mut self.body {
            held.extend_from_slice(chunk);
            let Some(body) = recognise(held, self.limits)? else {
                return Ok(TextProgress::Nothing);
            };
            let held = std::mem::replace(&mut self.body, body);
            return match held {
                Body::Blank(held) => self.read(&held),
                Body::Events(_) | Body::Json(_) => Ok(TextProgress::Nothing),
            };
        }
        self.read(chunk)
    }

    /// Whether the terminal event was seen: the rest of the body need not be read.
    pub fn is_finished(&self) -> bool {
        self.accumulator.is_finished()
    }

    /// Whether everything of the body so far was whole events; so it is at its start.
    pub fn is_between_events(&self) -> bool {
        match &self.body {
            Body::Blank(held) => held.is_empty(),
            Body::Events(decoder) => decoder.is_between_events(),
            Body::Json(_) => false,
        }
    }

    /// Ends the body: the last progress, and how the response ended.
    pub fn finish(mut self) -> Result<(TextProgress, ResponseEnd), StreamFault> {
        let mut progress = TextProgress::Nothing;
        match &mut self.body {
            Body::Blank(_) => {}
            Body::Json(body) => {
                let end = end_of_json(body, self.limits.output_bytes)?;
                let text = match &end {
                    ResponseEnd::Completed(output) | ResponseEnd::Incomplete { output, .. } => {
                        &output.text
                    }
                    ResponseEnd::Failed { .. } => "",
                };
                if !text.is_empty() {
                    progress = TextProgress::Text(text.to_owned());
                }
                return Ok((progress, end));
            }
            Body::Events(decoder) if !self.accumulator.is_finished() => {
                // The last event is not closed by a blank line, so it can be cut: what cannot
                // be read in it was not written.
                match decoder.finish() {
                    Ok(Some(event)) => progress = apply_last(&mut self.accumulator, &event)?,
                    Ok(None) => {}
                    Err(SseFault::NotUtf8) => return Err(StreamFault::EndedEarly),
                    Err(fault) => return Err(fault.into()),
                }
            }
            Body::Events(_) => {}
        }
        Ok((progress, self.accumulator.into_end()?))
    }

    fn read(&mut self, chunk: &[u8]) -> Result<TextProgress, StreamFault> {
        match &mut self.body {
            Body::Blank(_) => Ok(TextProgress::Nothing),
            Body::Json(body) => {
                let limit = self.limits.event_bytes;
                if body.len().saturating_add(chunk.len()) > limit {
                    return Err(StreamFault::OutputTooLarge { limit });
                }
                body.extend_from_slice(chunk);
                Ok(TextProgress::Nothing)
            }
            Body::Events(decoder) => {
                // A fault behind the terminal event does not count, so events go first.
                let pushed = decoder.push(chunk);
                let mut progress = TextProgress::Nothing;
                while let Some(event) = decoder.next_event() {
                    let next = match ResponseEvent::read(&event) {
                        Ok(event) => {
                            if event.adds_text() {
                                self.split.give_up();
                            }
                            self.accumulator.apply(event)?
                        }
                        Err(fault) => {
                            let joined = self.split.join(&event).ok_or(fault)?;
                            self.accumulator.apply(ResponseEvent::read(&joined)?)?
                        }
                    };
                    progress = progress.then(next);
                    if self.accumulator.is_finished() {
                        return Ok(progress);
                    }
                }
                pushed?;
                Ok(progress)
            }
        }
    }
}

fn apply_last(
    accumulator: &mut ResponseAccumulator,
    event: &SseEvent,
) -> Result<TextProgress, StreamFault> {
    match ResponseEvent::read(event) {
        Ok(event) => accumulator.apply(event),
        Err(_) => Err(StreamFault::EndedEarly),
    }
}

/// What a body is, by its first character: `{` begins no field of an event stream. `None`
/// while only white space has come.
fn recognise(start: &[u8], limits: StreamLimits) -> Result<Option<Body>, StreamFault> {
    let limit = limits.event_bytes;
    Ok(match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => Some(Body::Json(Vec::new())),
        Some(_) => {
            // A line is a field name, a colon, a space and the data.
            let line_bytes = limit.saturating_add("event: ".len());
            Some(Body::Events(SseDecoder::new(SseLimits { line_bytes, event_bytes: limit })))
        }
        None if start.len() > limit => return Err(StreamFault::OutputTooLarge { limit }),
        None => None,
    })
}
