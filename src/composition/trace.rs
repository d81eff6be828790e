//! The composition trace: what a request was made of, and what was left out (AGN-027 §7).
//!
//! Architecture Invariant: sizes and sources, never content.

use std::borrow::Cow;

use serde::Serialize;

/// One block of a request, or one that was left out of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Block {
    /// What it is: `system`, `mode`, `instruction`, `chunk`, `solution_context`, `image`, …
    pub block: &'static str,
    /// Where it came from: a request member, the session, a catalog entry.
    pub source: Cow<'static, str>,
    /// Size in bytes as sent; 0 when it was left out.
    pub bytes: usize,
    /// Why it was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<&'static str>,
    /// The time that it took to get it, in milliseconds, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl Block {
    /// A block that is sent.
    pub fn sent(block: &'static str, source: impl Into<Cow<'static, str>>, bytes: usize) -> Self {
        Self { block, source: source.into(), bytes, left_out: None, duration_ms: None }
    }

    /// A block that is not sent, and why.
    pub fn left_out(
        block: &'static str,
        source: impl Into<Cow<'static, str>>,
        why: &'static str,
    ) -> Self {
        Self { left_out: Some(why), ..Self::sent(block, source, 0) }
    }

    /// A block that is sent when there is a text for it, and otherwise left out for the reason `why`.
    pub(super) fn of(
        block: &'static str,
        source: &'static str,
        text: Option<&str>,
        why: &'static str,
    ) -> Self {
        match text {
            Some(text) => Self::sent(block, source, text.len()),
            None => Self::left_out(block, source, why),
        }
    }
}
