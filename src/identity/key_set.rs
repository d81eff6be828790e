//! A provider's public keys (RFC 7517): which of them are taken, and which one a token's signature must be of
//! (interface §13).
//!
//! Import is strict here, because the runtime's is not.

use super::jose::{Algorithm, strict_object};
use crate::encoding::base64url_bytes;
use crate::json::{Node, for_each_element};
use crate::ports::PublicKey;

/// The most keys of a set.
const MOST_KEYS: usize = 100;

/// Members that only a private or a secret key has (RFC 7518, section 6).
const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// The length of an RSA modulus, in bits.
const LEAST_RSA_BITS: usize = 2_048;
const MOST_RSA_BITS: usize = 8_192;

/// The exponents of RSA keys: 65537 and 3.
const RSA_EXPONENTS: [&str; 2] = ["AQAB", "Aw"];

/// The bytes of a coordinate of P-256, and of a key of Ed25519.
const COORDINATE_BYTES: usize = 32;

/// The keys of a provider that can check a signature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySet(Vec<NamedKey>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct NamedKey {
    id: Option<String>,
    key: PublicKey,
}

/// A key that is not taken, although it seems to be meant for signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnusableKey {
    /// Its place in the document, from 0.
    pub place: usize,
    pub reason: &'static str,
}

/// Why a document is no set of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoKeySet {
    /// Not UTF-8, no JSON object, a member twice, or too many levels.
    #[error("its answer is not the JSON of a key set")]
    Malformed,
    #[error("its answer has no list of keys")]
    NoList,
    #[error("its answer has more than {MOST_KEYS} keys")]
    TooMany,
}

/// The key that a token names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<'k> {
    One(&'k PublicKey),
    /// The set has no such key. The provider may have a newer set.
    Unknown,
    /// The key that is named does not fit, or several do.
    Unfit,
}

impl KeySet {
    /// Reads a document, and reports the keys that are not taken.
    ///
    /// # Errors
    /// The document is no set of keys.
    pub fn read(document: Vec<u8>) -> Result<(Self, Vec<UnusableKey>), NoKeySet> {
        let text = strict_object(document).ok_or(NoKeySet::Malformed)?;
        let root = Node::root(&text);
        let list = root.find("keys").ok_or(NoKeySet::NoList)?;
        let (mut set, mut unusable, mut place) = (Self::default(), Vec::new(), 0);
        let walked = for_each_element(list.json, |json| {
            if place < MOST_KEYS {
                match read_key(Node { json, ..list }) {
                    Ok(key) => set.0.extend(key),
                    Err(reason) => unusable.push(UnusableKey { place, reason }),
                }
            }
            place += 1;
        });
        walked.map_err(|_| NoKeySet::NoList)?;
        if place > MOST_KEYS { Err(NoKeySet::TooMany) } else { Ok((set, unusable)) }
    }

    /// The document that [`Self::read`] reads as this set.
    pub fn to_json(&self) -> String {
        let jwk = |NamedKey { id, key }: &NamedKey| {
            let id = id.as_ref().and_then(|id| serde_json::to_string(id).ok());
            let id = id.map_or_else(String::new, |id| format!(",\"kid\":{id}"));
            format!("{{{}{id}}}", key.jwk_members())
        };
        let keys: Vec<String> = self.0.iter().map(jwk).collect();
        format!("{{\"keys\":[{}]}}", keys.join(","))
    }

    /// The key for a signature by this algorithm: never one after the other. A token that names none is of the only key
    /// of the set.
    pub fn choose(&self, algorithm: Algorithm, id: Option<&str>) -> Choice<'_> {
        let Some(id) = id else {
            return match &self.0[..] {
                [only] if algorithm_of(&only.key) == algorithm => Choice::One(&only.key),
                [] | [_] => Choice::Unknown,
                _ => Choice::Unfit,
            };
        };
        let is_named = |key: &&NamedKey| key.id.as_deref() == Some(id);
        let is_fitting = |key: &&NamedKey| algorithm_of(&key.key) == algorithm;
        let mut fitting = self.0.iter().filter(is_named).filter(is_fitting);
        match (fitting.next(), fitting.next()) {
            (Some(one), None) => Choice::One(&one.key),
            (None, _) if !self.0.iter().any(|key| is_named(&key)) => Choice::Unknown,
            _ => Choice::Unfit,
        }
    }
}

