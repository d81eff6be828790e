//! A chunk (AGN-002, AGN-003 §3): the result of retrieval, which composition writes into a message.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A piece of text that the model may read and cite, as clients see it and retrieval services send
/// it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    pub text: String,
    /// The score in a workspace's own index; higher is better.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The parts of the score, on request:
    /// `{"Chunk","Document","Place","Terms":[{"Term","Score","Fields"}]}`.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub explain: Option<Value>,
}

fn empty_for_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
