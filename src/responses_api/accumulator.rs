//! The state machine that turns stream events into text progress and one [`ResponseEnd`].
//!
//! State is keyed by output index: items interleave, and item ids change from event to event
//! on some services. It must not frame bytes, and it must not judge an output: what a cut
//! call or a refusal means for a turn is the caller's.
//! Source: the Responses API's streaming events, by recordings of several services.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::event::ItemPlace;
use super::ordered_text::OrderedText;
use super::output_item::{ItemHead, ItemKind, OutputItem};
use super::response_end::{ResponseView, failure_of};
use super::{ResponseEnd, ResponseEvent, StreamFault};

/// More items, or more parts in a message, than any real output has. It keeps a hostile
/// service from making the bookkeeping itself large.
const MAX_ITEMS: usize = 1024;

/// What an event means for the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextProgress {
    /// Nothing new.
    Nothing,
    /// Text to append to what was told.
    Text(String),
    /// What was told was wrong: discard it all and tell this instead.
    Replaced(String),
}

impl TextProgress {
    /// This progress followed by the next, as one.
    pub fn then(self, next: Self) -> Self {
        match (self, next) {
            (told, Self::Nothing) => told,
            (Self::Nothing, next) | (_, next @ Self::Replaced(_)) => next,
            (Self::Text(told), Self::Text(more)) => Self::Text(told + &more),
            (Self::Replaced(told), Self::Text(more)) => Self::Replaced(told + &more),
        }
    }
}

/// Collects the events of one response.
///
/// It holds at most `output_bytes` of streamed text and arguments and the same again of whole
/// items. All text that it told, with replacements taken into account, is exactly the text of
/// the output, unless the response failed.
#[derive(Clone, Debug)]
pub struct ResponseAccumulator {
    output_bytes: usize,
    streamed_bytes: usize,
    item_bytes: usize,
    items: BTreeMap<u64, Item>,
    text: OrderedText,
    end: Option<ResponseEnd>,
}

#[derive(Clone, Debug)]
struct Item {
    kind: ItemKind,
    id: Option<String>,
    call_id: Option<String>,
    name: Option<String>,
    /// A call's arguments so far.
    arguments: String,
    /// The arguments are whole: later deltas do not count.
    arguments_done: bool,
    /// The item as the service wrote it, once it is whole.
    whole: Option<Box<RawValue>>,
}

impl ResponseAccumulator {
    /// An accumulator before its first event; `output_bytes` bounds the output.
    pub fn new(output_bytes: usize) -> Self {
        Self {
            output_bytes,
            streamed_bytes: 0,
            item_bytes: 0,
            items: BTreeMap::new(),
            text: OrderedText::default(),
            end: None,
        }
    }

    /// Takes the next event. After a fault the output is lost; after the terminal event
    /// everything is ignored.
    pub fn apply(&mut self, event: ResponseEvent<'_>) -> Result<TextProgress, StreamFault> {
        if self.is_finished() {
            return Ok(TextProgress::Nothing);
        }
        match event {
            ResponseEvent::ItemAdded { output_index, item } => self.add_item(output_index, item)?,
            ResponseEvent::ItemDone { output_index, item } => self.end_item(output_index, item)?,
            ResponseEvent::TextDelta { place, content_index, delta, refusal } => {
                self.count_streamed(delta.len())?;
                if let Some(index) = self.place(&place, ItemKind::Message)? {
                    self.text.append(index, content_index, &delta, refusal);
                    self.check_parts(index)?;
                }
            }
            ResponseEvent::TextDone { place, content_index, text, refusal } => {
                if let Some(index) = self.place(&place, ItemKind::Message)? {
                    self.settle_text(index, content_index, &text, refusal)?;
                }
            }
            ResponseEvent::ArgumentsDelta { place, delta } => {
                self.count_streamed(delta.len())?;
                if let Some(call) = self.call_at(&place)?
                    && !call.arguments_done
                {
                    call.arguments.push_str(&delta);
                }
            }
            ResponseEvent::ArgumentsDone { place, arguments } => {
                let held = self.call_at(&place)?.map_or(0, |call| call.arguments.len());
                self.count_streamed(arguments.len().saturating_sub(held))?;
                if let Some(call) = self.call_at(&place)? {
                    call.arguments = arguments.into_owned();
                    call.arguments_done = true;
                }
            }
            ResponseEvent::Terminal { status, response } => {
                let response = ResponseView::read(response)?;
                let streamed = || self.streamed_items();
                let end = response.conclude(status, self.output_bytes, streamed)?;
                return Ok(self.end(end));
            }
            // Services end a response with it; where a `response.failed` follows, it repeats
            // the code and knows no type.
            ResponseEvent::Error { error, nested } => {
                let end = match (failure_of(error.get()), nested) {
                    // The flat shape's `type` is the event's.
                    (ResponseEnd::Failed { code, message, .. }, false) => {
                        ResponseEnd::Failed { code, kind: None, message }
                    }
                    (end, _) => end,
                };
                return Ok(self.end(end));
            }
            ResponseEvent::Done => return Err(StreamFault::EndedEarly),
            ResponseEvent::Ignored => {}
        }
        Ok(self.text.advance())
    }

