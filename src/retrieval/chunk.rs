//! A chunk (AGN-002, AGN-003 §3): what retrieval finds and composition shows.

use serde::{Deserialize, Deserializer, Serialize};

/// A piece of text that the model may read and cite, as clients see it and retrieval services send
/// it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Chunk {
    /// Path relative to the workspace's root.
    pub path: String,
    /// First line, from 1.
    pub start_line: usize,
    /// Last line, inclusive.
    pub end_line: usize,
    /// The language, as in a fence's info string; empty when a service sends none.
    #[serde(default, deserialize_with = "empty_for_null")]
    pub language: String,
    /// The text.
    pub text: String,
}

fn empty_for_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
