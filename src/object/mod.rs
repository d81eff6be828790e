//! The kernel of Durable Objects: what every class of object needs, whatever it stores.
//!
//! Architecture Invariant: this folder names only `contract` and `ports`.

mod alarm;
mod backoff;
mod schema;

pub use alarm::Alarm;
pub use backoff::{Backoff, FIRST_WAIT_MS};
pub use schema::{Schema, Step, has_table};
