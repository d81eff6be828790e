//! Tokens of identity providers (interface §13): their form, their claims, the keys, and who asks a provider when.
//!
//! Signatures are a table here ([`door`]); `tests/e2e/identity.test.mjs` has real ones.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that panics is a test that fails"
)]

mod claims;
mod door;
mod forms;
mod keeper;
mod key_sets;
mod providers;
mod spoiled;
mod tokens;
