//! The composition trace: what a request was made of, and what was left out (AGN-027 §7).
//!
//! Architecture Invariant: sizes and sources, never content.

use serde::{Deserialize, Serialize};

/// One block of a request, or one that was left out of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Block {
    /// What it is: `system`, `mode`, `instruction`, `chunk`, `solution_context`, `image`, …
    pub block: String,
    /// Where it came from: a request member, the session, a catalog entry.
    pub source: String,
    /// Size in bytes as sent; 0 when it was left out.
    pub bytes: usize,
    /// Why it was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

impl Block {
    /// A block that is sent.
    pub fn sent(block: &str, source: impl Into<String>, bytes: usize) -> Self {
        Self { block: block.to_owned(), source: source.into(), bytes, left_out: None }
    }

    /// A block that is not sent, and why.
    pub fn left_out(block: &str, source: impl Into<String>, why: &str) -> Self {
        Self {
            block: block.to_owned(),
            source: source.into(),
            bytes: 0,
            left_out: Some(why.to_owned()),
        }
    }
}
