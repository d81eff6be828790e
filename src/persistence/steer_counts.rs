//! How far the steers of a turn are (interface §14), as the turn's progress keeps it: a turn without any reads no row of
//! theirs.

use serde::{Deserialize, Serialize};

/// How far the steers of a turn are, by their numbers: a step of them takes all of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SteerCounts {
    /// Steers that were accepted.
    pub accepted: u32,
    /// Steers that are in the conversation.
    pub placed: u32,
    /// Steers that a model call of the turn has taken.
    pub delivered: u32,
    /// Model calls of the latest submission that gave an output before the newest delivery.
    pub iterations_before: u32,
    /// The bytes of all that were accepted.
    pub accepted_bytes: u64,
    /// The bytes of those that a model call of the turn has taken.
    pub delivered_bytes: u64,
}

impl SteerCounts {
    /// The bytes of those that no model call of the turn has taken.
    pub(crate) fn undelivered_bytes(&self) -> u64 {
        self.accepted_bytes.saturating_sub(self.delivered_bytes)
    }

    pub(super) fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}
