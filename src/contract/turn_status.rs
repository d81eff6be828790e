//! The statuses of a turn (interface §2, Turns). It owns their spelling and names nobody.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

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
    fn a_status_has_one_name_everywhere() {
        for status in TurnStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(*status));
            assert_eq!(serde_json::to_string(status).unwrap(), format!("\"{status}\""));
        }
        assert_eq!("done".parse::<TurnStatus>(), Err(UnknownTurnStatus("done".into())));
    }
}
