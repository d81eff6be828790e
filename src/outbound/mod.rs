//! Calls to the services that an operator names in the catalog (interface §6, §7).
//!
//! Architecture Invariant: this folder names only `catalog` and `ports`.

mod json_service;
mod redaction;
mod secret_headers;

pub use json_service::{ServiceFailure, post};
pub use secret_headers::SecretHeaders;
