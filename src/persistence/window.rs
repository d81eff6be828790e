//! The window: what calls send of the conversation (interface §4 and §10), after compactions and refusals. It says which
//! entries are sent and in how much detail; the entries themselves never change.

use serde::{Deserialize, Serialize};

use super::entry_seq::EntrySeq;
use crate::contract::Usage;
use crate::contract::closed_list;
use crate::encoding::sparse_object;

sparse_object! {
    /// What a call sends that continues no response: the system message, the summary message, and all from `from` on.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Window {
        /// The first entry that is sent. Of a model output there, what stands before its newest compaction item is
        /// left out.
        pub from: EntrySeq,
        /// The entry that stands for the turns before.
        #[serde(rename = "stand_in")]
        pub summary_message: Option<EntrySeq>,
        /// The number of turns that the summary message summarises.
        pub turns_summarised: u64,
        /// The number of turns before that no summary covers.
        pub turns_left_out: u64,
        /// Tool outputs that are sent in part.
        pub shortened: Option<Shortening>,
        /// The system message, where it is not the first entry: a fork may have got another one, or none
        /// ([`EntrySeq::START`]).
        pub system_message?: Option<EntrySeq>,
        /// The last entry whose reasoning is not sent, because the model service refused it or one before it.
        pub without_reasoning?: EntrySeq,
        /// The last entry whose solution context is not sent, for the same reason.
        pub without_solution_context?: EntrySeq,
        /// How far what is left is reduced.
        pub rung?: Option<Rung>,
        /// The agent context whose model service calls go to; `None` for the session's own.
        pub service?: Option<String>,
        /// The one whose service made the compaction item with which the window begins, where it begins with one.
        pub compacted_by?: Option<String>,
        /// Ordinal of the turn that runs, where a rung is set: its own entries are sent as items on every rung.
        pub turn?: Option<u64>,
    }
}

impl Window {
    /// Whether a compaction item of the model service stands for all that is not sent.
    pub fn is_of_the_service(&self) -> bool {
        self.from != EntrySeq::START && self.turns_summarised + self.turns_left_out == 0
    }

    /// Whether it begins with a compaction item that another service made than the one that calls go to. No other
    /// service can read the item, so all that it stands for is sent.
    pub fn is_of_another_service(&self) -> bool {
        self.is_of_the_service() && self.compacted_by != self.service
    }

    /// Goes back to an earlier window. What the model service refused since, which service that is, and the system
    /// message stay as they are.
    pub(crate) fn go_back_to(&mut self, earlier: Self) {
        *self = Self {
            system_message: self.system_message,
            without_reasoning: self.without_reasoning,
            without_solution_context: self.without_solution_context,
            turn: self.turn,
            service: self.service.clone(),
            ..earlier
        };
    }
}

/// How a session came to the rung of its window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// The agent context and the model whose refusals made it.
    pub(super) agent_context: String,
    pub(super) model: String,
    /// When a call was taken after another window was tried, in milliseconds since the epoch.
    pub(super) since: u64,
    /// What calls sent before turns were left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) whole: Option<Window>,
    /// What the last call was taken with, while another rung is tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) taken: Option<Window>,
}

/// Which tool outputs are shortened, and how far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortening {
    /// The last entry with such outputs.
    pub through: EntrySeq,
    /// What stays of each, in bytes.
    pub bytes: u32,
}

closed_list! {
    /// How far a conversation is reduced because the model service refused more of it (interface §4), in the order in
    /// which it is tried. Each rung includes those before it.
    pub enum Rung {
        /// The whole conversation in place of a chain.
        Whole = "whole",
        /// Without reasoning, items of hosted tools, and the ids of items.
        Items = "items",
        /// Earlier turns as plain messages.
        Plain = "plain",
        /// The turns before the refused one are left out.
        Turn = "turn",
    }
}

impl Rung {
    /// Whether turns other than the one that runs are sent as plain messages.
    pub fn is_plain(self) -> bool {
        self == Self::Plain || self == Self::Turn
    }

    /// The rung on which more is sent.
    pub(crate) fn below(self) -> Option<Self> {
        match self {
            Self::Whole => None,
            Self::Items => Some(Self::Whole),
            Self::Plain => Some(Self::Items),
            Self::Turn => Some(Self::Plain),
        }
    }

    /// The rungs on which less is sent, in order.
    pub(crate) fn above(rung: Option<Self>) -> &'static [Self] {
        let tried = rung.and_then(|rung| Self::ALL.iter().position(|other| *other == rung));
        let first = tried.map_or(0, |place| place + 1);
        Self::ALL.split_at_checked(first).map_or(&[], |(_, above)| above)
    }
}

closed_list! {
    /// Why a conversation was compacted.
    pub enum CompactionReason {
        /// The estimated input had reached the agent context's `Threshold`, or the bytes of a request.
        Threshold = "threshold",
        /// The model service refused the input, for its length or in words that nothing else explains.
        Refused = "refused",
        /// The model service compacted it by itself.
        Service = "service",
    }
}

/// One compaction, as the trace shows it (interface §10).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct CompactionRecord {
    /// Why it was made.
    pub reason: CompactionReason,
    /// Items of the whole conversation as it was sent before.
    pub items_before: usize,
    /// Items of it that are sent from here on.
    pub items_after: usize,
    /// Turns that no summary covers.
    pub turns_left_out: u64,
    /// Length of the summary.
    pub summary_bytes: usize,
    /// What the summary cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}
