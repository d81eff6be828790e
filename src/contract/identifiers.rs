//! The identifiers of a session and a turn, and the statuses of a turn (interface section 2).
//!
//! It owns their spelling. Both identifiers are the client's own, so that a turn is its own
//! idempotency key from the first request on.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, de};

use super::error_code::ErrorCode;
use super::fault::Fault;
use super::limits;

/// Declares an identifier of 1 to 128 characters of `A-Z a-z 0-9 . _ : -`.
macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// 1 to 128 characters of `A-Z a-z 0-9 . _ : -`.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Reads the identifier.
            ///
            /// # Errors
            /// `invalid_field`, without a path, when the text is not an identifier.
            pub fn parse(text: &str) -> Result<Self, Fault> {
                if is_identifier(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(Fault::new(
                        ErrorCode::InvalidField,
                        concat!(
                            stringify!($name),
                            " must be 1 to 128 characters of: A-Z a-z 0-9 . _ : -"
                        ),
                    ))
                }
            }

            /// The identifier as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Fault;

            fn from_str(text: &str) -> Result<Self, Fault> {
                Self::parse(text)
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

fn is_identifier(text: &str) -> bool {
    (1..=limits::IDENTIFIER).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-'))
}

/// The status of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// Being worked on.
    Running,
    /// Paused until the client's tool results come.
    AwaitingTools,
    /// Ended with a final response.
    Completed,
    /// Ended with an error; repeating its request runs it again.
    Failed,
    /// Cancelled.
    Aborted,
}

impl TurnStatus {
    /// Every status.
    pub const ALL: &'static [Self] =
        &[Self::Running, Self::AwaitingTools, Self::Completed, Self::Failed, Self::Aborted];

    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::AwaitingTools => "awaiting_tools",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
        }
    }

    /// Whether the turn still occupies its session, which has at most one such turn.
    #[must_use]
    pub fn is_live(self) -> bool {
        match self {
            Self::Running | Self::AwaitingTools => true,
            Self::Completed | Self::Failed | Self::Aborted => false,
        }
    }
}

/// The text is not the name of a turn status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a turn status")]
pub struct UnknownTurnStatus(pub String);

impl FromStr for TurnStatus {
    type Err = UnknownTurnStatus;

    fn from_str(name: &str) -> Result<Self, UnknownTurnStatus> {
        Self::ALL
            .iter()
            .copied()
            .find(|status| status.as_str() == name)
            .ok_or_else(|| UnknownTurnStatus(name.to_owned()))
    }
}

impl fmt::Display for TurnStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_1_to_128_characters_of_a_small_alphabet() {
        let longest = "x".repeat(128);
        for good in ["a", "A-z_0.9:", "..", &longest] {
            assert_eq!(SessionId::parse(good).unwrap().as_str(), good);
        }
        let too_long = "x".repeat(129);
        for bad in ["", " ", "a b", "a/b", "é", "a\n", "a\0", &too_long] {
            assert_eq!(
                TurnId::parse(bad),
                Err(Fault::new(
                    ErrorCode::InvalidField,
                    "TurnId must be 1 to 128 characters of: A-Z a-z 0-9 . _ : -"
                ))
            );
        }
        assert!(serde_json::from_str::<SessionId>(r#""a b""#).is_err());
    }

    #[test]
    fn a_status_has_one_name_everywhere() {
        for status in TurnStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(*status));
            assert_eq!(serde_json::to_string(status).unwrap(), format!("\"{status}\""));
        }
        assert_eq!("done".parse::<TurnStatus>(), Err(UnknownTurnStatus("done".into())));
    }
}