    /// Whether the terminal event was seen: nothing after it counts, so the rest of the body
    /// need not be read.
    pub fn is_finished(&self) -> bool {
        self.end.is_some()
    }

    /// How the response ended, or [`StreamFault::EndedEarly`] without a terminal event.
    pub fn into_end(self) -> Result<ResponseEnd, StreamFault> {
        self.end.ok_or(StreamFault::EndedEarly)
    }

    fn end(&mut self, end: ResponseEnd) -> TextProgress {
        let progress = match &end {
            ResponseEnd::Completed(output) | ResponseEnd::Incomplete { output, .. } => {
                std::mem::take(&mut self.text).reconcile(&output.text)
            }
            ResponseEnd::Failed { .. } => TextProgress::Nothing,
        };
        self.items.clear();
        self.end = Some(end);
        progress
    }

    fn add_item(&mut self, output_index: Option<u64>, raw: &RawValue) -> Result<(), StreamFault> {
        let head = ItemHead::read(raw)?;
        self.count_streamed(raw.get().len())?;
        let index = output_index.unwrap_or_else(|| self.next_index());
        let kind = head.kind();
        let item = self.item_at(index, kind)?;
        item.kind = kind;
        item.id = head.id;
        item.call_id = head.call_id;
        item.name = head.name;
        if kind == ItemKind::Message {
            self.text.open(index);
        }
        Ok(())
    }

    fn end_item(&mut self, output_index: Option<u64>, raw: &RawValue) -> Result<(), StreamFault> {
        let head = ItemHead::read(raw)?;
        let bytes = self.item_bytes.saturating_add(raw.get().len());
        if bytes > self.output_bytes {
            return Err(StreamFault::OutputTooLarge { limit: self.output_bytes });
        }
        self.item_bytes = bytes;
        let kind = head.kind();
        let index = output_index
            .or_else(|| self.unfinished(head.id.as_deref(), kind))
            .unwrap_or_else(|| self.next_index());
        let item = self.item_at(index, kind)?;
        item.kind = kind;
        item.whole = Some(raw.to_owned());
        if let OutputItem::Message(parts) = OutputItem::read(raw)? {
            for (number, part) in (0..).zip(&parts) {
                self.settle_text(index, number, &part.text, part.refusal)?;
            }
            self.text.close(index);
        }
        Ok(())
    }

    fn settle_text(
        &mut self,
        index: u64,
        part: u64,
        text: &str,
        refusal: bool,
    ) -> Result<(), StreamFault> {
        // The same text comes up to three times: as deltas, with its part, with its item.
        let held = self.text.part_bytes(index, part);
        self.count_streamed(text.len().saturating_sub(held))?;
        self.text.settle(index, part, text, refusal);
        self.check_parts(index)
    }

    fn call_at(&mut self, place: &ItemPlace<'_>) -> Result<Option<&mut Item>, StreamFault> {
        let index = self.place(place, ItemKind::FunctionCall)?;
        Ok(index.and_then(|index| self.items.get_mut(&index)).filter(|item| item.whole.is_none()))
    }

    /// The item that an event of a kind speaks of, made when it is new. `None` when the
    /// place is taken by an item of another kind: such an event means nothing to us.
    fn place(&mut self, place: &ItemPlace<'_>, kind: ItemKind) -> Result<Option<u64>, StreamFault> {
        let index = place
            .output_index
            .or_else(|| self.unfinished(place.item_id.as_deref(), kind))
            .unwrap_or_else(|| self.next_index());
        let is_ours = self.item_at(index, kind)?.kind == kind;
        Ok(is_ours.then_some(index))
    }

