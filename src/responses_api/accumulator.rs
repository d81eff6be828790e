//! The state machine that turns stream events into text progress and one [`ResponseEnd`].
//!
//! The output index is the key of the state: items interleave, and item ids change from event to event
//! on some services. It frames no bytes and judges no output: the caller decides what a cut call or a
//! refusal means for a turn.
//! Source: the Responses API's streaming events, by recordings of several services.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;

use serde_json::value::{RawValue, to_raw_value};

use super::StreamFault;
use super::bounded_list::MAX_ITEMS;
use super::draft_item::{DraftItem, DraftPart};
use super::event::{ItemEvent, ItemPlace, PartEvent, ResponseEvent};
use super::open_items::OpenItems;
use super::ordered_text::{BLANK_LINE, OrderedText, TextProgress};
use super::output_item::{ItemHead, ItemKind, Message, MessagePart, OutputItem, Phase};
use super::response_end::{ResponseEnd, ResponseView};
use super::response_facts::ResponseFacts;

/// Collects the events of one response.
///
/// It holds at most `output_bytes` of streamed text and arguments and the same again of whole
/// items. The text progress that it gave, replacements included, adds up to exactly the text of
/// the output, unless the response failed. Commentary and reasoning are passed on beside it.
#[derive(Debug, Default)]
pub(super) struct ResponseAccumulator {
    output_bytes: usize,
    streamed_bytes: usize,
    item_bytes: usize,
    items: BTreeMap<u64, Item>,
    /// The items that are not whole.
    open: OpenItems,
    /// The bytes that were compared in searches for an item.
    compared: usize,
    text: OrderedText,
    /// The message of the last piece of commentary, and the place of the last piece of reasoning.
    commented: Option<u64>,
    reasoned: Option<(u64, u64)>,
    end: Option<ResponseEnd>,
    /// The bytes of text and calls that have come.
    pub(super) heard_bytes: usize,
    /// What the service has reported about the response.
    pub(super) reported: ResponseFacts,
}

#[derive(Debug, Default)]
struct Item {
    /// Without the id.
    head: ItemHead,
    id: Option<Rc<str>>,
    /// A call's arguments so far.
    arguments: String,
    /// The arguments are whole: later deltas do not count.
    arguments_done: bool,
    /// A message's annotations so far, by the index of their part.
    annotations: BTreeMap<u64, Vec<Box<RawValue>>>,
    /// Their number.
    annotated: usize,
    /// The item as the service wrote it, once it is whole.
    whole: Option<Box<RawValue>>,
    /// The whole item lacks all that has come of it, so the deltas make it.
    is_hollow: bool,
}

impl ResponseAccumulator {
    /// `output_bytes` bounds the output.
    pub(super) fn new(output_bytes: usize) -> Self {
        Self { output_bytes, ..Self::default() }
    }

    /// Takes the next event. A fault makes the output unusable. Events after the terminal event have
    /// no effect.
    pub(super) fn apply(&mut self, event: ResponseEvent<'_>) -> Result<TextProgress, StreamFault> {
        if self.is_finished() {
            return Ok(TextProgress::Nothing);
        }
        match event {
            ResponseEvent::ItemAdded(added) => self.add_item(added)?,
            ResponseEvent::ItemDone(done) => self.end_item(done)?,
            ResponseEvent::TextDelta(PartEvent { place, content_index, part }) => {
                self.count_heard(part.text.len())?;
                if let Some(index) = self.message_at(&place)? {
                    self.text.append(index, content_index, &part)?;
                    if self.text.is_commentary(index) {
                        let piece = apart(&mut self.commented, index, &part.text);
                        return Ok(piece.map_or(TextProgress::Nothing, TextProgress::Commentary));
                    }
                }
            }
            ResponseEvent::TextDone(PartEvent { place, content_index, part }) => {
                if let Some(index) = self.message_at(&place)? {
                    self.settle_text(index, content_index, &part)?;
                }
            }
            ResponseEvent::Annotation(place, content_index, annotation) => {
                self.annotate(&place, content_index, annotation)?;
            }
            ResponseEvent::ReasoningDelta(place, delta) => {
                let piece = apart(&mut self.reasoned, place, &delta);
                return Ok(piece.map_or(TextProgress::Nothing, TextProgress::Reasoning));
            }
            ResponseEvent::ArgumentsDelta(place, delta) => {
                self.count_heard(delta.len())?;
                if let Some(call) = self.call_at(&place)?
                    && !call.arguments_done
                {
                    call.arguments.push_str(&delta);
                }
            }
            ResponseEvent::ArgumentsDone(place, arguments) => {
                let mut bytes = arguments.len();
                if let Some(call) = self.call_at(&place)? {
                    bytes = bytes.saturating_sub(call.arguments.len());
                    call.arguments = arguments.into_owned();
                    call.arguments_done = true;
                }
                self.count_heard(bytes)?;
            }
            ResponseEvent::Progress(response) => self.reported.read_object(response.get()),
            ResponseEvent::Terminal(status, response) => {
                let response = ResponseView::read(response, &mut self.reported)?;
                let (limit, calls_came) = (self.output_bytes, self.calls_came());
                let end = response.conclude(status, limit, calls_came, || self.streamed_items())?;
                return Ok(self.end(end));
            }
            // A `response.failed` that follows repeats the code and lacks the type.
            ResponseEvent::Error(error) => return Ok(self.end(ResponseEnd::Failed(error))),
            ResponseEvent::Done => return Err(StreamFault::EndedEarly),
            ResponseEvent::Ignored => return Ok(TextProgress::Nothing),
        }
        Ok(self.text.advance())
    }

