//! One model output from its bytes: framing, events and accumulation in a row.
//!
//! Two decisions need the whole body and stand here: whether the body is an event stream or one JSON
//! object (the first character shows it reliably, the content type does not), and whether a body that
//! stops inside an event ended early. It does no I/O and keeps no clock.

use super::StreamFault;
use super::accumulator::ResponseAccumulator;
use super::event::ResponseEvent;
use super::event_order::EventOrder;
use super::ordered_text::TextProgress;
use super::response_end::{ResponseEnd, standing_response};
use super::response_facts::ResponseFacts;
use super::split_character::SplitCharacter;
use crate::encoding::{SseDecoder, SseEvent, SseFault};

/// The beginning of one JSON object that is read at once for its id, in bytes.
const HEAD_BYTES: usize = 4096;

/// What reading an event costs beside its bytes, and what a place in the text costs that is looked at, as a number of
/// bytes that would cost as much; and how many bytes can be compared at the cost of one that is read.
const EVENT_WORK: usize = 128;
const PLACE_WORK: usize = 16;
const COMPARED: usize = 8;

/// What a stream accepts.
#[derive(Clone, Copy, Debug)]
pub struct StreamLimits {
    /// The longest event, and the largest body that is one JSON object, in bytes. The terminal event
    /// repeats the whole output and the request's instructions and tools.
    pub event_bytes: usize,
    /// The largest output, in bytes: text, arguments and items.
    pub output_bytes: usize,
    /// The most white space and comments before the first event or the JSON object, in bytes.
    pub lead_bytes: usize,
    /// The largest body, in bytes, whatever it holds.
    pub body_bytes: usize,
    /// The most events of a body.
    pub events: usize,
}

impl StreamLimits {
    /// The bounds of a response of a model service (interface §4).
    pub const RESPONSE: Self = Self {
        event_bytes: 32 * 1024 * 1024,
        output_bytes: 16 * 1024 * 1024,
        lead_bytes: 64 * 1024,
        body_bytes: 64 * 1024 * 1024,
        events: 1_000_000,
    };
}

/// Reads one response of the model, chunk by chunk: the body of one successful HTTP response, or of several, where
/// the response is read on after a cut.
pub struct ResponseStream {
    limits: StreamLimits,
    /// The bytes and the events read so far.
    bytes: usize,
    pub events: usize,
    /// The body so far, while it is blank or one JSON object.
    held: Vec<u8>,
    /// The white space at its beginning, in bytes.
    blank: usize,
    /// Absent until the body turns out to be an event stream.
    decoder: Option<SseDecoder>,
    accumulator: ResponseAccumulator,
    split: SplitCharacter,
    /// Of a response that can be read on.
    order: Option<EventOrder>,
    /// The id of the response that is read on.
    read_on: Option<String>,
}

impl ResponseStream {
    /// A reader of a background response, at the start of its first body.
    pub fn resumable(limits: StreamLimits) -> Self {
        Self { order: Some(EventOrder::default()), ..Self::new(limits) }
    }

    /// Goes on with another body of the same response, whose events may repeat some that were taken.
    pub fn read_on(&mut self, response_id: &str) {
        (self.decoder, self.blank) = (None, 0);
        self.held.clear();
        self.read_on = Some(response_id.to_owned());
    }

    /// The number of the newest event that was taken; `None` where no event had any.
    pub fn newest_event(&self) -> Option<u64> {
        self.order.as_ref().and_then(|order| order.newest)
    }

    /// The work that reading has taken so far, in units of what a byte of a comment takes. It is counted, and depends on
    /// the bytes alone: where this crate runs, the clock stands still while it computes.
    pub fn work(&self) -> usize {
        let (compared, places) = self.accumulator.searched();
        let beside = self.events.saturating_mul(EVENT_WORK);
        let searches = (compared / COMPARED).saturating_add(places.saturating_mul(PLACE_WORK));
        self.bytes.saturating_add(beside).saturating_add(searches)
    }

