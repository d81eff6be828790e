//! Signatures, checked by the runtime's WebCrypto. An imported key is kept for the whole isolate: it is the same as long
//! as its members are.

use std::cell::RefCell;

use wasm_bindgen::JsValue;
use worker::js_sys::{Array, JSON};

use super::bindings::plain::{import_key, verify};
use super::promise::settled;
use crate::ports::PublicKey;

/// The most imported keys that are kept.
const MOST_KEYS: usize = 64;

thread_local! {
    /// In the order in which they came.
    static IMPORTED: RefCell<Vec<ImportedKey>> = const { RefCell::new(Vec::new()) };
}

/// A key as the runtime has imported it.
#[derive(Clone)]
struct ImportedKey {
    key: PublicKey,
    algorithm: JsValue,
    imported: JsValue,
}

/// Whether a signature is the key's.
pub(super) async fn check(
    key: &PublicKey,
    signed: &[u8],
    signature: &[u8],
) -> Result<bool, JsValue> {
    let known = IMPORTED.with_borrow(|keys| keys.iter().find(|known| known.key == *key).cloned());
    let ImportedKey { algorithm, imported, .. } = match known {
        Some(known) => known,
        None => import(key).await?,
    };
    let verified = settled(&verify(&algorithm, &imported, signature, signed)?).await?;
    Ok(verified == JsValue::TRUE)
}

async fn import(key: &PublicKey) -> Result<ImportedKey, JsValue> {
    let algorithm = JSON::parse(algorithm_of(key))?;
    let jwk = JSON::parse(&format!("{{{}}}", key.jwk_members()))?;
    let uses = Array::of1(&JsValue::from_str("verify"));
    let imported = settled(&import_key("jwk", &jwk, &algorithm, false, &uses)?).await?;
    let imported = ImportedKey { key: key.clone(), algorithm, imported };
    IMPORTED.with_borrow_mut(|keys| {
        if keys.len() >= MOST_KEYS {
            keys.remove(0);
        }
        keys.push(imported.clone());
    });
    Ok(imported)
}

/// The algorithm as JSON, as import and check take it.
fn algorithm_of(key: &PublicKey) -> &'static str {
    match key {
        PublicKey::Rsa { .. } => r#"{"name":"RSASSA-PKCS1-v1_5","hash":"SHA-256"}"#,
        PublicKey::P256 { .. } => r#"{"name":"ECDSA","namedCurve":"P-256","hash":"SHA-256"}"#,
        PublicKey::Ed25519 { .. } => r#"{"name":"Ed25519"}"#,
    }
}
