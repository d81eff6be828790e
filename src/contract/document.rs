//! The requests of the workspace endpoints after their validation (interface §7).
//!
//! It owns the typed shapes. They are a canonical form: one text and an array of one are the same.

use std::collections::BTreeMap;

use super::request::RagScope;

/// A document for a workspace's index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its path relative to the workspace's root, which is its name in the index.
    pub path: String,
    /// Its whole text, possibly empty.
    pub contents: String,
    /// A language hint; never empty.
    pub language: Option<String>,
    /// Further keys for the conditions of a scope.
    pub properties: Properties,
}

/// A document's properties: each key once, in alphabetical order, with one or more values.
pub type Properties = Vec<(String, Vec<String>)>;

/// The documents that a client has, by their paths, each with the SHA-256 of its contents in UTF-8,
/// lower-case hex.
pub type ListedDocuments = BTreeMap<String, String>;

/// A search in a workspace's index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRequest {
    /// The user's words; never blank.
    pub query: String,
    pub rag_scope: Option<RagScope>,
    /// The most chunks, when the request says so; at least one.
    pub limit: Option<usize>,
}