    /// Whether the terminal event has come.
    pub(super) fn is_finished(&self) -> bool {
        self.end.is_some()
    }

    /// How the response ended, or [`StreamFault::EndedEarly`] without a terminal event.
    pub(super) fn take_end(&mut self) -> Result<ResponseEnd, StreamFault> {
        self.end.take().ok_or(StreamFault::EndedEarly)
    }

    /// What the events have cost beside being read: the bytes that were compared to find their items, and the places
    /// in the text that were looked at.
    pub(super) fn searched(&self) -> (usize, usize) {
        (self.compared, self.text.passed)
    }

    /// Takes an event behind the one that ended the response: a `response.failed` behind an `error` says
    /// what the response has cost. What concerns another response says nothing.
    pub(super) fn overhear(&mut self, event: &ResponseEvent<'_>) {
        let ResponseEvent::Terminal(_, response) = event else { return };
        let mut heard = self.reported.clone();
        heard.read_object(response.get());
        let known = &self.reported.response_id;
        if known.is_none() || *known == heard.response_id {
            self.reported = heard;
        }
    }

    fn end(&mut self, end: ResponseEnd) -> TextProgress {
        let progress = match end.output() {
            Some(output) => std::mem::take(&mut self.text).reconcile(&output.text),
            None => TextProgress::Nothing,
        };
        self.items.clear();
        self.open = OpenItems::default();
        self.end = Some(end);
        progress
    }

    fn add_item(&mut self, added: ItemEvent<'_>) -> Result<(), StreamFault> {
        let head = ItemHead::read(added.item)?;
        self.count_streamed(added.item.get().len())?;
        let index = added.output_index.unwrap_or_else(|| self.next_index());
        let (kind, phase) = (head.kind, head.phase);
        if kind == ItemKind::FunctionCall {
            let name = head.name.as_ref().map_or(0, String::len);
            self.heard_bytes = self.heard_bytes.saturating_add(name);
        }
        self.set_head(index, head, None)?;
        if kind == ItemKind::Message {
            self.text.set_commentary(index, phase == Some(Phase::Commentary));
        }
        Ok(())
    }

    fn end_item(&mut self, done: ItemEvent<'_>) -> Result<(), StreamFault> {
        let ItemEvent { output_index, item: raw } = done;
        let (head, whole) = OutputItem::read_with_head(raw)?;
        self.item_bytes = self.item_bytes.saturating_add(raw.get().len());
        self.check_bytes(self.item_bytes)?;
        let item_id = head.id.as_deref().map(Cow::Borrowed);
        let index = self.index_of(&ItemPlace { output_index, item_id }, head.kind);
        self.set_head(index, head, Some(raw.to_owned()))?;
        let is_hollow = self.is_hollow(index, &whole);
        let is_cut = matches!(&whole, OutputItem::FunctionCall(call) if call.cut);
        if let OutputItem::FunctionCall(call) = &whole {
            // The same arguments come up to three times, too.
            let known = self.items.get(&index).map_or(0, |item| item.arguments.len());
            let new = call.arguments.len().saturating_sub(known);
            self.heard_bytes = self.heard_bytes.saturating_add(new);
        }
        if let OutputItem::Message(Message { phase, parts, .. }) = whole {
            self.text.set_commentary(index, phase == Some(Phase::Commentary));
            for (number, part) in (0..).zip(&parts) {
                self.settle_text(index, number, part)?;
            }
            self.text.close(index);
        }
        if let Some(item) = self.items.get_mut(&index) {
            // It is made once, with the response's end: a service may end an item in each event.
            (item.is_hollow, item.arguments_done) = (is_hollow, !is_cut);
        }
        Ok(())
    }

