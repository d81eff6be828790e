//! What a caller keeps of a server from one call to the next: the protocol's era, the legacy version that was
//! agreed on, and the legacy session.
//!
//! It belongs to one conversation: a server's session that several shared would be a leak. The era alone may be
//! shared, [`Connection::of_era`]; it saves the first request to a legacy server that is refused.

use serde::{Deserialize, Serialize};

/// The version whose requests stand for themselves.
pub(super) const MODERN: &str = "2026-07-28";

/// The versions with a handshake, newest first.
pub(super) const LEGACY: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// The longest id of a session, in bytes.
const SESSION_ID_BYTES: usize = 1024;

/// The two ways in which servers speak the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// From 2026-07-28 on: no handshake, no session.
    Modern,
    /// 2025-03-26 to 2025-11-25: `initialize` comes first.
    Legacy,
}

impl Era {
    /// `modern` or `legacy`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Modern => "modern",
            Self::Legacy => "legacy",
        }
    }
}

/// What is known of a server; nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    pub(super) era: Option<Era>,
    /// The legacy version that the handshake agreed on; absent before it.
    pub(super) version: Option<&'static str>,
    /// Of the legacy era; not every server gives one.
    pub(super) session_id: Option<String>,
}

impl Connection {
    /// A connection of which only the era is known.
    pub fn of_era(era: Option<Era>) -> Self {
        Self { era, ..Self::default() }
    }

    /// The era, once the server has answered.
    pub fn era(&self) -> Option<Era> {
        self.era
    }

    /// The connection in one line, as [`Self::read`] takes it: `modern`, or `legacy`, the version and the id of
    /// the session.
    pub fn written(&self) -> String {
        let era = self.era.map(Era::as_str);
        let words = [era, self.version, self.session_id.as_deref()];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// The connection that was written so; one of which nothing is known for any other text.
    pub fn read(text: &str) -> Self {
        let mut words = text.split(' ');
        match words.next() {
            Some("modern") => Self::of_era(Some(Era::Modern)),
            Some("legacy") => {
                let version = words.next().and_then(|version| known(version, &LEGACY));
                let session_id = version.and(words.next()).and_then(session_id);
                Self { era: Some(Era::Legacy), version, session_id }
            }
            _ => Self::default(),
        }
    }

    /// Whether a handshake has to come before anything else.
    pub(super) fn lacks_handshake(&self) -> bool {
        self.era == Some(Era::Legacy) && self.version.is_none()
    }
}

/// The version of that name among `versions`.
pub(super) fn known(name: &str, versions: &[&'static str]) -> Option<&'static str> {
    versions.iter().copied().find(|version| *version == name)
}

/// A session's id, if a header can hold it.
pub(super) fn session_id(text: &str) -> Option<String> {
    let fits = (1..=SESSION_ID_BYTES).contains(&text.len());
    (fits && text.bytes().all(|byte| byte.is_ascii_graphic())).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_read_as_it_was_written_and_anything_else_is_a_new_one() {
        for text in ["", "modern", "legacy", "legacy 2025-06-18", "legacy 2025-11-25 a-1"] {
            assert_eq!(Connection::read(text).written(), text);
        }
        assert_eq!(Connection::read("legacy 2024-11-05 a-1").written(), "legacy");
        assert_eq!(Connection::read("legacy 2025-11-25 é").written(), "legacy 2025-11-25");
        for text in ["old", " legacy", "{\"era\":1}"] {
            assert_eq!(Connection::read(text), Connection::default());
        }
    }
}
