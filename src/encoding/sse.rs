//! Server-sent events from bytes: the framing of the WHATWG standard, nothing of its meaning.
//!
//! It reads line endings, the byte order mark, comments, fields and the blank line, however
//! the bytes are cut. It never looks into an event's data, and it does no I/O.
//! It departs from the standard twice, on purpose. Bytes that are not UTF-8 are a fault, because a
//! replacement character would silently change an output. [`SseDecoder::finish`] gives an event that
//! lacks its blank line at the end of the body, because some services omit the last one; the reader
//! of the data sees whether the event is whole.

use std::collections::VecDeque;

/// One event. What `id` and `retry` say is the stream's, not the event's: [`SseDecoder::last_id`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field, absent when the block had none or an empty one.
    pub event: Option<String>,
    /// The `data` lines, joined by a line feed.
    pub data: String,
}

/// Why the bytes are not an acceptable event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseFault {
    /// A line is not UTF-8.
    #[error("the event stream is not valid UTF-8")]
    NotUtf8,
    /// A line is longer than its limit, in bytes.
    #[error("a line of the event stream is longer than {0} bytes")]
    LineTooLong(usize),
    /// The data of one event are longer than their limit, in bytes.
    #[error("an event of the event stream is longer than {0} bytes")]
    EventTooLong(usize),
}

/// Turns chunks into events. Its state depends on the bytes alone, never on how they were cut.
///
/// It holds at most one line, one event's data, and the events of the last chunk that nobody has
/// taken yet. It looks at each byte once and copies it at most twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseDecoder {
    /// The most data in one event, in bytes.
    event_bytes: usize,
    /// The line that no line end has closed yet.
    line: Vec<u8>,
    /// The first line is over: a byte order mark does not count any more.
    past_first_line: bool,
    /// The lines without a meaning before the first one with data, in bytes.
    lead_bytes: usize,
    /// A line with data has come.
    past_lead: bool,
    /// A line feed that comes now belongs to the carriage return before it.
    after_carriage_return: bool,
    event: String,
    /// Absent until the block's first `data` line: a block without one is no event.
    data: Option<String>,
    /// The `id` of the block that has not ended.
    id: Option<String>,
    last_id: Option<String>,
    retry_ms: Option<u64>,
    ready: VecDeque<SseEvent>,
    fault: Option<SseFault>,
}

impl SseDecoder {
    /// A decoder at the start of a body whose events hold at most `event_bytes` of data.
    pub fn new(event_bytes: usize) -> Self {
        Self { event_bytes, ..Self::default() }
    }

    /// Takes the next bytes of the body. A fault is final: each later call repeats it. The
    /// events before it can still be taken.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), SseFault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        self.read(chunk).inspect_err(|fault| self.fault = Some(*fault))
    }

    /// The next whole event, oldest first.
    pub fn next_event(&mut self) -> Option<SseEvent> {
        self.ready.pop_front()
    }

    /// The id of the last whole block that has one, with data or without: the place from which a server goes on
    /// with a stream that was cut.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// The comments, blank lines and unknown fields before the first event's data, in bytes.
    pub fn lead_bytes(&self) -> usize {
        self.lead_bytes
    }

    /// The pause before a stream that was cut is asked for again, as its server wants it, in milliseconds.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Whether the decoder holds no part of an event that has not ended.
    pub fn is_between_events(&self) -> bool {
        self.line.is_empty() && self.data.is_none() && self.event.is_empty()
    }

    /// Ends the body: takes an unfinished line as a line and an unfinished block as an event.
    /// Call it once, after [`Self::next_event`] has given its last.
    pub fn finish(&mut self) -> Result<Option<SseEvent>, SseFault> {
        self.push(if self.line.is_empty() { b"" } else { b"\n" })?;
        self.dispatch();
        Ok(self.next_event())
    }

    fn read(&mut self, chunk: &[u8]) -> Result<(), SseFault> {
        let mut rest = chunk;
        if self.after_carriage_return && !rest.is_empty() {
            self.after_carriage_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some((head, end, tail)) = split_line(rest) {
            if self.line.is_empty() {
                self.check_line(head.len())?;
                self.read_line(head)?;
            } else {
                self.hold(head)?;
                let mut line = std::mem::take(&mut self.line);
                self.read_line(&line)?;
                // The next line may come in pieces as well, and reuses the buffer.
                line.clear();
                self.line = line;
            }
            rest = tail;
            if end == b'\r' {
                self.after_carriage_return = tail.is_empty();
                rest = tail.strip_prefix(b"\n").unwrap_or(tail);
            }
        }
        self.hold(rest)
    }

    fn hold(&mut self, piece: &[u8]) -> Result<(), SseFault> {
        self.check_line(self.line.len().saturating_add(piece.len()))?;
        self.line.extend_from_slice(piece);
        Ok(())
    }

    fn check_line(&self, bytes: usize) -> Result<(), SseFault> {
        // A line is a field name, a colon, a space and the data.
        let limit = self.event_bytes.saturating_add("event: ".len());
        if bytes > limit { Err(SseFault::LineTooLong(limit)) } else { Ok(()) }
    }

    /// Takes one whole line. Line ends are ASCII, so a line never cuts a character.
    fn read_line(&mut self, bytes: &[u8]) -> Result<(), SseFault> {
        let mut line = std::str::from_utf8(bytes).map_err(|_| SseFault::NotUtf8)?;
        if !std::mem::replace(&mut self.past_first_line, true) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            self.count_lead(bytes);
            self.dispatch();
            return Ok(());
        }
        // A comment is a line whose field name is empty; it falls through to "unknown".
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event),
            "data" => self.add_data(value)?,
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok().or(self.retry_ms);
            }
            _ => self.count_lead(bytes),
        }
        Ok(())
    }

    fn count_lead(&mut self, line: &[u8]) {
        if !self.past_lead {
            self.lead_bytes = self.lead_bytes.saturating_add(line.len()).saturating_add(1);
        }
    }

    fn add_data(&mut self, value: &str) -> Result<(), SseFault> {
        self.past_lead = true;
        let held = self.data.as_ref().map_or(0, |data| data.len().saturating_add(1));
        if held.saturating_add(value.len()) > self.event_bytes {
            return Err(SseFault::EventTooLong(self.event_bytes));
        }
        match &mut self.data {
            None => self.data = Some(value.to_owned()),
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
        }
        Ok(())
    }

    fn dispatch(&mut self) {
        let event = std::mem::take(&mut self.event);
        self.last_id = self.id.take().or(self.last_id.take());
        if let Some(data) = self.data.take() {
            let event = (!event.is_empty()).then_some(event);
            self.ready.push_back(SseEvent { event, data });
        }
    }
}

