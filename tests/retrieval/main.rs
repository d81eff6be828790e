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