    /// Takes the response object as it stands at the service: the end of the response, if it has ended. What the
    /// events have not shown of its text goes to `hear`.
    ///
    /// # Errors
    /// [`StreamFault::Unfinished`] for a response that goes on.
    pub fn take_object(
        &mut self,
        body: &[u8],
        hear: &mut dyn FnMut(TextProgress),
    ) -> Result<ResponseEnd, StreamFault> {
        self.accumulator.reported.read_object(&String::from_utf8_lossy(body));
        check_id(self.read_on.as_ref(), &mut self.accumulator.reported)?;
        let (status, object) = standing_response(body)?;
        let progress = self.accumulator.apply(ResponseEvent::Terminal(status, object))?;
        if progress != TextProgress::Nothing {
            hear(progress);
        }
        self.accumulator.take_end()
    }

    /// A reader at the start of a body.
    pub fn new(limits: StreamLimits) -> Self {
        Self {
            limits,
            bytes: 0,
            events: 0,
            held: Vec::new(),
            blank: 0,
            decoder: None,
            accumulator: ResponseAccumulator::new(limits.output_bytes),
            split: SplitCharacter::default(),
            order: None,
            read_on: None,
        }
    }

    /// Takes the next bytes, those behind the terminal event included. `hear` gets the progress of each event that has any. After a fault the
    /// output is lost and the reader must be dropped.
    pub fn push(
        &mut self,
        chunk: &[u8],
        hear: &mut dyn FnMut(TextProgress),
    ) -> Result<(), StreamFault> {
        if self.is_finished() {
            self.overhear(chunk);
            return Ok(());
        }
        let room = self.limits.body_bytes.saturating_sub(self.bytes);
        let (within, beyond) = chunk.split_at_checked(room).unwrap_or((chunk, &[]));
        self.bytes = self.bytes.saturating_add(within.len());
        self.take(within, hear)?;
        // A response that ended within its bound is whole, whatever follows.
        if beyond.is_empty() || self.is_finished() {
            return Ok(());
        }
        Err(StreamFault::BodyTooLarge(self.limits.body_bytes))
    }

    fn take(
        &mut self,
        chunk: &[u8],
        hear: &mut dyn FnMut(TextProgress),
    ) -> Result<(), StreamFault> {
        if self.decoder.is_some() {
            return self.read_events(chunk, hear);
        }
        if self.blank == self.held.len() {
            self.blank += chunk.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            check_lead(self.blank, &self.limits)?;
        }
        self.held.extend_from_slice(chunk);
        let limit = self.limits.event_bytes;
        match self.held.get(self.blank) {
            None => Ok(()),
            // No field of an event stream begins with a brace.
            Some(b'{') if self.held.len() > limit => Err(StreamFault::OutputTooLarge(limit)),
            Some(b'{') => {
                // Nobody may be there to end the body.
                if self.held.len() <= HEAD_BYTES {
                    self.take_in_held();
                }
                Ok(())
            }
            Some(_) => {
                self.decoder = Some(SseDecoder::new(limit));
                let held = std::mem::take(&mut self.held);
                self.read_events(&held, hear)
            }
        }
    }

    /// Whether the terminal event has come: the rest of the body need not be read.
    pub fn is_finished(&self) -> bool {
        self.accumulator.is_finished()
    }

    /// What the service has reported about the response so far, whatever becomes of it.
    pub fn reported(&self) -> &ResponseFacts {
        &self.accumulator.reported
    }

    /// The bytes of text and calls that have come so far.
    pub fn heard_bytes(&self) -> usize {
        self.accumulator.heard_bytes
    }

    /// Whether the body so far is empty or ends with a whole event.
    pub fn is_between_events(&self) -> bool {
        self.decoder.as_ref().map_or(self.held.is_empty(), SseDecoder::is_between_events)
    }

