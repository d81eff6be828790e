//! Written forms of bytes, texts and points in time: hex, SHA-256, base64, media types, lines, ISO 8601
//! and HTTP dates, server-sent events, the authority of an origin, closed lists of names, objects that
//! leave members out, jurisdictions, tokens, and the `ContentHash` of IDX-016.
//!
//! Architecture Invariant: pure functions; this folder names nobody else in the crate.

mod authority;
mod base64_text;
mod closed_list;
mod content_hash;
mod hex;
mod jurisdiction;
mod language;
mod lines;
mod media_type;
mod sparse_object;
mod sse;
mod time;
mod usage;

pub use authority::{authority_of, is_loopback, is_sent_openly};
pub use base64_text::{base64_bytes, base64_of, base64url_bytes, base64url_of, canonical_base64};
pub use closed_list::ClosedList;
pub(crate) use closed_list::closed_list;
pub use content_hash::{TextHashes, TextHashing};
pub use hex::{hashed_id, hex, is_sha256, sha256_from_hex, sha256_hex};
pub use jurisdiction::Jurisdiction;
pub use language::language_of;
pub use lines::{disturbs_a_line, first_line};
pub use media_type::{essence, is_media_type};
pub(crate) use sparse_object::{is_default, sparse_object};
pub use sse::{SseDecoder, SseEvent, SseFault};
pub use time::{http_date_ms, is_point_in_time, timestamp};
pub use usage::Usage;
