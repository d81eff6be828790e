//! A workspace's index (interface §7): chunks, terms, scopes, search, storage, and the request bodies
//! of the workspace endpoints.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that panics is a test that fails"
)]

mod bench;
mod bodies;
mod chunking;
mod index;
mod scope;
mod search;
mod storage;
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
