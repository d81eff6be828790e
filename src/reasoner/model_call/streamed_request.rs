//! The body of one model call: what composition wrote, around the conversation's items as they stand in the
//! rows.
//!
//! A conversation may be longer than the memory, so the body is read page by page, twice: once for its length
//! and its hash, and again while it is sent. A short body is one page, which is read once.

use std::cell::RefCell;
use std::ops::Range;

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::conversation_input::{InputEntry, each_item_sent};
use crate::composition::{Block, ComposedRequest};
use crate::contract::{Fault, Result};
use crate::encoding::hex;
use crate::persistence::{Entry, EntryKind, EntrySeq, SessionStore};
use crate::ports::{Database, Platform, RequestBody};

/// The most bytes of items that are read at once, except one entry in another form than it is stored in.
const PAGE_BYTES: usize = 256 * 1024;

/// The most bytes of a body. A tenant's longest conversation may not cost the other tenants of its isolate theirs.
const MAX_BYTES: usize = 32_000_000;

/// A body that is read from the rows of `store`.
pub(super) struct StreamedRequest<'a, D> {
    store: &'a SessionStore<D>,
    composed: ComposedRequest,
    entries: &'a [InputEntry],
    pages: Vec<Page>,
    /// The text of one page, by its number, as long as more of it is to be sent.
    held: RefCell<Option<(usize, String)>>,
}

/// A body that was read once, and what that showed.
pub(super) struct ReadRequest<'a, D> {
    pub(super) body: StreamedRequest<'a, D>,
    /// In lower-case hex.
    pub(super) sha256: String,
    pub(super) trace: Vec<Block>,
}

/// Some of the input, with the head before the first page and the tail behind the last.
struct Page {
    entries: Range<usize>,
    /// The page is one of several parts of its only entry.
    part: Option<usize>,
    /// Items stand before it.
    follows: bool,
    /// Its place in the body.
    bytes: Range<usize>,
}