    /// Whether a whole item lacks all that has come of it: some services end an item with its head alone.
    fn is_hollow(&self, index: u64, whole: &OutputItem<'_>) -> bool {
        match whole {
            OutputItem::Message(message) => {
                message.parts.iter().all(|part| part.text.is_empty()) && self.text.has_text(index)
            }
            OutputItem::FunctionCall(call) => {
                let known = self.items.get(&index);
                call.arguments.is_empty() && known.is_some_and(|item| !item.arguments.is_empty())
            }
            OutputItem::Other => false,
        }
    }

    fn settle_text(
        &mut self,
        index: u64,
        number: u64,
        part: &MessagePart<'_>,
    ) -> Result<(), StreamFault> {
        // The same text comes up to three times: as deltas, with its part, with its item.
        let held = self.text.part_bytes(index, number);
        self.count_heard(part.text.len().saturating_sub(held))?;
        self.text.settle(index, number, part)
    }

    /// Keeps an annotation for a message that the service may never repeat whole.
    fn annotate(
        &mut self,
        place: &ItemPlace<'_>,
        content_index: u64,
        annotation: &RawValue,
    ) -> Result<(), StreamFault> {
        self.count_streamed(annotation.get().len())?;
        let Some(index) = self.message_at(place)? else { return Ok(()) };
        let item = self.item_at(index, ItemKind::Message)?;
        if item.whole.is_none() && item.annotated < MAX_ITEMS {
            item.annotated += 1;
            item.annotations.entry(content_index).or_default().push(annotation.to_owned());
        }
        Ok(())
    }

    /// The index of the message at a place, made when it is new. An event for a place where an item of
    /// another kind stands has no meaning.
    fn message_at(&mut self, place: &ItemPlace<'_>) -> Result<Option<u64>, StreamFault> {
        let index = self.index_of(place, ItemKind::Message);
        let item = self.item_at(index, ItemKind::Message)?;
        Ok((item.head.kind == ItemKind::Message).then_some(index))
    }

    /// The call at a place, made when it is new, unless it is whole or an item of another kind.
    fn call_at(&mut self, place: &ItemPlace<'_>) -> Result<Option<&mut Item>, StreamFault> {
        let index = self.index_of(place, ItemKind::FunctionCall);
        let item = self.item_at(index, ItemKind::FunctionCall)?;
        let is_open = item.head.kind == ItemKind::FunctionCall && item.whole.is_none();
        Ok(is_open.then_some(item))
    }

    fn item_at(&mut self, index: u64, kind: ItemKind) -> Result<&mut Item, StreamFault> {
        let has_room = self.items.len() < MAX_ITEMS;
        match self.items.entry(index) {
            Entry::Vacant(_) if !has_room => Err(StreamFault::TooManyItems(MAX_ITEMS)),
            Entry::Vacant(vacant) => {
                self.open.add(kind, index, None);
                let head = ItemHead { kind, ..ItemHead::default() };
                Ok(vacant.insert(Item { head, ..Item::default() }))
            }
            Entry::Occupied(item) => Ok(item.into_mut()),
        }
    }

    /// Sets the members that an item has before it is whole, and the whole item where it has come.
    fn set_head(
        &mut self,
        index: u64,
        mut head: ItemHead,
        whole: Option<Box<RawValue>>,
    ) -> Result<(), StreamFault> {
        let kind = head.kind;
        let id = head.id.take().map(Rc::from);
        let item = self.item_at(index, kind)?;
        let (old_kind, old_id) = (item.head.kind, std::mem::replace(&mut item.id, id.clone()));
        item.head = head;
        item.whole = whole.or(item.whole.take());
        let is_open = item.whole.is_none();
        self.open.remove(old_kind, index, old_id.as_ref());
        if is_open {
            self.open.add(kind, index, id.as_ref());
        }
        Ok(())
    }

    /// The index of the item that an event of a kind concerns. Without an index in the event, that is
    /// the unfinished item of the kind with the event's id, else the last unfinished one, else a new
    /// item.
    fn index_of(&mut self, place: &ItemPlace<'_>, kind: ItemKind) -> u64 {
        if let Some(index) = place.output_index {
            return index;
        }
        let id = place.item_id.as_deref();
        self.compared = self.compared.saturating_add(self.open.compared(id));
        self.open.find(kind, id).unwrap_or_else(|| self.next_index())
    }

