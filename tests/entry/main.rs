//! The front door: from a request's method, path, headers and body to one response.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics is a test that fails"
)]

mod alarms;
mod bodies;
mod callers;
mod catalogs;
mod downloads;
mod embeddings;
mod openapi;
mod playground;
mod published_rules;
mod retrieval;
mod workspaces;
