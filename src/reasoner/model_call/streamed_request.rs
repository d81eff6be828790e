//! The body of one model call: what composition wrote, around the conversation's items as they stand in the
//! rows.
//!
//! A conversation may be longer than the memory, so the body is read page by page, twice: once for its length
//! and its hash, and again while it is sent. A short body is one page, which is read once.

use std::cell::RefCell;
use std::ops::Range;

use super::conversation_input::Part;
use super::sent_entries::Form;
use crate::composition::{Block, ComposedRequest};
use crate::contract::Fault;
use crate::encoding::RunningSha256;
use crate::persistence::{Entry, EntryKind, EntrySeq, SessionStore};
use crate::ports::{Database, Platform, RequestBody};

/// The most bytes of items that are read at once, except one entry in another form than it is stored in.
const PAGE_BYTES: usize = 256 * 1024;

/// A body that is read from the rows of `store`.
pub(super) struct StreamedRequest<'a, D> {
    store: &'a SessionStore<D>,
    composed: ComposedRequest,
    parts: &'a [Part],
    pages: Vec<Page>,
    /// The text of one page, by its number, as long as more of it is to be sent.
    held: RefCell<Option<(usize, String)>>,
}

/// A body that was read once, and what was found.
pub(super) struct ReadRequest<'a, D> {
    pub(super) body: StreamedRequest<'a, D>,
    /// In lower-case hex.
    pub(super) sha256: String,
    pub(super) trace: Vec<Block>,
}

/// Some of the input, with the head before the first page and the tail behind the last.
struct Page {
    parts: Range<usize>,
    /// The only part of the input is one of several parts of a stored text.
    piece: Option<usize>,
    /// Items stand before it.
    follows: bool,
    /// Its place in the body.
    bytes: Range<usize>,
}

impl<'a, D: Database> StreamedRequest<'a, D> {
    /// Reads the whole body. Others go on between two pages.
    pub(super) async fn read(
        platform: &impl Platform,
        store: &'a SessionStore<D>,
        composed: ComposedRequest,
        parts: &'a [Part],
    ) -> Result<ReadRequest<'a, D>, Fault> {
        let around = composed.head().len() + composed.tail().len();
        let pages = pages_of(parts);
        let mut body = Self { store, composed, parts, pages, held: RefCell::default() };
        let (mut hash, mut at) = (RunningSha256::default(), 0);
        let mut written = Written::default();
        for number in 0..body.pages.len() {
            if number > 0 {
                platform.yield_to_others().await;
            }
            let follows = written.items > 0;
            let text = body.text(number, &mut written)?;
            hash.add(text.as_bytes());
            let end = at + text.len();
            if let Some(page) = body.pages.get_mut(number) {
                (page.bytes, page.follows) = (at..end, follows);
            }
            at = end;
            if body.pages.len() == 1 {
                body.held.replace(Some((number, text)));
            }
        }
        let commas = written.items.saturating_sub(1);
        let trace = body.composed.trace(written.items, at.saturating_sub(around + commas));
        Ok(ReadRequest { body, sha256: hash.finished(), trace })
    }

    /// What the body has in common with those of other calls.
    pub(super) fn template(&self) -> &str {
        self.composed.template()
    }

    /// The text of a page, whose items come after those that are written.
    fn text(&self, number: usize, written: &mut Written) -> Result<String, Fault> {
        let page = self.pages.get(number).ok_or_else(unreadable)?;
        let parts = self.parts.get(page.parts.clone()).ok_or_else(unreadable)?;
        let head = if number == 0 { self.composed.head() } else { "" };
        let tail = if number + 1 == self.pages.len() { self.composed.tail() } else { "" };
        let items: usize = match page.piece {
            None => parts.iter().map(|part| part.entry.bytes).sum(),
            Some(_) => 0,
        };
        let mut text = String::with_capacity(head.len() + items + tail.len());
        text.push_str(head);
        if let (Some(piece), [part]) = (page.piece, parts) {
            let stored = self.store.items_part(&part.entry, piece)?;
            let ends = (piece == 0, piece + 1 == part.entry.parts());
            written.add_stored(&mut text, &stored, part.entry.kind, ends)?;
        } else {
            let entries: Vec<&Entry> = parts.iter().map(|part| &part.entry).collect();
            for (part, stored) in parts.iter().zip(self.store.items(&entries)?) {
                let kind = part.entry.kind;
                match part.form {
                    Form::AsStored => written.add_stored(&mut text, &stored, kind, (true, true))?,
                    form => {
                        form.each_item(&stored, &mut |item| written.add(&mut text, item.get()))?;
                    }
                }
            }
        }
        text.push_str(tail);
        Ok(text)
    }
}

