//! A workspace's index (the interface, section 7): how documents are cut, what they are found by,
//! what a scope permits, what is written, and what the workspace endpoints take.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that panics is a test that fails"
)]

#[path = "retrieval/bodies.rs"]
mod bodies;
#[path = "retrieval/chunking.rs"]
mod chunking;
#[path = "retrieval/index.rs"]
mod index;
#[path = "retrieval/scope.rs"]
mod scope;
#[path = "retrieval/search.rs"]
mod search;
#[path = "retrieval/storage.rs"]
mod storage;
#[path = "retrieval/terms.rs"]
mod terms;

use aptix_edge::contract::Document;

fn document(path: &str, contents: &str) -> Document {
    Document {
        path: path.to_owned(),
        contents: contents.to_owned(),
        language: None,
        properties: Vec::new(),
    }
}
