//! Where the counts of a submission begin (interface §16): a turn has several, each with tokens, calls and times of its own.

use super::records::{Turn, TurnProgress};
use super::spent::Spent;
use crate::contract::Usage;

impl TurnProgress {
    /// Counts for another submission from here on.
    pub(crate) fn begin_counts(&mut self) {
        self.usage_before = self.usage;
        self.spent = Spent::default();
    }

    /// The same for a submission that has failed and was sent again.
    pub(super) fn begin_counts_again(&mut self, now_ms: u64) {
        self.begin_counts();
        self.spent.again_at = now_ms;
    }
}

impl Turn {
    /// When the latest submission began to be worked on, in milliseconds since the epoch.
    pub fn submission_began_at(&self) -> u64 {
        self.accepted_at.max(self.progress.spent.again_at)
    }

    /// The tokens of the latest submission alone; `None` where the turn has none yet.
    pub fn submission_usage(&self) -> Option<Usage> {
        let before = self.progress.usage_before;
        self.progress.usage.map(|usage| before.map_or(usage, |before| usage.since(before)))
    }
}