impl<D: Database> RequestBody for StreamedRequest<'_, D> {
    fn length(&self) -> usize {
        self.pages.last().map_or(0, |page| page.bytes.end)
    }

    fn piece(&self, from: usize, most: usize) -> Option<Vec<u8>> {
        let number = self.pages.partition_point(|page| page.bytes.end <= from);
        let Some(page) = self.pages.get(number) else {
            return (from == self.length()).then(Vec::new);
        };
        let mut held = self.held.borrow_mut();
        let text = match held.take() {
            Some((known, text)) if known == number => text,
            _ => {
                let items = usize::from(page.follows);
                self.text(number, &mut Written { items, ..Written::default() }).ok()?
            }
        };
        if text.len() != page.bytes.len() {
            return None;
        }
        let at = from - page.bytes.start;
        if at == 0 && text.len() <= most {
            return Some(text.into_bytes());
        }
        let rest = text.as_bytes().get(at..)?;
        let piece = rest.get(..most).unwrap_or(rest).to_vec();
        if piece.len() < rest.len() {
            *held = Some((number, text));
        }
        Some(piece)
    }
}

/// The items that are written, joined by commas.
#[derive(Default)]
struct Written {
    items: usize,
    /// The place within an item of which only a part is written.
    within: Place,
}

impl Written {
    fn add(&mut self, text: &mut String, item: &str) {
        if self.items > 0 {
            text.push(',');
        }
        text.push_str(item);
        self.items += 1;
    }

    /// Adds a stored array's items as they are: all of them, or a piece that the array begins or ends with,
    /// or neither.
    fn add_stored(
        &mut self,
        text: &mut String,
        array: &str,
        kind: EntryKind,
        (begins, ends): (bool, bool),
    ) -> Result<(), Fault> {
        let items = if begins { array.strip_prefix('[') } else { Some(array) };
        let items = items.and_then(|rest| if ends { rest.strip_suffix(']') } else { Some(rest) });
        let items = items.ok_or_else(unreadable)?;
        if begins && self.items > 0 && !items.is_empty() {
            text.push(',');
        }
        text.push_str(items);
        self.items += match kind {
            // One message.
            EntryKind::System | EntryKind::User | EntryKind::StandIn => {
                usize::from(begins && !items.is_empty())
            }
            EntryKind::ModelOutput | EntryKind::ToolOutputs => self.within.objects_begun(items),
        };
        Ok(())
    }
}

/// A place in a JSON text.
#[derive(Default)]
struct Place {
    depth: usize,
    in_text: bool,
    escaped: bool,
}

impl Place {
    /// The number of objects outside of others that begin in the text that follows.
    fn objects_begun(&mut self, json: &str) -> usize {
        let mut begun = 0;
        for byte in json.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = self.in_text,
                b'"' => self.in_text = !self.in_text,
                b'{' | b'[' if !self.in_text => {
                    begun += usize::from(self.depth == 0);
                    self.depth += 1;
                }
                b'}' | b']' if !self.in_text => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        begun
    }
}

/// Divides the input into pages; at least one.
fn pages_of(parts: &[Part]) -> Vec<Page> {
    let mut pages = Vec::new();
    let mut page = |parts: Range<usize>, piece: Option<usize>| {
        pages.push(Page { parts, piece, follows: false, bytes: 0..0 });
    };
    let (mut begin, mut bytes) = (0, 0);
    let mut last: Option<EntrySeq> = None;
    for (number, part) in parts.iter().enumerate() {
        // What lies between two entries of a page is read with them.
        let apart = last.replace(part.entry.seq).is_some_and(|last| !part.entry.seq.follows(last));
        let pieces = if part.form == Form::AsStored { part.entry.parts() } else { 1 };
        if begin < number && (apart || pieces > 1 || bytes + part.entry.bytes > PAGE_BYTES) {
            page(begin..number, None);
            (begin, bytes) = (number, 0);
        }
        bytes += part.entry.bytes;
        if pieces > 1 {
            (0..pieces).for_each(|piece| page(number..number + 1, Some(piece)));
            (begin, bytes) = (number + 1, 0);
        }
    }
    if begin < parts.len() || parts.is_empty() {
        page(begin..parts.len(), None);
    }
    pages
}

fn unreadable() -> Fault {
    Fault::internal("A stored part of the conversation is unreadable.")
}
