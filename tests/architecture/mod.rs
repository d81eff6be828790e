//! The invariants on the crate's first page (`src/lib.rs`), checked by reading the sources.
//!
//! The rules look at code only, unless a rule says otherwise: comments, string literals and unit
//! tests may name anything.

mod circles;
mod closed_lists;
mod comments;
mod crates;
mod folders;
mod kernel;
mod layers;
mod modules;
mod objects;
mod permissions;
mod reading;
mod rooms;
mod scripts;
mod shape;
mod sources;
mod turns;

use sources::{Source, sources};

/// Asserts that the files which break a rule are exactly those of `known`.
fn assert_only(known: &[&str], breaks: impl Fn(&Source) -> bool) {
    let files = sources().iter().filter(|file| breaks(file));
    let found: Vec<_> = files.map(|file| file.path.as_str()).collect();
    assert_eq!(found, known);
}
