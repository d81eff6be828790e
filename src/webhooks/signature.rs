//! The signature of a message (Standard Webhooks 1.0, *Signature scheme*): HMAC-SHA256 over id, time and body.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::encoding::{base64_bytes, base64_of, canonical_base64};
use crate::ports::Platform;

/// What each secret begins with.
const PREFIX: &str = "whsec_";

/// The bytes of a key.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A key that receivers share.
pub struct SigningKey(Vec<u8>);

impl SigningKey {
    /// Reads `whsec_` and the base64 of 24 to 64 bytes; `None` for any other text.
    pub fn parse(secret: &str) -> Option<Self> {
        let text = secret.trim().strip_prefix(PREFIX)?;
        let key = base64_bytes(&canonical_base64(text.to_owned())?)?;
        KEY_BYTES.contains(&key.len()).then_some(Self(key))
    }

    /// `v1,` and the signature in base64. `sent_at` is the time of the attempt in seconds since the epoch.
    pub fn signature(&self, id: &str, sent_at: u64, body: &str) -> Option<String> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        let mac = mac.chain_update(format!("{id}.{sent_at}.")).chain_update(body);
        Some(format!("v1,{}", base64_of(&mac.finalize().into_bytes())))
    }
}

/// The signatures by all secrets of these names that can be used, separated by spaces.
///
/// # Errors
/// The problem of the first secret where none can be used: its name, never its value.
pub(super) fn signatures<P: Platform>(
    platform: &P,
    secrets: &[String],
    id: &str,
    sent_at: u64,
    body: &str,
) -> Result<String, String> {
    let keys = secrets.iter().filter_map(|name| SigningKey::parse(&platform.secret(name)?));
    let signatures = keys.filter_map(|key| key.signature(id, sent_at, body));
    let signatures: Vec<String> = signatures.collect();
    if !signatures.is_empty() {
        return Ok(signatures.join(" "));
    }
    let name = secrets.first().map(String::as_str).unwrap_or_default();
    Err(match platform.secret(name) {
        None => format!("the secret {name} is not set in this deployment"),
        Some(_) => format!("the secret {name} is not whsec_ and the base64 of 24 to 64 bytes"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of the specification's own libraries.
    #[test]
    fn a_message_is_signed_as_the_specification_s_libraries_sign_it() {
        let key = SigningKey::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature =
            key.signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature.unwrap(), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_has_one_form() {
        let of = |bytes: usize| format!("whsec_{}", base64_of(&vec![7; bytes]));
        for secret in
            [of(24), of(64), format!(" {}\n", of(32)), of(25).trim_end_matches('=').into()]
        {
            assert!(SigningKey::parse(&secret).is_some(), "{secret}");
        }
        for secret in [
            of(23),
            of(65),
            String::new(),
            "whsec_".into(),
            of(32).replace("whsec_", ""),
            "whsec_-_".repeat(9),
        ] {
            assert!(SigningKey::parse(&secret).is_none(), "{secret}");
        }
    }
}
