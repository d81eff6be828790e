//! The background response that a turn's model call is reading (interface §4, Background responses), as the turn's
//! progress keeps it.

use serde::{Deserialize, Serialize};

/// A response that goes on at the model service, whether it is read or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingResponse {
    pub response_id: String,
    /// The agent context whose model service makes it; `None` for the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// When the service named it, in milliseconds since the epoch.
    pub created_at: u64,
    /// The instances that were lost while they read it.
    pub resumptions: u32,
    /// The number of the newest entry of the conversation at that time: a conversation that has grown since does not
    /// take the response.
    pub newest_entry: u64,
    /// Attempts of its call that were cut before the id of their response was known.
    pub unknown_responses: u64,
    /// The transcript of its call as far as the call had come, JSON.
    pub transcript: String,
}
