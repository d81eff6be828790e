//! The events that a webhook tells (interface §15), by their names in the catalog and in messages.

use crate::encoding::closed_list;

closed_list! {
    /// What has become of a turn.
    pub enum WebhookEvent {
        /// The turn has its final text.
        Completed = "turn.completed",
        Failed = "turn.failed",
        /// Somebody cancelled the turn.
        Aborted = "turn.aborted",
        /// The turn waits for its client's tools, or for a human.
        AwaitingTools = "turn.awaiting_tools",
    }
}
