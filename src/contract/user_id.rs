//! The name of a user behind a tenant (interface §13).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

use super::limits;

/// The name of a user, which the operator's own system chose.
///
/// 1 to 128 bytes of UTF-8, without control characters and without white space at either end; not `.` or `..`, which no URL
/// could name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct UserId(String);

impl UserId {
    /// The rule of a user's name, for messages.
    pub const RULE: &'static str = "must be 1 to 128 bytes, without control characters and without white space at either end, and not . or ..";

    /// Reads a name; `None` where it breaks [`Self::RULE`].
    pub fn parse(text: &str) -> Option<Self> {
        let is_name = (1..=limits::USER).contains(&text.len())
            && text.trim() == text
            && !text.chars().any(char::is_control)
            && !matches!(text, "." | "..");
        is_name.then(|| Self(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for UserId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("not a user's name"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_any_short_text_that_is_whole_on_one_line() {
        let longest = "ü".repeat(64);
        for good in ["alice", "a/b", "~", "%2F", "...", "a b", "\u{202e}x", "auth0|5f7", &longest] {
            assert_eq!(UserId::parse(good).unwrap().as_str(), good);
        }
        let longer = format!("{longest}x");
        for bad in ["", " alice", "alice\u{a0}", "a\0b", "a\nb", "a\u{85}b", ".", "..", &longer] {
            assert_eq!(UserId::parse(bad), None, "{bad:?}");
            let json = serde_json::to_string(bad).unwrap();
            assert!(serde_json::from_str::<UserId>(&json).is_err(), "{bad:?}");
        }
    }
}
