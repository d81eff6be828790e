//! What an API key may do (`May`; interface §13).

use crate::contract::closed_list;

closed_list! {
    /// A right of an API key.
    pub enum Right {
        /// The tenant's own sessions.
        Sessions = "Sessions",
        /// The tenant's workspaces.
        Workspaces = "Workspaces",
        /// Minting tickets.
        Tickets = "Tickets",
        /// Acting for a user, whose sessions it then reaches.
        ActAs = "ActAs",
        /// Erasing a user, and voiding what was issued to one.
        EraseUsers = "EraseUsers",
        /// Reading the trace of a turn, of the tenant's own sessions and of users'.
        Trace = "Trace",
    }
}

/// The rights of an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights(u8);

impl Rights {
    /// All rights: a key without `May` has them.
    pub const ALL: Self = Self(u8::MAX);

    /// These rights.
    pub fn of(rights: &[Right]) -> Self {
        Self(rights.iter().fold(0, |bits, right| bits | Self::bit(*right)))
    }

    /// Whether a right is among them.
    pub fn has(self, right: Right) -> bool {
        self.0 & Self::bit(right) != 0
    }

    fn bit(right: Right) -> u8 {
        1 << right as u8
    }
}
