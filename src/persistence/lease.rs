//! The tokens of a user that a session may spend (interface §13), as the session's row holds them.

use serde::{Deserialize, Serialize};

/// Tokens of a user that a session may spend (interface §13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// The user's object knows it by this number.
    pub id: u64,
    pub tokens: u64,
    /// The session's tokens when it got the lease.
    pub from: u64,
    /// When the user's object gave it.
    pub granted_at: u64,
    /// The tokens that were spent out of it, once it has ended.
    pub used: Option<u64>,
}

impl Lease {
    /// The tokens that were spent out of it, when the session has spent `total`.
    pub fn used(&self, total: u64) -> u64 {
        self.used.unwrap_or(total.saturating_sub(self.from))
    }

    /// The tokens that are left of it; none after its end.
    pub fn left(&self, total: u64) -> u64 {
        let used = self.used(total);
        if self.used.is_some() { 0 } else { self.tokens.saturating_sub(used) }
    }
}