/// The text before the first line end, the line end's first byte, and what follows it.
fn split_line(bytes: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    let at = line_end(bytes)?;
    let (head, rest) = bytes.split_at_checked(at)?;
    let (end, tail) = rest.split_first()?;
    Some((head, *end, tail))
}

/// Where the first line end stands. Eight bytes are looked at in one piece: most of a stream is text between two of them.
fn line_end(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);
    // Subtracting 1 from each byte borrows from the top bit of one that is 0, and of no byte before the first 0.
    let has_zero = |eight: u64| eight.wrapping_sub(ONES) & !eight & TOPS != 0;
    let has = |eight: u64, byte: u8| has_zero(eight ^ u64::from_ne_bytes([byte; 8]));
    let (eights, _) = bytes.as_chunks();
    let ends_here = |eight: &[u8; 8]| {
        let eight = u64::from_ne_bytes(*eight);
        has(eight, b'\n') || has(eight, b'\r')
    };
    let before = 8 * eights.iter().position(ends_here).unwrap_or(eights.len());
    let rest = bytes.get(before..)?;
    Some(before + rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOMY: usize = 1 << 20;

    fn event(event: &str, data: &str) -> SseEvent {
        SseEvent { event: (!event.is_empty()).then(|| event.to_owned()), data: data.to_owned() }
    }

    fn drain(decoder: &mut SseDecoder) -> Vec<SseEvent> {
        std::iter::from_fn(|| decoder.next_event()).collect()
    }

    /// Decodes `body` whole, byte by byte and in two chunks cut at every position, and
    /// demands the same events each time. The last event without its blank line is separate.
    fn decode(body: &[u8]) -> (Vec<SseEvent>, Option<SseEvent>) {
        let run = |chunks: &mut dyn Iterator<Item = &[u8]>| {
            let mut decoder = SseDecoder::new(ROOMY);
            for chunk in chunks {
                decoder.push(chunk).unwrap();
            }
            (drain(&mut decoder), decoder.finish().unwrap())
        };
        let whole = run(&mut std::iter::once(body));
        assert_eq!(run(&mut body.chunks(1)), whole, "byte by byte");
        for cut in 0..=body.len() {
            let (head, tail) = body.split_at(cut);
            assert_eq!(run(&mut [head, tail].into_iter()), whole, "cut at {cut}");
            assert_eq!(run(&mut [head, b"", tail].into_iter()), whole, "empty chunk at {cut}");
        }
        whole
    }

    #[test]
    fn the_three_line_ends_are_one_and_the_same() {
        let expected = (vec![event("a", "1\n2"), event("", "ä€😀")], None);
        for end in ["\n", "\r\n", "\r"] {
            let body = ["event: a", "data: 1", "data: 2", "", "data: ä€😀", "", ""].join(end);
            assert_eq!(decode(body.as_bytes()), expected, "{end:?}");
        }
        let mixed = "event: a\rdata: 1\r\ndata: 2\n\rdata: ä€😀\r\n\n";
        assert_eq!(decode(mixed.as_bytes()), expected);
    }

    #[test]
    fn a_byte_order_mark_counts_at_the_start_and_nowhere_else() {
        let body = "\u{feff}data: 1\n\n\u{feff}data: 2\n\ndata: \u{feff}3\n\n";
        assert_eq!(decode(body.as_bytes()), (vec![event("", "1"), event("", "\u{feff}3")], None));
    }

    #[test]
    fn one_space_after_the_colon_is_dropped_and_unknown_fields_are_ignored() {
        let body = ": comment\n:\nid: 7\nretry: 5\ndatum: x\nevent:e\ndata:  x:y \ndata\n\n";
        assert_eq!(decode(body.as_bytes()), (vec![event("e", " x:y \n")], None));
    }

    #[test]
    fn a_block_without_data_is_no_event_and_its_name_does_not_leak_into_the_next() {
        let body = "event: lost\n\n\n\ndata:\n\nevent: x\nevent:\ndata: 1\n\n";
        assert_eq!(decode(body.as_bytes()), (vec![event("", ""), event("", "1")], None));
    }

    #[test]
    fn an_id_counts_from_the_end_of_its_block_with_data_or_without() {
        let body = b"id: 1\ndata\n\nid\n\nretry: 70\nretry: 7s\nid: 2\n\nid: a\0b\ndata: x\n\nid: 3\nretry:\n";
        let mut decoder = SseDecoder::new(ROOMY);
        let mut states = Vec::new();
        for byte in body {
            decoder.push(&[*byte]).unwrap();
            let now = (decoder.last_id().map(str::to_owned), decoder.retry_ms());
            if states.last() != Some(&now) {
                states.push(now);
            }
        }
        let id = |id: &str, retry| (Some(id.to_owned()), retry);
        let course =
            [(None, None), id("1", None), id("", None), id("", Some(70)), id("2", Some(70))];
        assert_eq!(states, course);
    }

    #[test]
    fn the_end_of_the_body_gives_the_event_that_lacks_its_blank_line() {
        for tail in ["", "\n", "\r", "\r\n"] {
            let body = format!("data: 1\n\nevent: e\ndata: [DONE]{tail}");
            let expected = (vec![event("", "1")], Some(event("e", "[DONE]")));
            assert_eq!(decode(body.as_bytes()), expected, "{tail:?}");
        }
        assert_eq!(decode(b"data: 1\n\nevent: e\n"), (vec![event("", "1")], None));
        assert_eq!(decode(b""), (vec![], None));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_a_fault_that_stays() {
        for body in [&b"data: \xff\n"[..], b": \xc3(\n", b"data: \xed\xa0\x80\n"] {
            let mut decoder = SseDecoder::new(ROOMY);
            assert_eq!(decoder.push(b"data: 1\n\n"), Ok(()));
            assert_eq!(decoder.push(body), Err(SseFault::NotUtf8));
            assert_eq!(decoder.push(b"data: 2\n\n"), Err(SseFault::NotUtf8));
            assert_eq!(decoder.next_event(), Some(event("", "1")));
            assert_eq!(decoder.finish(), Err(SseFault::NotUtf8));
        }
        let mut cut_in_a_character = SseDecoder::new(ROOMY);
        assert_eq!(cut_in_a_character.push(b"data: \xe2\x82"), Ok(()));
        assert_eq!(cut_in_a_character.finish(), Err(SseFault::NotUtf8));
    }

    #[test]
    fn a_line_and_an_event_may_be_as_large_as_their_limit_and_no_larger() {
        let run = |body: &[u8], size: usize| {
            let mut decoder = SseDecoder::new(5);
            body.chunks(size).try_for_each(|chunk| decoder.push(chunk))?;
            Ok(drain(&mut decoder))
        };
        for size in [1, 3, 100] {
            assert_eq!(run(b"data: 12\ndata:34\n\n", size), Ok(vec![event("", "12\n34")]));
            assert_eq!(run(b"data: 12\ndata:345\n\n", size), Err(SseFault::EventTooLong(5)));
            assert_eq!(run(b": no longer.\n", size), Ok(vec![]));
            assert_eq!(run(b"data: 1234567", size), Err(SseFault::LineTooLong(12)));
            assert_eq!(run(b": one longer.\n", size), Err(SseFault::LineTooLong(12)));
        }
    }
}
