//! The text of an output in the order of its items, while the items may still interleave.
//!
//! It decides which text the reader can get now, so that the text given is always the beginning of the
//! output. Text of a later message waits until the earlier known messages are closed; commentary is not
//! given, and nothing waits for it. It knows no events, no calls and no raw items.

use std::collections::{BTreeMap, BTreeSet};

use super::StreamFault;
use super::bounded_list::MAX_ITEMS;
use super::output_item::MessagePart;

/// What stands between the texts of two messages.
pub(super) const BLANK_LINE: &str = "\n\n";

/// What the reader gets next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextProgress {
    Nothing,
    /// Text to append to the text given so far.
    Text(String),
    /// The text given so far was wrong: the reader discards it and shows this text instead.
    Replaced(String),
    /// A piece of commentary, which is no part of the text unless there is no other. Pieces of two
    /// messages are a blank line apart.
    Commentary(String),
    /// A piece of the reasoning's summary, likewise apart from the text.
    Reasoning(String),
}

/// The messages of an output, and how much of their text the reader has.
///
/// A service may have a thousand messages, and as many parts in each, of which most have nothing to give. So each of
/// them is passed once: what an event costs does not grow with their number.
#[derive(Clone, Debug, Default)]
pub(super) struct OrderedText {
    messages: BTreeMap<u64, OrderedMessage>,
    /// The messages that may still have text to give: no commentary, and none that the reader has.
    waiting: BTreeSet<u64>,
    /// The last message of which the reader has any text.
    last_given: Option<u64>,
    /// All text given so far.
    given: String,
    /// The text given so far is not the beginning of the output. The reader gets no more until the
    /// whole output is known.
    diverged: bool,
    /// A message changed its phase too late.
    phase_came_late: bool,
    /// The text was given anew from its start. That happens once: each time costs a segment.
    begun_anew: bool,
    /// The messages and parts that were looked at for text to give.
    pub(super) passed: usize,
}

#[derive(Clone, Debug, Default)]
struct OrderedMessage {
    parts: BTreeMap<u64, OrderedPart>,
    /// The bytes of text in all parts.
    bytes: usize,
    /// The first part that may still have text to give.
    open_part: u64,
    closed: bool,
    commentary: bool,
}

#[derive(Clone, Debug, Default)]
struct OrderedPart {
    text: String,
    refusal: bool,
    /// Bytes of `text` that the reader has.
    given: usize,
    closed: bool,
}

impl OrderedText {
    /// A message, made when it is new.
    fn message(&mut self, index: u64) -> &mut OrderedMessage {
        self.messages.entry(index).or_insert_with(|| {
            if !is_behind(self.last_given, index) {
                self.waiting.insert(index);
            }
            OrderedMessage::default()
        })
    }

    /// Says whether a message is commentary. Services say it when the message begins; where it comes
    /// later, text that has been given can turn out to be commentary.
    pub(super) fn set_commentary(&mut self, index: u64, commentary: bool) {
        let message = self.message(index);
        if std::mem::replace(&mut message.commentary, commentary) == commentary {
            return;
        }
        let has_text = message.bytes > 0;
        self.phase_came_late |= has_text && self.last_given.is_some_and(|given| given >= index);
        if commentary {
            self.waiting.remove(&index);
        } else if !is_behind(self.last_given, index) {
            self.waiting.insert(index);
        }
    }

    /// Whether the message at this index is known to be commentary.
    pub(super) fn is_commentary(&self, index: u64) -> bool {
        self.messages.get(&index).is_some_and(|message| message.commentary)
    }

    /// Changes a part, made when it is new. `change` says by what the part's text has changed: whether it is still the
    /// beginning of what was given.
    fn change_part(
        &mut self,
        index: u64,
        number: u64,
        change: impl FnOnce(&mut OrderedPart) -> Change,
    ) -> Result<(), StreamFault> {
        let is_behind = is_behind(self.last_given, index);
        let message = self.message(index);
        if message.parts.len() >= MAX_ITEMS && !message.parts.contains_key(&number) {
            return Err(StreamFault::TooManyItems(MAX_ITEMS));
        }
        let (is_closed, commentary) = (message.closed, message.commentary);
        let is_late = !commentary && (is_behind || number < message.open_part);
        let part = message.parts.entry(number).or_default();
        part.closed |= is_closed;
        let before = part.text.len();
        let change = change(part);
        message.bytes = message.bytes.saturating_sub(before).saturating_add(part.text.len());
        if change != Change::None {
            self.diverged |= is_late || change == Change::Anew;
            if !commentary && !is_late {
                // A message that was passed has text to give again.
                self.waiting.insert(index);
            }
        }
        Ok(())
    }

    /// Adds text to a part. A closed part does not change.
    pub(super) fn append(
        &mut self,
        index: u64,
        number: u64,
        delta: &MessagePart<'_>,
    ) -> Result<(), StreamFault> {
        if delta.text.is_empty() {
            return Ok(());
        }
        self.change_part(index, number, |part| {
            if part.closed {
                return Change::None;
            }
            part.text.push_str(&delta.text);
            part.refusal = delta.refusal;
            Change::More
        })
    }

