//! Where a conversation that is too long is cut: each reduction leaves less of it, and the last one only the
//! turn itself.

use crate::persistence::{Entry, EntryKind, EntrySeq, Shortening, Window};

/// A way to send less of a conversation. Each applies to what the one before it has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    /// Keeps the newest of the turns to which the model has responded, within the refused conversation's bytes
    /// divided by this; keeps none when it is 0.
    Turns { divisor: usize },
    /// Shortens tool outputs to so many bytes each.
    Outputs { bytes: u32 },
    /// Keeps the running turn alone: messages of earlier turns to which the model has not responded go, too.
    ThisTurnOnly,
    /// The same, with a note in the place of what goes and of the summary: every other item was refused.
    LastNet,
    /// Replaces the summary by a note.
    NoSummary,
    /// Sends no summary message.
    NoMessage,
}

impl Reduction {
    /// Whether a summary may stand for what goes.
    pub(super) fn summarises(self) -> bool {
        self != Self::NoSummary && self != Self::LastNet
    }
}

/// The reductions after a refusal, in order. Those that would not make the input smaller are skipped.
pub(crate) const REDUCTIONS: [Reduction; 10] = [
    Reduction::Turns { divisor: 2 },
    Reduction::Turns { divisor: 4 },
    Reduction::Turns { divisor: 8 },
    Reduction::Turns { divisor: 0 },
    Reduction::Outputs { bytes: 16 * 1024 },
    Reduction::Outputs { bytes: 4 * 1024 },
    Reduction::Outputs { bytes: 1024 },
    Reduction::ThisTurnOnly,
    Reduction::NoSummary,
    Reduction::NoMessage,
];

/// The entries of turns that a window sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout<'a> {
    /// Oldest first; the system message is not among them.
    pub(super) entries: &'a [Entry],
    /// The last entry that the model service has received.
    pub(super) acknowledged: EntrySeq,
    /// The turn that runs.
    pub(super) turn: u64,
}

impl Layout<'_> {
    /// The first entry that stays when at most `bytes` of responded turns do; `None` when nothing can go.
    pub(super) fn cut_for(&self, bytes: usize) -> Option<EntrySeq> {
        self.cut(bytes, self.first_unsent_turn()?)
    }

    /// The first entry of the running turn's message; `None` when nothing stands before it.
    pub(super) fn cut_to_this_turn(&self) -> Option<EntrySeq> {
        self.cut(0, self.own_message()?)
    }

    /// The earliest beginning of a turn up to `last` after which at most `bytes` follow, or else `last`.
    /// Between turns no call waits for its output, so a pair is never parted.
    fn cut(&self, bytes: usize, last: EntrySeq) -> Option<EntrySeq> {
        let mut cut = last;
        let mut following = 0_usize;
        for entry in self.entries.iter().rev() {
            following = following.saturating_add(entry.bytes);
            if entry.seq < last && entry.kind == EntryKind::User && following <= bytes {
                cut = entry.seq;
            }
        }
        // A cut before everything leaves everything.
        self.entries.first().filter(|first| first.seq < cut).map(|_| cut)
    }

    /// The beginning of the first turn of which the model has not got everything.
    fn first_unsent_turn(&self) -> Option<EntrySeq> {
        let own = self.own_message()?;
        let unsent = self.entries.iter().find(|entry| entry.seq > self.acknowledged)?;
        let begins = self
            .entries
            .iter()
            .rfind(|entry| entry.kind == EntryKind::User && entry.seq <= unsent.seq.min(own));
        begins.map(|entry| entry.seq)
    }

    /// The running turn's message; it can stand there twice when the turn was run again after others.
    fn own_message(&self) -> Option<EntrySeq> {
        let is_own = |entry: &&Entry| entry.kind == EntryKind::User && entry.turn == self.turn;
        self.entries.iter().rfind(is_own).map(|entry| entry.seq)
    }
}

