//! The places of the conversation's entries.

use serde::{Deserialize, Serialize};

/// The place of an entry in the conversation, counted from 1; entries are never moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntrySeq(pub u64);

impl EntrySeq {
    /// The place before the first entry.
    pub const START: Self = Self(0);

    /// The place of the first entry, which is the system message when the session has one.
    pub(super) const FIRST: Self = Self(1);

    /// Whether it is the place right behind another one.
    pub fn follows(self, other: Self) -> bool {
        self.0 == other.0 + 1
    }

    /// The place before this one.
    pub(crate) fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}
