//! Tokens of identity providers (interface §13): their form, their claims, the keys, and who asks a provider when.
//!
//! Signatures are a table here ([`door`]); `tests/e2e/provider_tokens.test.mjs` has real ones.

mod claims;
mod door;
mod forms;
mod keeper;
mod key_sets;
mod providers;
mod spoiled;
mod tokens;
