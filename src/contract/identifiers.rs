//! The identifiers of a session and a turn (interface §2).
//!
//! It owns their spelling. The client chooses both, so a turn is its own idempotency key from the
//! first request on.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

use super::error_code::ErrorCode;
use super::fault::{Fault, Result};
use super::limits;

/// What [`SessionId::parse`] and those of the others ask of a text, in words that follow what it names.
pub const IDENTIFIER_RULE: &str =
    "must be 1 to 128 characters of: A-Z a-z 0-9 . _ : -, and neither . nor .. alone";

/// Declares an identifier of 1 to 128 characters of `A-Z a-z 0-9 . _ : -`, which is not `.` or `..`.
macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// 1 to 128 characters of `A-Z a-z 0-9 . _ : -`; not `.` or `..`, which no URL could name.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Reads the identifier; the fault is `invalid_field`, without a path.
            pub fn parse(text: &str) -> Result<Self> {
                let message = || format!("{} {IDENTIFIER_RULE}.", stringify!($name));
                let is_named = is_identifier(text) && !matches!(text, "." | "..");
                let valid = is_named.then(|| Self(text.to_owned()));
                valid.ok_or_else(|| Fault::new(ErrorCode::InvalidField, message()))
            }

            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
            }
        }
    };
}

identifier! {
    /// Names a session: one conversation of one client.
    SessionId
}

identifier! {
    /// Names a turn. It is valid within its session only.
    TurnId
}

identifier! {
    /// Names a steer. It is valid within its turn only.
    SteerId
}

fn is_identifier(text: &str) -> bool {
    (1..=limits::IDENTIFIER).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-'))
}

/// What [`is_tenant_name`] asks of a text, in words that follow what it names.
pub const TENANT_NAME_RULE: &str =
    "must be 1 to 64 visible ASCII characters other than /, the first one not @";

/// Whether a text names a tenant: 1 to 64 visible ASCII characters other than `/`, at which an object's name is split,
/// without `@` at the front, where a name has its simulated jurisdiction.
pub fn is_tenant_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'/';
    (1..=64).contains(&text.len()) && !text.starts_with('@') && text.bytes().all(is_plain)
}

/// `session_not_found`.
pub fn no_session(id: &SessionId) -> Fault {
    Fault::new(ErrorCode::SessionNotFound, format!("There is no session {id}."))
}

/// `turn_not_found`.
pub fn no_turn(id: &TurnId) -> Fault {
    Fault::new(ErrorCode::TurnNotFound, format!("The session has no turn {id}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_1_to_128_characters_of_a_small_alphabet() {
        let longest = "x".repeat(128);
        for good in ["a", "A-z_0.9:", "...", ".a", &longest] {
            assert_eq!(SessionId::parse(good).unwrap().as_str(), good);
        }
        let too_long = "x".repeat(129);
        for bad in ["", " ", "a b", "a/b", "é", "a\n", "a\0", ".", "..", &too_long] {
            assert_eq!(
                TurnId::parse(bad),
                Err(Fault::new(ErrorCode::InvalidField, format!("TurnId {IDENTIFIER_RULE}.")))
            );
        }
        assert!(serde_json::from_str::<SessionId>(r#""a b""#).is_err());
    }
}
