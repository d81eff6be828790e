//! Tokens, keys and providers for tests.

use aptix_edge::identity::{Provider, Providers};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

pub(crate) const ISSUER: &str = "https://acme.example/";
pub(crate) const JWKS_URL: &str = "https://acme.example/.well-known/jwks.json";

/// Seconds since the epoch at which the tests begin.
pub(crate) const NOW_S: u64 = 1_767_323_045;

pub(crate) fn base64url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A JWK for ES256; equal numbers give equal keys.
pub(crate) fn point(id: Option<&str>, number: u8) -> Value {
    let coordinate = base64url([number; 32]);
    let mut jwk = json!({ "kty": "EC", "crv": "P-256", "x": coordinate, "y": coordinate });
    if let Some(id) = id {
        jwk["kid"] = id.into();
    }
    jwk
}

/// A JWK for RS256 with a modulus of so many bits.
pub(crate) fn modulus(bits: usize) -> Value {
    let mut bytes = vec![0xff; bits.div_ceil(8)];
    bytes[0] = 1 << ((bits - 1) % 8);
    json!({ "kty": "RSA", "kid": "r", "n": base64url(bytes), "e": "AQAB" })
}

/// The claims of a good token of user `alice`, with changes: `null` removes a claim.
pub(crate) fn claims(changes: Value) -> Value {
    let mut claims = json!({
        "iss": ISSUER, "sub": "alice", "aud": "https://agent.example.com",
        "exp": NOW_S + 600, "iat": NOW_S,
    });
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}

/// A token of these texts, with a signature that nobody made.
pub(crate) fn token_of(header: &str, payload: &str) -> String {
    format!("{}.{}.{}", base64url(header), base64url(payload), base64url([7; 64]))
}

/// A token for ES256 with the key of that id.
pub(crate) fn token(id: &str, claims: &Value) -> String {
    token_of(&json!({ "alg": "ES256", "kid": id }).to_string(), &claims.to_string())
}

/// The variable with one provider, changed: `null` removes a member.
pub(crate) fn variable(changes: Value) -> String {
    json!([definition(changes)]).to_string()
}

pub(crate) fn definition(changes: Value) -> Value {
    let mut provider = json!({
        "Issuer": ISSUER, "JwksUrl": JWKS_URL, "Audiences": ["https://agent.example.com"],
        "Tenant": "acme",
    });
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            provider.as_object_mut().unwrap().remove(name);
        } else {
            provider[name] = value.clone();
        }
    }
    provider
}

pub(crate) fn provider(changes: Value) -> Provider {
    Providers::parse(&variable(changes)).unwrap().of_issuer(ISSUER).unwrap().clone()
}
