//! The rows of a user's object: one type per table. Times are milliseconds since the Unix epoch.

use super::erasure::UserErasure;
use super::spent::Spent;
use super::summary::SessionSummary;
use crate::contract::closed_list;
use crate::contract::{Result, SessionId};
use crate::ports::{Row, read_row};

closed_list! {
    /// How a session stands in the index of its user.
    pub enum ListingState {
        /// The session may have begun: it is asked when the list is read.
        Registered = "registered",
        /// The session has begun.
        Listed = "listed",
        /// The session is to erase itself if it has not begun or its retention is over. Hidden.
        Expiring = "expiring",
        /// The session is to erase itself. Hidden.
        Erasing = "erasing",
        /// Its rows are erased and its receipt is counted; it is to forget that receipt. Hidden.
        Collected = "collected",
    }
}

impl ListingState {
    /// Whether the session is on its way out, and hidden.
    pub fn is_leaving(self) -> bool {
        match self {
            Self::Registered | Self::Listed => false,
            Self::Expiring | Self::Erasing | Self::Collected => true,
        }
    }
}

/// The user's one row.
#[derive(Clone, Debug, PartialEq)]
pub struct UserRow {
    /// Credentials that were issued earlier are revoked; 0 for none.
    pub credentials_valid_from: u64,
    /// The latest request to erase the user; 0 for none.
    pub erased_at: u64,
    /// The user's tokens and leases.
    pub spent: Spent,
    /// The erasure whose last receipt no client has got yet.
    pub erasure: Option<UserErasure>,
}

impl UserRow {
    pub(super) const SELECT: &str =
        "SELECT credentials_valid_from, erased_at, spent, receipt FROM user WHERE id = 1";

    pub(super) fn from_row(row: &Row) -> Result<Self> {
        Ok(read_row!(Self of row {
            credentials_valid_from, erased_at,
            spent: row.json("spent")?,
            erasure: row.json("receipt")?,
        }))
    }
}

/// A session's row.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedSession {
    pub session_id: SessionId,
    pub listing_state: ListingState,
    /// When the session last asked to be registered.
    pub registered_at: u64,
    /// The failures in a row to erase it.
    pub attempts: u64,
    /// What the session told last, with the title that a client has set.
    pub summary: SessionSummary,
}

impl IndexedSession {
    pub(super) const COLUMNS: &str =
        "session_id, listing_state, incarnation, registered_at, created_at, active_at,
        status, mode, turns, tokens, title, waiting, attempts";

    pub(super) fn from_row(row: &Row) -> Result<Self> {
        let summary = read_row!(SessionSummary of row {
            incarnation, created_at, active_at, status, mode, turns, tokens, title,
            waiting: row.json("waiting")?,
        });
        Ok(read_row!(Self of row {
            session_id, listing_state, registered_at, attempts,
            summary: summary,
        }))
    }
}
