//! Calls to the operator's own services, as the catalog names them (interface §6 and §7).
//!
//! Architecture Invariant: it knows the catalog's addresses and the ports, no layer.

mod json_service;

pub use json_service::{ServiceFailure, post};
