//! Authentication (interface §6): bearer keys, of which the deployment knows the hashes. Without keys
//! nobody is let in.

use hmac::digest::{CtOutput, Output};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::contract::{ErrorCode, Fault};
use crate::encoding::sha256_from_hex;
use crate::json::Object;

/// The sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The owner of the sessions and workspaces that it reaches.
    pub tenant: String,
    /// The `Id` of its key.
    pub key_id: String,
}

impl Caller {
    /// Every caller that is let in while `AUTH` is `none`. For local work.
    pub fn local() -> Self {
        Self { tenant: "local".to_owned(), key_id: "none".to_owned() }
    }

    /// The name of the tenant's object for a session or a workspace. A tenant's name has no `/`, so no
    /// two tenants can name the same object.
    pub fn object_name(&self, id: &str) -> String {
        format!("{}/{id}", self.tenant)
    }

    /// The key's name in the whole deployment. Rates are counted by it.
    pub fn rate_key(&self) -> String {
        format!("{}/{}", self.tenant, self.key_id)
    }
}

/// The keys of the deployment.
#[derive(Clone, Debug, Default)]
pub struct Keyring {
    /// `CtOutput` compares in constant time.
    keys: Vec<(Caller, CtOutput<Sha256>)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct KeyEntry {
    id: String,
    tenant: String,
    sha256: String,
}

impl Keyring {
    /// Reads `API_KEYS`: a JSON array of `{"Id","Tenant","Sha256"}`. The error is a line for the
    /// operator's log and shows no hash.
    pub fn parse(text: &str) -> Result<Self, String> {
        let entries: Vec<Object<KeyEntry>> = serde_json::from_str(text).map_err(|error| {
            format!("API_KEYS is not a JSON array of {{\"Id\",\"Tenant\",\"Sha256\"}} (line {}, column {})", error.line(), error.column())
        })?;
        let mut keys: Vec<(Caller, CtOutput<Sha256>)> = Vec::with_capacity(entries.len());
        for (index, Object(entry)) in entries.into_iter().enumerate() {
            let named = |what: &str| format!("API_KEYS[{index}]: {what}");
            if entry.id.is_empty() {
                return Err(named("Id is empty"));
            }
            // An object's name is split at its first slash.
            let plain = |b: u8| b.is_ascii_graphic() && b != b'/';
            if !(1..=64).contains(&entry.tenant.len()) || !entry.tenant.bytes().all(plain) {
                return Err(named("Tenant must be 1 to 64 visible ASCII characters other than /"));
            }
            let hash = sha256_from_hex(&entry.sha256)
                .and_then(|hash| Output::<Sha256>::try_from(hash.as_slice()).ok())
                .map(CtOutput::new)
                .ok_or_else(|| named("Sha256 must be 64 characters of lower-case hex"))?;
            if keys.iter().any(|(_, known)| *known == hash) {
                return Err(named("Sha256 is that of an earlier key; give each its own"));
            }
            keys.push((Caller { tenant: entry.tenant, key_id: entry.id }, hash));
        }
        Ok(Self { keys })
    }

    /// The caller whose key the `Authorization` header holds. A missing, a malformed and an unknown key
    /// get the same `unauthenticated`.
    pub fn admit(&self, authorization: Option<&str>) -> Result<Caller, Fault> {
        let presented = authorization
            .and_then(|header| header.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, key)| key.trim())
            .filter(|key| !key.is_empty());
        let mut admitted = None;
        if let Some(key) = presented {
            let hash = CtOutput::new(Sha256::digest(key.as_bytes()));
            // Every entry is compared, each in constant time, so the time of a refusal reveals nothing.
            for (caller, known) in &self.keys {
                if *known == hash {
                    admitted = Some(caller.clone());
                }
            }
        }
        admitted.ok_or_else(|| {
            let message = "Send a valid key in the header Authorization: Bearer <key>.";
            Fault::new(ErrorCode::Unauthenticated, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of `opens`.
    const HASH: &str = "c2d17c3fb0ec4fbc6fc5f2cbc1cb8ee6cd1d1eeeea3a8b8ff2ff4c7ec1ef6d8b";

    fn ring(key: &str) -> Keyring {
        let hash: String =
            Sha256::digest(key.as_bytes()).iter().map(|b| format!("{b:02x}")).collect();
        Keyring::parse(&format!(r#"[{{"Id":"k1","Tenant":"acme","Sha256":"{hash}"}}]"#)).unwrap()
    }

    #[test]
    fn a_known_key_opens_the_door_of_its_tenant_only() {
        let ring = ring("opens");
        let caller = ring.admit(Some("Bearer opens")).unwrap();
        assert_eq!(caller.object_name("s1"), "acme/s1");
        assert_eq!(caller.rate_key(), "acme/k1");
        assert_eq!(ring.admit(Some("bearer opens")).unwrap(), caller);
    }

    #[test]
    fn every_refusal_is_the_same() {
        let ring = ring("opens");
        let refusal = ring.admit(None).unwrap_err();
        assert_eq!(refusal.code, ErrorCode::Unauthenticated);
        for header in
            ["", "Bearer", "Bearer ", "Bearer open", "Bearer opens2", "Basic opens", "opens", HASH]
        {
            assert_eq!(ring.admit(Some(header)).unwrap_err(), refusal, "{header}");
        }
        assert_eq!(Keyring::default().admit(Some("Bearer opens")).unwrap_err(), refusal);
    }

    #[test]
    fn a_key_belongs_to_one_entry() {
        let entry = format!(r#"{{"Id":"k","Tenant":"a","Sha256":"{HASH}"}}"#);
        let other = format!(r#"{{"Id":"k","Tenant":"b","Sha256":"{HASH}"}}"#);
        assert_eq!(
            Keyring::parse(&format!("[{entry},{other}]")).unwrap_err(),
            "API_KEYS[1]: Sha256 is that of an earlier key; give each its own"
        );
    }

    #[test]
    fn malformed_keys_are_named_by_place_and_never_by_value() {
        for (text, fault) in [
            (
                "",
                "API_KEYS is not a JSON array of {\"Id\",\"Tenant\",\"Sha256\"} (line 1, column 0)",
            ),
            (r#"[{"Id":"","Tenant":"a","Sha256":"x"}]"#, "API_KEYS[0]: Id is empty"),
            (
                r#"[{"Id":"k","Tenant":"a/b","Sha256":"x"}]"#,
                "API_KEYS[0]: Tenant must be 1 to 64 visible ASCII characters other than /",
            ),
            (
                r#"[{"Id":"k","Tenant":"a","Sha256":"ABC"}]"#,
                "API_KEYS[0]: Sha256 must be 64 characters of lower-case hex",
            ),
        ] {
            assert_eq!(Keyring::parse(text).unwrap_err(), fault);
        }
    }
}