    fn next_index(&self) -> u64 {
        self.items.last_key_value().map_or(0, |(index, _)| index.saturating_add(1))
    }

    /// Counts text, or a part of a call.
    fn count_heard(&mut self, bytes: usize) -> Result<(), StreamFault> {
        self.heard_bytes = self.heard_bytes.saturating_add(bytes);
        self.count_streamed(bytes)
    }

    fn count_streamed(&mut self, bytes: usize) -> Result<(), StreamFault> {
        self.streamed_bytes = self.streamed_bytes.saturating_add(bytes);
        self.check_bytes(self.streamed_bytes)
    }

    fn check_bytes(&self, bytes: usize) -> Result<(), StreamFault> {
        let limit = self.output_bytes;
        if bytes > limit { Err(StreamFault::OutputTooLarge(limit)) } else { Ok(()) }
    }

    /// Whether calls have come, and each of them whole.
    fn calls_came(&self) -> bool {
        let is_call = |item: &&Item| item.head.kind == ItemKind::FunctionCall;
        let mut calls = self.items.values().filter(is_call).peekable();
        calls.peek().is_some()
            && calls.all(|Item { head, arguments_done, .. }| {
                *arguments_done && head.call_id.is_some() && head.name.is_some()
            })
    }

    /// The items in order: as the service wrote them, or as the deltas make them where the service
    /// never repeated the whole item. A call whose arguments never ended counts as cut.
    fn streamed_items(&self) -> Vec<Box<RawValue>> {
        let item = |(index, item): (&u64, &Item)| {
            let whole = item.whole.as_ref().filter(|_| !item.is_hollow);
            whole.cloned().or_else(|| draft(*index, item, &self.text))
        };
        self.items.iter().filter_map(item).collect()
    }
}

/// An item as its deltas make it; `None` for one that has none.
fn draft(index: u64, item: &Item, text: &OrderedText) -> Option<Box<RawValue>> {
    match item.head.kind {
        ItemKind::Message => {
            let part = |(number, text, refusal)| match refusal {
                true => DraftPart::Refusal { refusal: text },
                false => {
                    let annotations = item.annotations.get(&number);
                    let annotations = annotations.map(Vec::as_slice).unwrap_or_default();
                    DraftPart::OutputText { text, annotations }
                }
            };
            let content = text.parts(index).map(part).collect();
            let phase = Phase::known(item.head.phase);
            to_raw_value(&DraftItem::Message { role: "assistant", content, phase }).ok()
        }
        ItemKind::FunctionCall => to_raw_value(&DraftItem::FunctionCall {
            call_id: item.head.call_id.as_deref(),
            name: item.head.name.as_deref(),
            arguments: &item.arguments,
            status: if item.arguments_done { "completed" } else { "incomplete" },
        })
        .ok(),
        ItemKind::Reasoning | ItemKind::Compaction | ItemKind::Other => None,
    }
}