impl<'a, D: Database> StreamedRequest<'a, D> {
    /// Reads the whole body; `None` where it is longer than a body may be. Others go on between two pages.
    pub(super) async fn read(
        platform: &impl Platform,
        store: &'a SessionStore<D>,
        composed: ComposedRequest,
        entries: &'a [InputEntry],
    ) -> Result<Option<ReadRequest<'a, D>>> {
        let around = composed.head().len() + composed.tail().len();
        let is_stored = |sent: &&InputEntry| sent.sending().is_as_stored();
        let stored =
            entries.iter().filter(is_stored).map(|sent| sent.entry.bytes.saturating_sub(1));
        if around + stored.sum::<usize>() > MAX_BYTES {
            return Ok(None);
        }
        let pages = pages_of(entries);
        let mut body = Self { store, composed, entries, pages, held: RefCell::default() };
        let (mut hash, mut at) = (Sha256::new(), 0);
        let mut writer = ItemWriter::default();
        for number in 0..body.pages.len() {
            if number > 0 {
                platform.yield_to_others().await;
            }
            let follows = writer.items > 0;
            let text = body.text(number, &mut writer)?;
            hash.update(&text);
            let end = at + text.len();
            if let Some(page) = body.pages.get_mut(number) {
                (page.bytes, page.follows) = (at..end, follows);
            }
            at = end;
            if at > MAX_BYTES {
                return Ok(None);
            }
            if body.pages.len() == 1 {
                body.held.replace(Some((number, text)));
            }
        }
        let commas = writer.items.saturating_sub(1);
        let trace = body.composed.trace(writer.items, at.saturating_sub(around + commas));
        Ok(Some(ReadRequest { body, sha256: hex(&hash.finalize()), trace }))
    }

    /// What the body has in common with those of other calls.
    pub(super) fn template(&self) -> &str {
        self.composed.template()
    }

    /// The text of a page, whose items come after those of `writer`.
    fn text(&self, number: usize, writer: &mut ItemWriter) -> Result<String> {
        let page = self.pages.get(number).ok_or_else(unreadable_entry)?;
        let entries = self.entries.get(page.entries.clone()).ok_or_else(unreadable_entry)?;
        let head = if number == 0 { self.composed.head() } else { "" };
        let tail = if number + 1 == self.pages.len() { self.composed.tail() } else { "" };
        let items: usize = match page.part {
            None => entries.iter().map(|sent| sent.entry.bytes).sum(),
            Some(_) => 0,
        };
        let mut text = String::with_capacity(head.len() + items + tail.len());
        text.push_str(head);
        if let (Some(part), [InputEntry { entry, .. }]) = (page.part, entries) {
            let array = self.store.items_part(entry, part)?;
            let (begins, ends) = (part == 0, part + 1 == entry.parts());
            let stored = StoredItems { array: &array, kind: entry.kind, begins, ends };
            writer.add_stored(&mut text, stored)?;
        } else {
            let listed: Vec<&Entry> = entries.iter().map(|sent| &sent.entry).collect();
            let numbers = page.entries.clone();
            for ((sent, stored), number) in
                entries.iter().zip(self.store.items(&listed)?).zip(numbers)
            {
                let kind = sent.entry.kind;
                if sent.sending().is_as_stored() {
                    let stored = StoredItems { array: &stored, kind, begins: true, ends: true };
                    writer.add_stored(&mut text, stored)?;
                } else {
                    let mut write = |item: &RawValue| writer.add(&mut text, item.get());
                    each_item_sent(self.store, self.entries, number, &stored, &mut write)?;
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
                self.text(number, &mut ItemWriter { items, ..ItemWriter::default() }).ok()?
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

/// The stored array of an entry's items, or a part of it.
struct StoredItems<'a> {
    array: &'a str,
    kind: EntryKind,
    /// The array begins here.
    begins: bool,
    /// The array ends here.
    ends: bool,
}

/// Writes items, joined by commas.
#[derive(Default)]
struct ItemWriter {
    /// The items so far.
    items: usize,
    /// The position within an item of which only a part is written.
    within: JsonPosition,
}

impl ItemWriter {
    fn add(&mut self, text: &mut String, item: &str) {
        if self.items > 0 {
            text.push(',');
        }
        text.push_str(item);
        self.items += 1;
    }

    /// Adds stored items as they are.
    fn add_stored(&mut self, text: &mut String, stored: StoredItems<'_>) -> Result<()> {
        let StoredItems { array, kind, begins, ends } = stored;
        let items = if begins { array.strip_prefix('[') } else { Some(array) };
        let items = items.and_then(|rest| if ends { rest.strip_suffix(']') } else { Some(rest) });
        let items = items.ok_or_else(unreadable_entry)?;
        if begins && self.items > 0 && !items.is_empty() {
            text.push(',');
        }
        text.push_str(items);
        self.items += match kind.is_of_a_model() {
            true => self.within.objects_begun(items),
            false => usize::from(begins && !items.is_empty()),
        };
        Ok(())
    }
}

/// A position in a JSON text.
#[derive(Default)]
struct JsonPosition {
    depth: usize,
    in_text: bool,
    escaped: bool,
}

impl JsonPosition {
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
fn pages_of(entries: &[InputEntry]) -> Vec<Page> {
    let mut pages = Vec::new();
    let mut page = |entries: Range<usize>, part: Option<usize>| {
        pages.push(Page { entries, part, follows: false, bytes: 0..0 });
    };
    let (mut begin, mut bytes) = (0, 0);
    let mut last: Option<EntrySeq> = None;
    for (number, sent) in entries.iter().enumerate() {
        let entry = &sent.entry;
        // What lies between two entries of a page is read with them.
        let apart = last.replace(entry.seq).is_some_and(|last| !entry.seq.follows(last));
        let parts = if sent.sending().is_as_stored() { entry.parts() } else { 1 };
        if begin < number && (apart || parts > 1 || bytes + entry.bytes > PAGE_BYTES) {
            page(begin..number, None);
            (begin, bytes) = (number, 0);
        }
        bytes += entry.bytes;
        if parts > 1 {
            (0..parts).for_each(|part| page(number..number + 1, Some(part)));
            (begin, bytes) = (number + 1, 0);
        }
    }
    if begin < entries.len() || entries.is_empty() {
        page(begin..entries.len(), None);
    }
    pages
}

fn unreadable_entry() -> Fault {
    Fault::internal("A stored part of the conversation is unreadable.")
}
