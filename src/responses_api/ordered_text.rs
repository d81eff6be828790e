//! The text of an output in the order of its items, while the items may still interleave.
//!
//! It owns one question: which text can be told to the reader now, so that what was told is
//! always the beginning of the output. Text of a later message waits until the earlier known
//! messages are closed. It must not know events, calls or raw items.

use std::collections::BTreeMap;

use super::TextProgress;

/// The messages of an output and how much of them has been told.
#[derive(Clone, Debug, Default)]
pub(super) struct OrderedText {
    messages: BTreeMap<u64, Message>,
    /// The first message that may still have untold text; all before it are told.
    open_message: u64,
    /// The last message of which anything was told.
    last_told: Option<u64>,
    /// All that was told.
    told: String,
    /// What was told turned out not to be the beginning of the output: tell no more until
    /// the output is known.
    diverged: bool,
}

#[derive(Clone, Debug, Default)]
struct Message {
    parts: BTreeMap<u64, Part>,
    /// The first part that may still have untold text.
    open_part: u64,
    closed: bool,
}

#[derive(Clone, Debug, Default)]
struct Part {
    text: String,
    refusal: bool,
    /// Bytes of `text` that were told.
    told: usize,
    closed: bool,
}

impl OrderedText {
    /// A message is known to exist at this index.
    pub(super) fn open(&mut self, index: u64) {
        self.messages.entry(index).or_default();
        if index < self.open_message && self.last_told.is_none_or(|told| told < index) {
            self.open_message = index;
        }
    }

    /// Text was added to a part. A closed part stays as it was closed.
    pub(super) fn append(&mut self, index: u64, part: u64, delta: &str, refusal: bool) {
        if delta.is_empty() {
            return;
        }
        self.open(index);
        let Some(message) = self.messages.get_mut(&index) else {
            return;
        };
        let is_late = index < self.open_message || part < message.open_part;
        let part = message.parts.entry(part).or_default();
        if part.closed || message.closed {
            return;
        }
        part.text.push_str(delta);
        part.refusal = refusal;
        self.diverged |= is_late;
    }

    /// A part's whole text is known.
    pub(super) fn settle(&mut self, index: u64, part: u64, text: &str, refusal: bool) {
        self.open(index);
        let Some(message) = self.messages.get_mut(&index) else {
            return;
        };
        let is_late = index < self.open_message || part < message.open_part;
        let part = message.parts.entry(part).or_default();
        let extends_told = part.text.get(..part.told).is_some_and(|told| text.starts_with(told));
        if part.text != text {
            self.diverged |= !extends_told || is_late;
            text.clone_into(&mut part.text);
        }
        part.refusal = refusal;
        part.closed = true;
    }

    /// A message is whole.
    pub(super) fn close(&mut self, index: u64) {
        if let Some(message) = self.messages.get_mut(&index) {
            message.closed = true;
        }
    }

    /// The text that can be told now and was not told before.
    pub(super) fn advance(&mut self) -> TextProgress {
        let mut news = String::new();
        if !self.diverged {
            self.collect(&mut news);
            self.told.push_str(&news);
        }
        if news.is_empty() { TextProgress::Nothing } else { TextProgress::Text(news) }
    }

    fn collect(&mut self, news: &mut String) {
        for (index, message) in self.messages.range_mut(self.open_message..) {
            self.open_message = *index;
            let Message { parts, open_part, closed } = message;
            for (number, part) in parts.range_mut(*open_part..) {
                *open_part = *number;
                if let Some(untold) = part.text.get(part.told..).filter(|text| !text.is_empty()) {
                    news.push_str(untold);
                    part.told = part.text.len();
                    self.last_told = Some(*index);
                }
                if !part.closed && !*closed {
                    return;
                }
            }
            if !*closed {
                return;
            }
        }
    }

