//! The events that a webhook tells (interface §15), by their names in the catalog and in messages.

/// What has become of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookEvent {
    /// The turn has its final text.
    Completed,
    Failed,
    /// Somebody cancelled the turn.
    Aborted,
    /// The turn waits for its client's tools, or for a human.
    AwaitingTools,
}

impl WebhookEvent {
    pub const ALL: [Self; 4] = [Self::Completed, Self::Failed, Self::Aborted, Self::AwaitingTools];

    /// The `type` of its message.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "turn.completed",
            Self::Failed => "turn.failed",
            Self::Aborted => "turn.aborted",
            Self::AwaitingTools => "turn.awaiting_tools",
        }
    }

    /// The event of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == name)
    }
}
