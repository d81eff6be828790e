//! The retrieval that a turn's message waits for, as the turn's progress keeps it.

use serde::{Deserialize, Serialize};

use crate::contract::RagScope;

/// A retrieval that is still to be made: what is asked, and the place of its chunks in the stored
/// message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingRetrieval {
    /// The workspace that is searched.
    pub workspace_id: String,
    /// The user's own words.
    pub query: String,
    pub rag_scope: Option<RagScope>,
    /// Advisory.
    pub repo: Option<String>,
    /// Advisory.
    pub language: Option<String>,
    /// The number of chunks that the message already has.
    pub chunks: usize,
    /// The number of blocks of the composition trace up to there.
    pub blocks: usize,
}
