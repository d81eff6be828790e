//! A ticket: what stands in it, and what it permits. The server stores none; a ticket is good as long as its
//! signature and its time are (`ticket_keys`).

use serde::{Deserialize, Serialize};

use super::providers::MOST_SKEW_S;
use crate::contract::{Operation, TurnId, UserId};

/// The contents of a ticket. With a member that only a newer version knows it may permit less than is read here: it is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ticket {
    /// The id of the key that signed it.
    #[serde(rename = "K")]
    pub signed_by: String,
    #[serde(rename = "I")]
    pub id: String,
    #[serde(rename = "T")]
    pub tenant: String,
    #[serde(rename = "U")]
    pub user: UserId,
    /// Who uses it, where that is not the user.
    #[serde(rename = "A", default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<UserId>,
    #[serde(rename = "S", default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Vec<String>>,
    #[serde(rename = "R", default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Vec<TurnId>>,
    #[serde(rename = "O")]
    pub operations: Vec<Operation>,
    #[serde(rename = "W", default, skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<String>,
    #[serde(rename = "C", default, skip_serializing_if = "Option::is_none")]
    pub contexts: Option<Vec<String>>,
    /// The most tokens of a turn.
    #[serde(rename = "B", default, skip_serializing_if = "Option::is_none")]
    pub turn_tokens: Option<u64>,
    /// Origins of the pages that may use it.
    #[serde(rename = "G", default, skip_serializing_if = "Option::is_none")]
    pub origins: Option<Vec<String>>,
    /// When it was issued, in seconds since the Unix epoch. A narrowed ticket has its parent's time, so that what
    /// voids the one voids the other.
    #[serde(rename = "N")]
    pub issued_at_s: u64,
    /// When it expires, in seconds since the Unix epoch.
    #[serde(rename = "X")]
    pub expires_at_s: u64,
    /// The `Id` of the API key that it was minted with.
    #[serde(rename = "Y")]
    pub minted_with: String,
}

/// The longest life that a ticket may have when it stands in a URL, in seconds.
const LONGEST_IN_URL_S: u64 = 60;

impl Ticket {
    /// Whether its time has passed, or a clock that was set back since has issued it: it would live longer than its
    /// time, and outlive revocations.
    pub fn is_late(&self, now_ms: u64) -> bool {
        let now_s = now_ms / 1000;
        self.expires_at_s <= now_s || self.issued_at_s > now_s.saturating_add(MOST_SKEW_S)
    }

    /// Whether a page may use it. `origin` is that of the request, if it has one; `is_same_origin` says that the
    /// browser calls it a request to the page's own server.
    pub fn permits_page(&self, origin: Option<&str>, is_same_origin: bool) -> bool {
        let Some(origins) = &self.origins else { return true };
        match origin {
            Some(origin) => origins.iter().any(|listed| listed.eq_ignore_ascii_case(origin)),
            None => is_same_origin,
        }
    }

    /// Whether it may stand in a URL: for watching one turn of one session, and for a minute at most.
    pub fn may_stand_in_a_url(&self, now_ms: u64) -> bool {
        let sessions = self.sessions.as_deref().unwrap_or_default();
        self.operations == [Operation::Watch]
            && matches!(sessions, [session] if !session.ends_with('*'))
            && self.turns.as_ref().is_some_and(|turns| turns.len() == 1)
            && self.expires_at_s <= (now_ms / 1000).saturating_add(LONGEST_IN_URL_S)
    }
}