/// The window that a reduction leaves, with the summary message of the one before; `None` when the reduction
/// changes nothing.
/// `bytes` is the length of the conversation that was refused.
pub(super) fn next_window(
    reduction: Reduction,
    layout: Layout<'_>,
    window: &Window,
    bytes: usize,
) -> Option<Window> {
    let mut next = window.clone();
    match reduction {
        Reduction::Turns { divisor } => {
            next.from = layout.cut_for(bytes.checked_div(divisor).unwrap_or(0))?;
        }
        Reduction::ThisTurnOnly => next.from = layout.cut_to_this_turn()?,
        Reduction::LastNet => {
            let cut = layout.cut_to_this_turn();
            next.from = cut.or((window.turns_summarised > 0).then_some(window.from))?;
            next.turns_left_out += std::mem::take(&mut next.turns_summarised);
        }
        Reduction::Outputs { bytes } => {
            let outputs = |entry: &&Entry| entry.kind == EntryKind::ToolOutputs;
            let through = layout.entries.iter().rfind(outputs)?.seq;
            next.shortened = Some(Shortening { through, bytes });
        }
        Reduction::NoSummary if window.turns_summarised > 0 => {
            next.turns_left_out += std::mem::take(&mut next.turns_summarised);
        }
        Reduction::NoMessage if window.summary_message.is_some() => next.summary_message = None,
        Reduction::NoSummary | Reduction::NoMessage => return None,
    }
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of 100 bytes each, by kind and turn: `u` a message, `a` a model output, `o` tool outputs.
    fn entries(words: &str) -> Vec<Entry> {
        let entry = |(seq, word): (u64, &str)| {
            let (kind, turn) = word.split_at(1);
            let kind = match kind {
                "u" => EntryKind::User,
                "a" => EntryKind::ModelOutput,
                _ => EntryKind::ToolOutputs,
            };
            Entry {
                seq: EntrySeq(seq),
                turn: turn.parse().unwrap(),
                kind,
                service: None,
                withheld: false,
                bytes: 100,
                kept_parts: 0,
            }
        };
        (2..).zip(words.split_whitespace()).map(entry).collect()
    }

    /// The first word that stays.
    fn stays(words: &str, acknowledged: u64, bytes: usize) -> Option<usize> {
        let entries = entries(words);
        let turn = entries.last().unwrap().turn;
        let layout = Layout { entries: &entries, acknowledged: EntrySeq(acknowledged + 1), turn };
        let cut = layout.cut_for(bytes)?;
        entries.iter().position(|entry| entry.seq == cut)
    }

    #[test]
    fn the_newest_turns_that_fit_stay_and_the_words_that_the_model_has_not_got_always_do() {
        // Words are counted from 0; the model has received so many of them.
        for (words, received, bytes, expected) in [
            ("u1 a1 u2 a2 u3 a3 u4", 6, 700, None),
            ("u1 a1 u2 a2 u3 a3 u4", 6, 699, Some(2)),
            ("u1 a1 u2 a2 u3 a3 u4", 6, 300, Some(4)),
            ("u1 a1 u2 a2 u3 a3 u4", 6, 0, Some(6)),
            // In the middle of a turn its message and its calls stay.
            ("u1 a1 u2 a2 o2 a2 o2", 6, 0, Some(2)),
            ("u1 a1 o1 a1 o1", 4, 0, None),
            // Messages of turns that failed are unsent.
            ("u1 a1 u2 u3 u4", 2, 0, Some(2)),
            ("u1 u2 u3", 0, 0, None),
            // Outputs of a turn that has ended are unsent, so their calls stay.
            ("u1 a1 u2 a2 o2 u3", 4, 0, Some(2)),
        ] {
            assert_eq!(stays(words, received, bytes), expected, "{words}, {bytes}");
        }
    }

    #[test]
    fn at_last_only_the_turn_itself_stays_with_its_repeated_message() {
        for (words, expected) in
            [("u1 u2 u3", Some(2)), ("u1 u2 a2 u1", Some(3)), ("u1 a1 o1", None)]
        {
            let entries = entries(words);
            let turn = entries.last().unwrap().turn;
            let layout = Layout { entries: &entries, acknowledged: EntrySeq::START, turn };
            let cut = layout.cut_to_this_turn();
            assert_eq!(cut.map(|cut| entries.iter().position(|e| e.seq == cut).unwrap()), expected);
        }
    }
}