    /// The output's text is known: tells what is missing, or that all must be told anew.
    pub(super) fn reconcile(self, output: &str) -> TextProgress {
        match output.strip_prefix(self.told.as_str()) {
            Some("") => TextProgress::Nothing,
            Some(rest) => TextProgress::Text(rest.to_owned()),
            None => TextProgress::Replaced(output.to_owned()),
        }
    }

    /// The parts of a message so far: text, and whether it is a refusal.
    pub(super) fn parts(&self, index: u64) -> impl Iterator<Item = (&str, bool)> {
        self.messages
            .get(&index)
            .into_iter()
            .flat_map(|message| message.parts.values())
            .map(|part| (part.text.as_str(), part.refusal))
    }

    /// How many bytes of text a part has so far.
    pub(super) fn part_bytes(&self, index: u64, part: u64) -> usize {
        let part = self.messages.get(&index).and_then(|message| message.parts.get(&part));
        part.map_or(0, |part| part.text.len())
    }

    /// How many parts are held, which the accumulator bounds.
    pub(super) fn part_count(&self, index: u64) -> usize {
        self.messages.get(&index).map_or(0, |message| message.parts.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> TextProgress {
        TextProgress::Text(text.to_owned())
    }

    #[test]
    fn a_later_message_waits_until_the_earlier_known_ones_are_closed() {
        let mut order = OrderedText::default();
        order.open(0);
        order.open(2);
        order.append(2, 0, "third", false);
        assert_eq!(order.advance(), TextProgress::Nothing);
        order.append(0, 0, "fir", false);
        assert_eq!(order.advance(), told("fir"));
        order.append(0, 0, "st", false);
        order.close(0);
        assert_eq!(order.advance(), told("stthird"));
        assert_eq!(order.clone().reconcile("firstthird"), TextProgress::Nothing);
        assert_eq!(order.clone().reconcile("firstthird!"), told("!"));
        assert_eq!(order.reconcile("third"), TextProgress::Replaced("third".to_owned()));
    }

    #[test]
    fn a_later_part_waits_until_the_earlier_one_is_settled() {
        let mut order = OrderedText::default();
        order.append(0, 0, "a", false);
        order.append(0, 1, "c", false);
        assert_eq!(order.advance(), told("a"));
        order.settle(0, 0, "ab", false);
        assert_eq!(order.advance(), told("bc"));
    }

    #[test]
    fn an_earlier_message_that_turns_up_in_time_goes_first() {
        let mut order = OrderedText::default();
        order.open(3);
        assert_eq!(order.advance(), TextProgress::Nothing);
        order.append(1, 0, "one", false);
        order.append(3, 0, "three", false);
        assert_eq!(order.advance(), told("one"));
    }

    #[test]
    fn an_earlier_message_that_turns_up_too_late_stops_the_telling_until_the_answer_is_known() {
        let mut order = OrderedText::default();
        order.append(3, 0, "three", false);
        assert_eq!(order.advance(), told("three"));
        order.append(1, 0, "one", false);
        assert_eq!(order.advance(), TextProgress::Nothing);
        order.append(3, 0, "!", false);
        assert_eq!(order.advance(), TextProgress::Nothing);
        assert_eq!(order.reconcile("onethree!"), TextProgress::Replaced("onethree!".to_owned()));
    }

    #[test]
    fn a_settled_text_wins_over_its_deltas() {
        let mut untold = OrderedText::default();
        untold.open(0);
        untold.append(1, 0, "wrong", false);
        untold.settle(1, 0, "right", true);
        untold.append(1, 0, "more", false);
        assert_eq!(untold.parts(1).collect::<Vec<_>>(), [("right", true)]);
        untold.close(0);
        assert_eq!(untold.advance(), told("right"));

        let mut contradicted = OrderedText::default();
        contradicted.append(0, 0, "wrong", false);
        assert_eq!(contradicted.advance(), told("wrong"));
        contradicted.settle(0, 0, "right", false);
        assert_eq!(contradicted.advance(), TextProgress::Nothing);
        assert_eq!(contradicted.reconcile("right"), TextProgress::Replaced("right".to_owned()));
    }
}