    /// Sets the whole text of a part, and closes it. An empty one takes nothing back of what has come.
    pub(super) fn settle(
        &mut self,
        index: u64,
        number: u64,
        whole: &MessagePart<'_>,
    ) -> Result<(), StreamFault> {
        self.change_part(index, number, |part| {
            part.closed = true;
            if whole.text.is_empty() {
                return Change::None;
            }
            part.refusal = whole.refusal;
            if part.text == whole.text {
                return Change::None;
            }
            let given = part.text.get(..part.given);
            let extends_given = given.is_some_and(|given| whole.text.starts_with(given));
            str::clone_into(&whole.text, &mut part.text);
            if extends_given { Change::More } else { Change::Anew }
        })
    }

    /// The message at this index is whole.
    pub(super) fn close(&mut self, index: u64) {
        if let Some(message) = self.messages.get_mut(&index) {
            message.closed = true;
        }
    }

    /// Gives the text that can follow now.
    pub(super) fn advance(&mut self) -> TextProgress {
        let mut news = String::new();
        if self.phase_came_late && !self.begun_anew && !self.diverged {
            self.begin_anew();
            self.collect(&mut news);
            self.given.clone_from(&news);
            return TextProgress::Replaced(news);
        }
        self.diverged |= std::mem::take(&mut self.phase_came_late);
        if !self.diverged {
            self.collect(&mut news);
            self.given.push_str(&news);
        }
        if news.is_empty() { TextProgress::Nothing } else { TextProgress::Text(news) }
    }

    fn begin_anew(&mut self) {
        (self.begun_anew, self.phase_came_late) = (true, false);
        self.last_given = None;
        for (index, message) in &mut self.messages {
            if !message.commentary {
                self.waiting.insert(*index);
            }
            message.open_part = 0;
            for part in message.parts.values_mut() {
                part.given = 0;
            }
        }
    }

    fn collect(&mut self, news: &mut String) {
        while let Some(index) = self.waiting.first().copied()
            && let Some(message) = self.messages.get_mut(&index)
        {
            self.passed += 1;
            for (number, part) in message.parts.range_mut(message.open_part..) {
                self.passed += 1;
                message.open_part = *number;
                if let Some(new) = part.text.get(part.given..).filter(|text| !text.is_empty()) {
                    if self.last_given.replace(index).is_some_and(|last| last != index) {
                        news.push_str(BLANK_LINE);
                    }
                    news.push_str(new);
                    part.given = part.text.len();
                }
                if !part.closed && !message.closed {
                    return;
                }
            }
            if !message.closed {
                return;
            }
            self.waiting.pop_first();
        }
    }

    /// Compares with the text of the whole output: gives the missing rest, or the whole text anew.
    pub(super) fn reconcile(self, output: &str) -> TextProgress {
        match output.strip_prefix(self.given.as_str()) {
            Some("") => TextProgress::Nothing,
            Some(rest) => TextProgress::Text(rest.to_owned()),
            None => TextProgress::Replaced(output.to_owned()),
        }
    }

    /// The parts of a message so far: each number, its text, and whether it is a refusal.
    pub(super) fn parts(&self, index: u64) -> impl Iterator<Item = (u64, &str, bool)> {
        let parts = self.messages.get(&index).into_iter().flat_map(|message| &message.parts);
        parts.map(|(number, part)| (*number, part.text.as_str(), part.refusal))
    }

    /// Whether any text of a message has come.
    pub(super) fn has_text(&self, index: u64) -> bool {
        self.messages.get(&index).is_some_and(|message| message.bytes > 0)
    }

    /// How many bytes of text a part has so far.
    pub(super) fn part_bytes(&self, index: u64, part: u64) -> usize {
        let part = self.messages.get(&index).and_then(|message| message.parts.get(&part));
        part.map_or(0, |part| part.text.len())
    }
}

/// How the text of a part has changed.
#[derive(PartialEq, Eq)]
enum Change {
    None,
    More,
    /// What was given of it is not its beginning any more.
    Anew,
}

