//! Signatures, checked by the runtime's WebCrypto. An imported key is kept for the whole isolate: it is the same as long
//! as its members are.

use std::cell::RefCell;

use serde_json::{Value, json};
use wasm_bindgen::JsValue;

use super::bindings::crypto::{import_key, verify};
use super::promise::settled;
use super::values::to_js;
use crate::ports::PublicKey;

/// The most imported keys that are kept.
const MOST_KEYS: usize = 64;

thread_local! {
    /// In the order in which they came.
    static IMPORTED: RefCell<Vec<(PublicKey, JsValue)>> = const { RefCell::new(Vec::new()) };
}

/// Whether the signature over these bytes is the key's.
pub(super) async fn holds(key: &PublicKey, signed: &[u8], signature: &[u8]) -> bool {
    check(key, signed, signature).await.unwrap_or(false)
}

async fn check(key: &PublicKey, signed: &[u8], signature: &[u8]) -> Result<bool, JsValue> {
    let algorithm = to_js(&algorithm_of(key))?;
    let known = IMPORTED.with_borrow(|keys| {
        keys.iter().find(|(known, _)| known == key).map(|(_, imported)| imported.clone())
    });
    let imported = match known {
        Some(imported) => imported,
        None => import(key, &algorithm).await?,
    };
    let verified = settled(&verify(&algorithm, &imported, signature, signed)?).await?;
    Ok(verified == JsValue::TRUE)
}

async fn import(key: &PublicKey, algorithm: &JsValue) -> Result<JsValue, JsValue> {
    let (jwk, uses) = (to_js(&key.to_jwk())?, to_js(&["verify"])?);
    let imported = settled(&import_key("jwk", &jwk, algorithm, false, &uses)?).await?;
    IMPORTED.with_borrow_mut(|keys| {
        if keys.len() >= MOST_KEYS {
            keys.remove(0);
        }
        keys.push((key.clone(), imported.clone()));
    });
    Ok(imported)
}

/// The algorithm, as import and check take it.
fn algorithm_of(key: &PublicKey) -> Value {
    match key {
        PublicKey::Rsa { .. } => json!({ "name": "RSASSA-PKCS1-v1_5", "hash": "SHA-256" }),
        PublicKey::P256 { .. } => {
            json!({ "name": "ECDSA", "namedCurve": "P-256", "hash": "SHA-256" })
        }
        PublicKey::Ed25519 { .. } => json!({ "name": "Ed25519" }),
    }
}