    fn item_at(&mut self, index: u64, kind: ItemKind) -> Result<&mut Item, StreamFault> {
        if self.items.len() >= MAX_ITEMS && !self.items.contains_key(&index) {
            return Err(StreamFault::TooManyItems { limit: MAX_ITEMS });
        }
        Ok(self.items.entry(index).or_insert_with(|| Item {
            kind,
            id: None,
            call_id: None,
            name: None,
            arguments: String::new(),
            arguments_done: false,
            whole: None,
        }))
    }

    /// For events without an index: the item with this id, else the last of its kind, if it
    /// is not whole yet.
    fn unfinished(&self, id: Option<&str>, kind: ItemKind) -> Option<u64> {
        let candidates = || {
            self.items.iter().rev().filter(|(_, item)| item.whole.is_none() && item.kind == kind)
        };
        let by_id = || candidates().find(|(_, item)| id.is_some() && item.id.as_deref() == id);
        by_id().or_else(|| candidates().next()).map(|(index, _)| *index)
    }

    fn next_index(&self) -> u64 {
        self.items.last_key_value().map_or(0, |(index, _)| index.saturating_add(1))
    }

    fn count_streamed(&mut self, bytes: usize) -> Result<(), StreamFault> {
        self.streamed_bytes = self.streamed_bytes.saturating_add(bytes);
        if self.streamed_bytes > self.output_bytes {
            return Err(StreamFault::OutputTooLarge { limit: self.output_bytes });
        }
        Ok(())
    }

    fn check_parts(&self, index: u64) -> Result<(), StreamFault> {
        if self.text.part_count(index) > MAX_ITEMS {
            return Err(StreamFault::TooManyItems { limit: MAX_ITEMS });
        }
        Ok(())
    }

    /// The items in order: as the service wrote them, or, where it never did, as the deltas
    /// make them. A call that stayed without its arguments' end counts as cut.
    fn streamed_items(&self) -> Vec<Box<RawValue>> {
        let items = self.items.iter();
        items.filter_map(|(index, item)| self.streamed_item(*index, item)).collect()
    }

    fn streamed_item(&self, index: u64, item: &Item) -> Option<Box<RawValue>> {
        if let Some(whole) = &item.whole {
            return Some(whole.clone());
        }
        match item.kind {
            ItemKind::Message => {
                let part = |(text, refusal)| {
                    if refusal {
                        DraftPart::Refusal { refusal: text }
                    } else {
                        DraftPart::OutputText { text, annotations: [] }
                    }
                };
                let content = self.text.parts(index).map(part).collect();
                to_raw_value(&DraftItem::Message { role: "assistant", content }).ok()
            }
            ItemKind::FunctionCall => to_raw_value(&DraftItem::FunctionCall {
                call_id: item.call_id.as_deref(),
                name: item.name.as_deref(),
                arguments: &item.arguments,
                status: if item.arguments_done { "completed" } else { "incomplete" },
            })
            .ok(),
            ItemKind::Other => None,
        }
    }
}

