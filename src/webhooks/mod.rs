//! Webhooks (interface §15): messages about turns that end or wait, signed by Standard Webhooks 1.0 and posted to
//! receivers of the operator's.
//!
//! A message is made once, in the step that ends or pauses the turn, and is the same bytes in every attempt. Which
//! messages wait is kept by `persistence`, and when an object attempts them is decided by `entry`.
//!
//! Architecture Invariant: this folder names only `catalog`, `contract`, `encoding`, `outbound`, `persistence` and
//! `ports`. No failure holds an address, a secret or words of a receiver.

mod delivery;
mod message;
mod schedule;
mod signature;

pub use delivery::{NotTaken, attempt};
pub use message::messages_of;
pub use schedule::next_wait_ms;
pub use signature::SigningKey;
