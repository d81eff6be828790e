//! What a session remembers of a server from one call to the next: the era of the protocol, the legacy version that
//! was agreed on, and the legacy session.
//!
//! A connection belongs to one conversation, since sharing a server's session would leak data between conversations.
//! Only the era may be shared, by [`Connection::of_era`]: it saves the first request to a legacy server, which the
//! server would refuse.

use crate::contract::closed_list;

/// The modern version, in which each request is complete by itself.
pub(super) const MODERN: &str = "2026-07-28";

/// The versions with a handshake, newest first. The last one is older than Streamable HTTP: some servers name it
/// whatever they are asked for, and speak as those of 2025-03-26.
pub(super) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The longest id of a session, in bytes: about what servers take in a header. A gateway writes the sessions of all
/// servers behind it into its own id.
const SESSION_ID_BYTES: usize = 7 * 1024;

closed_list! {
    /// The two ways in which servers speak the protocol.
    pub enum ProtocolEra {
        /// From 2026-07-28 on: no handshake, no session.
        Modern = "modern",
        /// To 2025-11-25: `initialize` comes first.
        Legacy = "legacy",
    }
}

/// What is known of a server; nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// Absent until the server has responded.
    pub era: Option<ProtocolEra>,
    /// The legacy version on which the handshake agreed; absent before the handshake.
    pub version: Option<&'static str>,
    /// Of the legacy era; some servers give none.
    pub session_id: Option<String>,
}

impl Connection {
    /// A connection of which only the era is known.
    pub fn of_era(era: Option<ProtocolEra>) -> Self {
        Self { era, ..Self::default() }
    }

    /// The version that is spoken with the server; absent before it has responded.
    pub fn spoken_version(&self) -> Option<&'static str> {
        match self.era? {
            ProtocolEra::Legacy => self.version,
            ProtocolEra::Modern => Some(MODERN),
        }
    }

    /// Whether a handshake has to come before the next request.
    pub(super) fn needs_handshake(&self) -> bool {
        self.era == Some(ProtocolEra::Legacy) && self.version.is_none()
    }
}

/// The version of that name among `versions`.
pub(super) fn find_version(name: &str, versions: &[&'static str]) -> Option<&'static str> {
    versions.iter().copied().find(|version| *version == name)
}

/// The version of that name among those that are spoken here.
pub(super) fn spoken_version(name: &str) -> Option<&'static str> {
    find_version(name, &[MODERN]).or_else(|| find_version(name, &LEGACY))
}

/// A session's id, if a header can hold it.
pub(super) fn valid_session_id(text: &str) -> Option<String> {
    let fits = (1..=SESSION_ID_BYTES).contains(&text.len());
    (fits && text.bytes().all(|byte| byte.is_ascii_graphic())).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_s_id_is_one_that_a_header_can_hold() {
        for id in ["a", "29cdfcb6-1469", &"x".repeat(7 * 1024)] {
            assert_eq!(valid_session_id(id).as_deref(), Some(id));
        }
        for id in ["", "a b", "\u{e9}", "a\r\nX-Evil: 1", &"x".repeat(7 * 1024 + 1)] {
            assert_eq!(valid_session_id(id), None, "{id}");
        }
    }
}