/// An item that the service streamed and never repeated whole.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum DraftItem<'a> {
    Message {
        role: &'static str,
        content: Vec<DraftPart<'a>>,
    },
    FunctionCall {
        call_id: Option<&'a str>,
        name: Option<&'a str>,
        arguments: &'a str,
        status: &'static str,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum DraftPart<'a> {
    OutputText { text: &'a str, annotations: [(); 0] },
    Refusal { refusal: &'a str },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::responses_api::{FunctionCall, ModelOutput, SseEvent};

    fn run(limit: usize, events: &[&str]) -> Result<(Vec<TextProgress>, ResponseEnd), StreamFault> {
        let mut accumulator = ResponseAccumulator::new(limit);
        let mut told = Vec::new();
        for data in events {
            let event = SseEvent { event: None, data: (*data).to_owned() };
            let progress = accumulator.apply(ResponseEvent::read(&event)?)?;
            if progress != TextProgress::Nothing {
                told.push(progress);
            }
        }
        Ok((told, accumulator.into_end()?))
    }

    fn text(text: &str) -> TextProgress {
        TextProgress::Text(text.to_owned())
    }

    fn delta(place: &str, text: &str) -> String {
        format!(r#"{{"type":"response.output_text.delta",{place},"delta":"{text}"}}"#)
    }

    const EMPTY_END: &str = r#"{"type":"response.completed","response":{"output":[]}}"#;

    #[test]
    fn events_without_an_index_find_their_item_by_id_else_take_the_last_of_its_kind() {
        let added = |id: &str| {
            format!(
                r#"{{"type":"response.output_item.added","item":{{"type":"message","id":"{id}"}}}}"#
            )
        };
        let done = |id: &str, text: &str| {
            format!(
                r#"{{"type":"response.output_item.done","item":{{"type":"message","id":"{id}","content":"{text}"}}}}"#
            )
        };
        let (told, end) = run(
            10_000,
            &[
                &added("a"),
                &added("b"),
                &delta(r#""item_id":"b""#, "two"),
                &delta(r#""item_id":"a""#, "on"),
                &done("a", "one"),
                &done("rotated", "two!"),
                &done("new", "three"),
                EMPTY_END,
            ],
        )
        .unwrap();
        assert_eq!(told, [text("on"), text("etwo"), text("!"), text("three")]);
        match end {
            ResponseEnd::Completed(output) => assert_eq!(output.text, "onetwo!three"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_call_that_is_never_repeated_whole_is_made_of_its_pieces_and_cut_without_their_end() {
        let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":""}}"#;
        let piece =
            r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a"}"#;
        let whole = r#"{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"a\":1}"}"#;
        let output = |arguments: &str, cut| {
            let call = FunctionCall {
                call_id: "c".to_owned(),
                name: "f".to_owned(),
                arguments: arguments.to_owned(),
                cut,
            };
            let status = if cut { "incomplete" } else { "completed" };
            let item = format!(
                r#"{{"type":"function_call","call_id":"c","name":"f","arguments":{},"status":"{status}"}}"#,
                serde_json::to_string(arguments).unwrap()
            );
            let items = vec![RawValue::from_string(item).unwrap()];
            ModelOutput { calls: vec![call], items, ..ModelOutput::default() }
        };
        assert_eq!(
            run(1000, &[added, piece, whole, piece, EMPTY_END]),
            Ok((vec![], ResponseEnd::Completed(output(r#"{"a":1}"#, false))))
        );
        assert_eq!(
            run(1000, &[added, piece, EMPTY_END]),
            Ok((
                vec![],
                ResponseEnd::Incomplete {
                    output: output("{\"a", true),
                    reason: None,
                    cut_call: true
                }
            ))
        );
    }

    #[test]
    fn an_answer_may_be_as_large_as_its_limit_and_no_larger() {
        let place = r#""output_index":0"#;
        let fits = [delta(place, "12345"), delta(place, "67890")];
        let done = r#"{"type":"response.output_text.done","output_index":0,"text":"1234567890"}"#;
        let end = r#"{"type":"response.failed","response":{}}"#;
        assert!(run(10, &[&fits[0], &fits[1], done, end]).is_ok());
        assert_eq!(
            run(9, &[&fits[0], &fits[1], done, end]),
            Err(StreamFault::OutputTooLarge { limit: 9 })
        );
        let many: Vec<String> = (0..=MAX_ITEMS)
            .map(|index| delta(&format!(r#""output_index":{index}"#), "x"))
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(run(10_000, &many), Err(StreamFault::TooManyItems { limit: MAX_ITEMS }));
        let parts: Vec<String> = (0..=MAX_ITEMS)
            .map(|part| delta(&format!(r#""output_index":0,"content_index":{part}"#), "x"))
            .collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        assert_eq!(run(10_000, &parts), Err(StreamFault::TooManyItems { limit: MAX_ITEMS }));
    }

    #[test]
    fn progress_adds_up() {
        let replaced = |text: &str| TextProgress::Replaced(text.to_owned());
        assert_eq!(TextProgress::Nothing.then(text("a")).then(text("b")), text("ab"));
        assert_eq!(text("a").then(replaced("b")).then(text("c")), replaced("bc"));
        assert_eq!(text("a").then(TextProgress::Nothing), text("a"));
    }
}
