//! A token's form: a JWS in compact serialisation (RFC 7515) by strict rules, of which no two readers make two things
//! (interface §13).
//!
//! It reads the header and hands out the payload's JSON. It knows no claim and no key.

use super::refusal::Refusal;
use crate::encoding::base64url_bytes;
use crate::json::{Node, is_json, nests_deeper_than, repeats_a_member};

/// The longest token, and the longest header in it once it is decoded, in bytes.
const LONGEST_TOKEN: usize = 8_192;
const LONGEST_HEADER: usize = 2_048;

/// The longest `kid`, in characters.
const LONGEST_KEY_ID: usize = 256;

/// How deep the JSON of a token or a key set may nest.
const DEEPEST: usize = 64;

/// Members that would give the rest of the token another meaning: extensions, payloads in another form, other tokens
/// inside.
const REFUSED: [&str; 5] = ["crit", "b64", "zip", "enc", "cty"];

/// The algorithms of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// EdDSA with Ed25519.
    Ed25519,
}

impl Algorithm {
    /// Each name with what it means. `EdDSA` is the older name (RFC 8037), `Ed25519` the newer one (RFC 9864).
    pub const NAMES: [(&'static str, Self); 4] = [
        ("RS256", Self::Rs256),
        ("ES256", Self::Es256),
        ("EdDSA", Self::Ed25519),
        ("Ed25519", Self::Ed25519),
    ];

    /// The algorithm of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
    }
}

/// What of a token's header counts. Addresses and keys that it holds (`jku`, `jwk`, `x5u`, `x5c`) are never read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub algorithm: Algorithm,
    /// The token's type as [`type_name`] writes it.
    pub token_type: String,
    pub key_id: Option<String>,
}

/// A token whose signature is not checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jws<'t> {
    pub header: Header,
    /// The JSON of an object.
    pub payload: String,
    /// The text that is signed.
    pub signed: &'t str,
    pub signature: Vec<u8>,
}

impl<'t> Jws<'t> {
    /// Reads a token.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] for any that breaks a rule.
    pub fn read(token: &'t str) -> Result<Self, Refusal> {
        let parts = || {
            let (signed, signature) = token.rsplit_once('.')?;
            let (header, payload) = signed.split_once('.')?;
            let is_whole = [header, payload, signature].iter().all(|part| !part.is_empty());
            is_whole.then_some((header, payload, signed, signature))
        };
        let parts = if token.len() > LONGEST_TOKEN { None } else { parts() };
        let (header, payload, signed, signature) = parts.ok_or(Refusal::Invalid("jwt: form"))?;
        // A part with a full stop in it is not base64url.
        let decoded = |part| base64url_bytes(part).ok_or(Refusal::Invalid("jwt: form"));
        let (header, payload, signature) =
            (decoded(header)?, decoded(payload)?, decoded(signature)?);
        let header = Some(header).filter(|header| header.len() <= LONGEST_HEADER);
        let header = header.and_then(strict_object).ok_or(Refusal::Invalid("jwt: header"))?;
        let payload = strict_object(payload).ok_or(Refusal::Invalid("jwt: payload"))?;
        Ok(Self { header: Header::read(&header)?, payload, signed, signature })
    }
}

impl Header {
    fn read(json: &str) -> Result<Self, Refusal> {
        let header = Node::root(json);
        if REFUSED.iter().any(|name| header.find(name).is_some()) {
            return Err(Refusal::Invalid("jwt: header"));
        }
        // A member of another kind is never taken for one that is absent.
        let text = |name: &str| match header.find(name) {
            None => Ok(None),
            Some(node) => node.as_text().map(Some).ok_or(Refusal::Invalid("jwt: header")),
        };
        let algorithm = text("alg")?.and_then(|name| Algorithm::parse(&name));
        let algorithm = algorithm.ok_or(Refusal::Invalid("jwt: algorithm"))?;
        let token_type = text("typ")?.map_or_else(|| type_name("JWT"), |name| type_name(&name));
        let key_id = text("kid")?;
        if key_id.as_ref().is_some_and(|id| !(1..=LONGEST_KEY_ID).contains(&id.chars().count())) {
            return Err(Refusal::Invalid("jwt: header"));
        }
        Ok(Self { algorithm, token_type, key_id: key_id.map(Into::into) })
    }
}

/// A token's type without what does not count: case, and `application/` (RFC 7515, section 4.1.9).
pub(super) fn type_name(text: &str) -> String {
    let mut name = text.to_ascii_lowercase();
    if let Some(short) = name.strip_prefix("application/") {
        name = short.to_owned();
    }
    name
}

/// The text of a JSON object that every reader takes for the same: UTF-8 without a byte order mark, no member twice at
/// any depth, at most [`DEEPEST`] levels.
pub(super) fn strict_object(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let is_strict = !nests_deeper_than(&text, DEEPEST)
        && is_json(&text)
        && Node::root(&text).is_object()
        && !repeats_a_member(&text);
    is_strict.then_some(text)
}
