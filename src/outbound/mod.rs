//! Calls to the services that an operator names in the catalog (interface §6, §7).
//!
//! Architecture Invariant: this folder names only `catalog`, `encoding` and `ports`.

mod address;
mod document;
mod json_service;
mod notification;
mod redaction;
mod secret_headers;
mod service;

pub use address::{address, retry_after_ms};
pub use document::fetch_document;
pub use json_service::{post, post_to};
pub use notification::notify;
pub use redaction::as_repeated;
pub use secret_headers::{SecretHeaders, hold_key};
pub use service::{Service, ServiceFailure, in_time};
