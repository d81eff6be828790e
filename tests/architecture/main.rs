//! The invariants on the crate's first page (`src/lib.rs`), checked by reading the sources.
//!
//! A rule looks at code: comments, texts in quotes and unit tests may name anything, unless the rule
//! says otherwise.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    reason = "a test fails by panicking, and a note that there was nothing to read is part of the result"
)]

mod circles;
mod code;
mod folders;
mod layers;
mod paths;
mod shape;
mod sources;

use sources::{Source, sources};

/// The files that break a rule must be those of `known` and no other.
fn assert_only(known: &[&str], breaks: impl Fn(&Source) -> bool) {
    let sources = sources();
    let found: Vec<_> =
        sources.iter().filter(|file| breaks(file)).map(|file| file.path.as_str()).collect();
    assert_eq!(found, known);
}