/// Whether text of a message comes too late to be given in order: the reader has text of a later one.
fn is_behind(last_given: Option<u64>, index: u64) -> bool {
    last_given.is_some_and(|given| given > index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> TextProgress {
        TextProgress::Text(text.to_owned())
    }

    fn part(text: &str, refusal: bool) -> MessagePart<'_> {
        MessagePart { text: text.into(), refusal }
    }

    #[test]
    fn a_later_message_waits_until_the_earlier_known_ones_are_closed() {
        let mut order = OrderedText::default();
        order.message(0);
        order.message(2);
        order.append(2, 0, &part("third", false)).unwrap();
        assert_eq!(order.advance(), TextProgress::Nothing);
        order.append(0, 0, &part("fir", false)).unwrap();
        assert_eq!(order.advance(), given("fir"));
        order.append(0, 0, &part("st", false)).unwrap();
        order.close(0);
        assert_eq!(order.advance(), given("st\n\nthird"));
        assert_eq!(order.clone().reconcile("first\n\nthird"), TextProgress::Nothing);
        assert_eq!(order.clone().reconcile("first\n\nthird!"), given("!"));
        assert_eq!(order.reconcile("third"), TextProgress::Replaced("third".to_owned()));
    }

    #[test]
    fn a_later_part_waits_until_the_earlier_one_is_settled() {
        let mut order = OrderedText::default();
        order.append(0, 0, &part("a", false)).unwrap();
        order.append(0, 1, &part("c", false)).unwrap();
        assert_eq!(order.advance(), given("a"));
        order.settle(0, 0, &part("ab", false)).unwrap();
        assert_eq!(order.advance(), given("bc"));
    }

    #[test]
    fn an_earlier_message_that_turns_up_in_time_goes_first() {
        let mut order = OrderedText::default();
        order.message(3);
        assert_eq!(order.advance(), TextProgress::Nothing);
        order.append(1, 0, &part("one", false)).unwrap();
        order.append(3, 0, &part("three", false)).unwrap();
        assert_eq!(order.advance(), given("one"));
    }

    #[test]
    fn an_earlier_message_that_turns_up_too_late_stops_the_text_until_the_output_is_known() {
        let mut order = OrderedText::default();
        order.append(3, 0, &part("three", false)).unwrap();
        assert_eq!(order.advance(), given("three"));
        order.append(1, 0, &part("one", false)).unwrap();
        assert_eq!(order.advance(), TextProgress::Nothing);
        order.append(3, 0, &part("!", false)).unwrap();
        assert_eq!(order.advance(), TextProgress::Nothing);
        assert_eq!(order.reconcile("onethree!"), TextProgress::Replaced("onethree!".to_owned()));
    }

    #[test]
    fn commentary_is_not_given_and_holds_nothing_up() {
        let mut order = OrderedText::default();
        order.set_commentary(0, true);
        order.append(0, 0, &part("Let me look.", false)).unwrap();
        order.append(1, 0, &part("Found", false)).unwrap();
        assert_eq!(order.advance(), given("Found"));
        order.append(0, 0, &part(" Further.", false)).unwrap();
        order.settle(0, 0, &part("Let me look. Once more.", false)).unwrap();
        order.append(1, 0, &part(".", false)).unwrap();
        assert_eq!(order.advance(), given("."));
        assert_eq!(order.clone().reconcile("Found."), TextProgress::Nothing);

        let mut alone = OrderedText::default();
        alone.set_commentary(0, true);
        alone.append(0, 0, &part("Hm.", false)).unwrap();
        assert_eq!(alone.advance(), TextProgress::Nothing);
        assert_eq!(alone.reconcile("Hm."), given("Hm."));
    }

    #[test]
    fn a_phase_that_comes_late_takes_the_text_back_once_and_then_waits_for_the_output() {
        let mut order = OrderedText::default();
        let replaced = |text: &str| TextProgress::Replaced(text.to_owned());
        order.append(0, 0, &part("Let me look.", false)).unwrap();
        assert_eq!(order.advance(), given("Let me look."));
        order.set_commentary(0, true);
        order.append(1, 0, &part("F", false)).unwrap();
        assert_eq!(order.advance(), replaced("F"));
        order.append(1, 0, &part("ound.", false)).unwrap();
        assert_eq!(order.advance(), given("ound."));
        let mut twice = order.clone();
        order.set_commentary(1, false);
        assert_eq!(order.advance(), TextProgress::Nothing);
        assert_eq!(order.reconcile("Found."), TextProgress::Nothing);
        twice.set_commentary(0, false);
        assert_eq!(twice.advance(), TextProgress::Nothing);
        let whole = "Let me look.\n\nFound.";
        assert_eq!(twice.reconcile(whole), replaced(whole));
    }

    #[test]
    fn a_settled_text_wins_over_its_deltas() {
        let mut untold = OrderedText::default();
        untold.message(0);
        untold.append(1, 0, &part("wrong", false)).unwrap();
        untold.settle(1, 0, &part("right", true)).unwrap();
        untold.append(1, 0, &part("more", false)).unwrap();
        assert_eq!(untold.parts(1).collect::<Vec<_>>(), [(0, "right", true)]);
        untold.close(0);
        assert_eq!(untold.advance(), given("right"));

        let mut contradicted = OrderedText::default();
        contradicted.append(0, 0, &part("wrong", false)).unwrap();
        assert_eq!(contradicted.advance(), given("wrong"));
        contradicted.settle(0, 0, &part("right", false)).unwrap();
        assert_eq!(contradicted.advance(), TextProgress::Nothing);
        assert_eq!(contradicted.reconcile("right"), TextProgress::Replaced("right".to_owned()));
    }
}