/// A piece of text that is passed on beside the output's text, with a blank line before it where another place
/// than the last one begins; `None` when it is empty.
fn apart<P: PartialEq>(last: &mut Option<P>, place: P, piece: &str) -> Option<String> {
    let is_new = last.as_ref().is_some_and(|last| *last != place);
    if piece.is_empty() {
        return None;
    }
    *last = Some(place);
    Some(if is_new { format!("{BLANK_LINE}{piece}") } else { piece.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::SseEvent;
    use crate::responses_api::{FunctionCall, ModelOutput};

    fn run(limit: usize, events: &[&str]) -> Result<(Vec<TextProgress>, ResponseEnd), StreamFault> {
        let mut accumulator = ResponseAccumulator::new(limit);
        let mut progresses = Vec::new();
        for data in events {
            let event = SseEvent { event: None, data: (*data).to_owned() };
            let progress = accumulator.apply(ResponseEvent::read(&event)?)?;
            if progress != TextProgress::Nothing {
                progresses.push(progress);
            }
        }
        Ok((progresses, accumulator.take_end()?))
    }

    /// Output items have no equality of their own; their whole text is in the debug form.
    fn assert_same<T: std::fmt::Debug>(found: &T, expected: &T) {
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
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
        let (progresses, end) = run(
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
        assert_eq!(progresses, [text("on"), text("e\n\ntwo"), text("!"), text("\n\nthree")]);
        match end {
            ResponseEnd::Completed(output) => assert_eq!(output.text, "one\n\ntwo!\n\nthree"),
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
        assert_same(
            &run(1000, &[added, piece, whole, piece, EMPTY_END]),
            &Ok((vec![], ResponseEnd::Completed(output(r#"{"a":1}"#, false)))),
        );
        assert_same(
            &run(1000, &[added, piece, EMPTY_END]),
            &Ok((vec![], ResponseEnd::Incomplete { output: output("{\"a", true), reason: None })),
        );
    }

    #[test]
    fn a_call_that_came_whole_is_made_though_the_end_names_a_message_alone() {
        let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":""}}"#;
        let done =
            r#"{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{}"}"#;
        let other = r#"{"type":"response.in_progress"}"#;
        let message = r#"{"type":"message","content":[{"type":"text","text":""}]}"#;
        for (event, status, expected) in
            [(done, "completed", 1), (other, "completed", 0), (done, "incomplete", 0)]
        {
            let response = format!(r#"{{"output":[{message}]}}"#);
            let end = format!(r#"{{"type":"response.{status}","response":{response}}}"#);
            let (_, ended) = run(1000, &[added, event, &end]).unwrap();
            assert_eq!(ended.output().unwrap().calls.len(), expected, "{event} {status}");
        }
    }

    #[test]
    fn an_item_that_is_empty_when_it_ends_takes_nothing_back_of_what_was_streamed() {
        let added = |item: &str| {
            format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{item}}}"#)
        };
        let done = |item: &str| {
            format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#)
        };
        let place = r#""output_index":0"#;
        let whole = r#"{"type":"response.output_text.done","output_index":0,"text":""}"#;
        for content in ["[]", r#""""#, r#"[{"type":"output_text","text":"","annotations":[]}]"#] {
            let empty =
                format!(r#"{{"type":"message","id":"m","role":"assistant","content":{content}}}"#);
            let events = [&added(&empty), &delta(place, "One"), whole, &done(&empty), EMPTY_END];
            let (progresses, end) = run(1000, &events.map(|event| event as &str)).unwrap();
            assert_eq!(progresses, [text("One")], "{content}");
            let output = end.output().unwrap();
            assert_eq!(output.text, "One", "{content}");
            let kept = output.items[0].get();
            assert!(kept.contains(r#""text":"One""#), "{kept}");
        }
        let call = r#"{"type":"function_call","call_id":"c","name":"f","arguments":""}"#;
        let piece = r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a\":1}"}"#;
        let (_, end) = run(1000, &[&added(call), piece, &done(call), EMPTY_END]).unwrap();
        let output = end.output().unwrap();
        assert_eq!(
            (output.calls[0].arguments.as_str(), output.calls[0].cut),
            (r#"{"a":1}"#, false)
        );
    }

    #[test]
    fn a_stream_may_end_with_an_event_that_does_not_say_how_the_response_did() {
        let place = r#""output_index":0"#;
        for (status, is_whole) in [("completed", true), ("incomplete", false)] {
            let end = format!(r#"{{"type":"response.done","response":{{"status":"{status}"}}}}"#);
            let (_, ended) = run(1000, &[&delta(place, "Hi"), &end]).unwrap();
            assert_eq!(ended.output().unwrap().text, "Hi");
            assert_eq!(matches!(ended, ResponseEnd::Completed(_)), is_whole, "{status}");
        }
        let nothing = r#"{"type":"response.done"}"#;
        assert!(run(1000, &[nothing, EMPTY_END]).is_ok());
    }

    #[test]
    fn an_output_may_be_as_large_as_its_limit_and_no_larger() {
        let place = r#""output_index":0"#;
        let fits = [delta(place, "12345"), delta(place, "67890")];
        let done = r#"{"type":"response.output_text.done","output_index":0,"text":"1234567890"}"#;
        let end = r#"{"type":"response.failed","response":{}}"#;
        assert!(run(10, &[&fits[0], &fits[1], done, end]).is_ok());
        assert_eq!(
            run(9, &[&fits[0], &fits[1], done, end]).unwrap_err(),
            StreamFault::OutputTooLarge(9)
        );
        let many: Vec<String> = (0..=MAX_ITEMS)
            .map(|index| delta(&format!(r#""output_index":{index}"#), "x"))
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(run(10_000, &many).unwrap_err(), StreamFault::TooManyItems(MAX_ITEMS));
        let parts: Vec<String> = (0..=MAX_ITEMS)
            .map(|part| delta(&format!(r#""output_index":0,"content_index":{part}"#), "x"))
            .collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        assert_eq!(run(10_000, &parts).unwrap_err(), StreamFault::TooManyItems(MAX_ITEMS));
    }
}