    /// Ends the body: the last progress, and how the response ended.
    pub fn finish(&mut self) -> Result<(TextProgress, ResponseEnd), StreamFault> {
        let mut progress = TextProgress::Nothing;
        let Some(decoder) = &mut self.decoder else {
            let held = std::mem::take(&mut self.held);
            let end = self.take_object(&held, &mut |heard| progress = heard)?;
            return Ok((progress, end));
        };
        if !self.accumulator.is_finished() {
            // The last event lacks its blank line, so it can be a cut one: an unreadable last event
            // means that the body ended early.
            match decoder.finish() {
                Ok(Some(event)) => {
                    let read = ResponseEvent::read(&event).map_err(|_| StreamFault::EndedEarly)?;
                    // Text would be lost in the fault with which the body ends: it comes again where the response is read on.
                    if read.is_of_response() && is_next(&mut self.order, &event)? {
                        progress = self.accumulator.apply(read)?;
                        check_id(self.read_on.as_ref(), &mut self.accumulator.reported)?;
                    }
                }
                Ok(None) => {}
                Err(SseFault::NotUtf8) => return Err(StreamFault::EndedEarly),
                Err(fault) => return Err(fault.into()),
            }
        }
        Ok((progress, self.accumulator.take_end()?))
    }

    /// Takes what the service has reported so far in a body that is no event stream, as one that broke off.
    pub fn take_in_held(&mut self) {
        self.accumulator.reported.read_object(&String::from_utf8_lossy(&self.held));
    }

    fn read_events(
        &mut self,
        chunk: &[u8],
        hear: &mut dyn FnMut(TextProgress),
    ) -> Result<(), StreamFault> {
        let Some(decoder) = &mut self.decoder else { return Ok(()) };
        // A fault behind the terminal event does not count, so the events go first.
        let pushed = decoder.push(chunk);
        check_lead(decoder.lead_bytes(), &self.limits)?;
        while let Some(event) = decoder.next_event() {
            self.events += 1;
            if self.events > self.limits.events {
                return Err(StreamFault::TooManyEvents(self.limits.events));
            }
            if !is_next(&mut self.order, &event)? {
                continue;
            }
            let progress = match ResponseEvent::read(&event) {
                Ok(event) => {
                    if matches!(&event, ResponseEvent::TextDelta(text) if !text.part.text.is_empty())
                    {
                        self.split.give_up();
                    }
                    self.accumulator.apply(event)?
                }
                Err(fault) => {
                    let joined = self.split.join(&event).ok_or(fault)?;
                    self.accumulator.apply(ResponseEvent::read(&joined)?)?
                }
            };
            check_id(self.read_on.as_ref(), &mut self.accumulator.reported)?;
            if progress != TextProgress::Nothing {
                hear(progress);
            }
            if self.accumulator.is_finished() {
                self.overhear(&[]);
                return Ok(());
            }
        }
        Ok(pushed?)
    }

    /// Takes what comes behind the terminal event. A fault there does not count.
    fn overhear(&mut self, chunk: &[u8]) {
        let Some(decoder) = &mut self.decoder else { return };
        let _ = decoder.push(chunk);
        while let Some(event) = decoder.next_event() {
            if let Ok(event) = ResponseEvent::read(&event) {
                self.accumulator.overhear(&event);
            }
        }
    }
}

/// Refuses the report of another response than the one that is read on, whose id stays.
fn check_id(read_on: Option<&String>, reported: &mut ResponseFacts) -> Result<(), StreamFault> {
    match (read_on, &mut reported.response_id) {
        (Some(expected), Some(id)) if expected != id => {
            id.clone_from(expected);
            Err(StreamFault::OfAnother)
        }
        _ => Ok(()),
    }
}

/// Whether an event is to be taken: of a response that can be read on, each one once.
fn is_next(order: &mut Option<EventOrder>, event: &SseEvent) -> Result<bool, StreamFault> {
    order.as_mut().map_or(Ok(true), |order| order.take(&event.data))
}

fn check_lead(bytes: usize, limits: &StreamLimits) -> Result<(), StreamFault> {
    let limit = limits.lead_bytes;
    if bytes > limit { Err(StreamFault::LeadTooLong(limit)) } else { Ok(()) }
}
