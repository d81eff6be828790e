//! Calls to services of the operator's own, as the catalog names them.
//!
//! Architecture Invariant: it knows the catalog's addresses and the ports, no layer.

mod json_service;

pub use json_service::{ServiceFailure, post};
