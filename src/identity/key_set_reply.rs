//! What the Worker in front asks a keeper of keys, and the reply. Times are spans, since the clocks of two machines
//! differ.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::object::question;

question! {
    /// A question for the keys at an address.
    pub struct KeyQuestion asks Keys => KeySetReply {
        pub jwks_url: String,
        /// Whose keys they are, for the log.
        pub issuer: String,
        /// The version of a set that lacks the key which a token names.
        pub lacking: Option<u64>,
    }

    /// The keys, as their keeper knows them.
    pub struct KeySetReply {
        /// Names this set among those of the address.
        pub version: Option<u64>,
        /// For how long this reply holds, in milliseconds.
        pub fresh_ms: u64,
        /// For how long the keys may serve where the keeper cannot be asked again, in milliseconds.
        pub serves_ms: u64,
        /// When the keeper would ask the provider again for a key that the set lacks, in milliseconds from now.
        pub asks_again_ms: u64,
        /// A document that [`super::KeySet::read`] reads. Absent where no keys are known that may still serve.
        pub keys: Option<Box<RawValue>>,
    }
}

/// The line of the log for keys that could not be had.
pub(super) fn jwks_failed(issuer: &str, failure: &str, keys_serve_ms: u64) -> Value {
    json!({
        "event": "jwks_failed", "level": "error", "provider": issuer, "failure": failure,
        "keys_serve_ms": keys_serve_ms,
    })
}
