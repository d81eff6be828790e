//! The statuses of a turn (interface §2, Turns).

use crate::encoding::closed_list;

closed_list! {
    /// How far a turn is.
    pub enum TurnStatus {
        Running = "running",
        /// Paused until the client sends its tool results.
        AwaitingTools = "awaiting_tools",
        /// Ended with a final response.
        Completed = "completed",
        /// Ended with an error; repeating its request runs it again.
        Failed = "failed",
        /// Cancelled.
        Aborted = "aborted",
    }
}

impl TurnStatus {
    /// Whether the turn still occupies its session, which has at most one such turn.
    pub fn is_live(self) -> bool {
        match self {
            Self::Running | Self::AwaitingTools => true,
            Self::Completed | Self::Failed | Self::Aborted => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_one_name_everywhere() {
        for status in TurnStatus::ALL {
            let name = status.as_str();
            assert_eq!(TurnStatus::parse(name), Some(*status));
            assert_eq!(serde_json::to_string(status).unwrap(), format!("\"{name}\""));
        }
        assert_eq!(TurnStatus::parse("done"), None);
    }
}
