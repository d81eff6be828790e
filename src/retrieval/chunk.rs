//! A chunk (AGN-002, AGN-003 §3): what retrieval finds and composition shows.

/// A piece of text that the model may read and cite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Path relative to the workspace's root.
    pub path: String,
    /// First line, from 1.
    pub start_line: usize,
    /// Last line, inclusive.
    pub end_line: usize,
    /// The language, as in a fence's info string.
    pub language: String,
    /// The text.
    pub text: String,
}