/// The length of the key's signatures, in bytes.
pub(super) fn signature_bytes(key: &PublicKey) -> usize {
    match key {
        // As long as the modulus, which begins with no zero.
        PublicKey::Rsa { n, .. } => n.len() * 3 / 4,
        PublicKey::P256 { .. } | PublicKey::Ed25519 { .. } => 64,
    }
}

fn algorithm_of(key: &PublicKey) -> Algorithm {
    match key {
        PublicKey::Rsa { .. } => Algorithm::Rs256,
        PublicKey::P256 { .. } => Algorithm::Es256,
        PublicKey::Ed25519 { .. } => Algorithm::Ed25519,
    }
}

/// A key; `None` for one with another purpose.
///
/// # Errors
/// The reason why the key must not be used.
fn read_key(node: Node<'_, '_>) -> Result<Option<NamedKey>, &'static str> {
    if !node.is_object() {
        return Err("it is not an object");
    }
    if PRIVATE.iter().any(|name| node.find(name).is_some()) {
        return Err("it holds a private or secret key");
    }
    let kind = text(node, "kty")?;
    if kind.as_deref() == Some("oct") {
        return Err("it holds a private or secret key");
    }
    let purpose = text(node, "use")?;
    if purpose.is_some_and(|purpose| purpose != "sig") || !may_verify(node)? {
        return Ok(None);
    }
    let key = match (kind.as_deref(), text(node, "crv")?.as_deref()) {
        (Some("RSA"), _) => rsa(node)?,
        (Some("EC"), Some("P-256")) => {
            PublicKey::P256 { x: coordinate(node, "x")?, y: coordinate(node, "y")? }
        }
        (Some("OKP"), Some("Ed25519")) => PublicKey::Ed25519 { x: coordinate(node, "x")? },
        _ => return Ok(None),
    };
    let (id, own_algorithm) = (text(node, "kid")?, text(node, "alg")?);
    let is_for_it =
        own_algorithm.is_none_or(|name| Algorithm::parse(&name) == Some(algorithm_of(&key)));
    Ok(is_for_it.then_some(NamedKey { id, key }))
}

/// The text of a member; one of another kind is never taken for one that is absent.
fn text(key: Node<'_, '_>, name: &str) -> Result<Option<String>, &'static str> {
    let Some(member) = key.find(name) else { return Ok(None) };
    let text = member.as_text().ok_or("a member has the wrong type")?;
    Ok(Some(text.into_owned()))
}

fn coordinate(key: Node<'_, '_>, name: &str) -> Result<String, &'static str> {
    let text = text(key, name)?
        .filter(|text| base64url_bytes(text).is_some_and(|bytes| bytes.len() == COORDINATE_BYTES));
    text.ok_or("its point is malformed")
}

/// Whether the key's operations, where it names any, hold the check of a signature.
fn may_verify(key: Node<'_, '_>) -> Result<bool, &'static str> {
    let Some(operations) = key.find("key_ops") else { return Ok(true) };
    let mut may = false;
    let walked = for_each_element(operations.json, |operation| may |= operation == "\"verify\"");
    walked.map(|()| may).map_err(|_| "a member has the wrong type")
}

fn rsa(key: Node<'_, '_>) -> Result<PublicKey, &'static str> {
    let (Some(n), Some(e)) = (text(key, "n")?, text(key, "e")?) else {
        return Err("it has no modulus or no exponent");
    };
    let modulus = base64url_bytes(&n).ok_or("its modulus is malformed")?;
    let (Some(first), Some(last)) = (modulus.first(), modulus.last()) else {
        return Err("its modulus is malformed");
    };
    // No leading zero byte (RFC 7518, section 2), and no even number, which is the product of no two large primes.
    if *first == 0 || last % 2 == 0 {
        return Err("its modulus is malformed");
    }
    let bits = modulus.len() * 8 - first.leading_zeros() as usize;
    if !(LEAST_RSA_BITS..=MOST_RSA_BITS).contains(&bits) {
        return Err("its modulus has fewer than 2048 or more than 8192 bits");
    }
    if !RSA_EXPONENTS.contains(&e.as_str()) {
        return Err("its exponent is neither 65537 nor 3");
    }
    Ok(PublicKey::Rsa { n, e })
}
