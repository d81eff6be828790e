//! The API keys of the deployment (interface §6), of which it knows the hashes. They may stand in several secrets, since the
//! platform bounds the length of each.

use hmac::digest::{CtOutput, Output};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::contract::{TENANT_NAME_RULE, is_tenant_name};
use crate::encoding::sha256_from_hex;
use crate::identity::{ALL_TENANTS, Caller, Right, Rights};
use crate::json::Object;

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
    /// All rights without it.
    may: Option<Vec<Right>>,
}

impl Keyring {
    /// Reads the secrets: each a JSON array of `{"Id","Tenant","Sha256","May"?}`. One fault refuses all of them; it is a
    /// line for the operator's log and shows no hash.
    pub fn read(secret: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut keyring = Self::default();
        if let Some(text) = secret("API_KEYS") {
            keyring.add("API_KEYS", &text)?;
        }
        // Any may be missing.
        for name in (2..=9).map(|number| format!("API_KEYS_{number}")) {
            if let Some(text) = secret(&name) {
                keyring.add(&name, &text)?;
            }
        }
        Ok(keyring)
    }

    fn add(&mut self, name: &str, text: &str) -> Result<(), String> {
        let entries: Vec<Object<KeyEntry>> = serde_json::from_str(text).map_err(|error| {
            format!("{name} is not a JSON array of {{\"Id\",\"Tenant\",\"Sha256\",\"May\"?}} (line {}, column {})", error.line(), error.column())
        })?;
        let keys = &mut self.keys;
        for (index, Object(entry)) in entries.into_iter().enumerate() {
            let named = |what: &str| format!("{name}[{index}]: {what}");
            if entry.id.is_empty() {
                return Err(named("Id is empty"));
            }
            if !is_tenant_name(&entry.tenant) {
                return Err(named(&format!("Tenant {TENANT_NAME_RULE}")));
            }
            let hash = sha256_from_hex(&entry.sha256)
                .and_then(|hash| Output::<Sha256>::try_from(hash.as_slice()).ok())
                .map(CtOutput::new)
                .ok_or_else(|| named("Sha256 must be 64 characters of lower-case hex"))?;
            if keys.iter().any(|(_, known)| *known == hash) {
                return Err(named("Sha256 is that of an earlier key; give each its own"));
            }
            let may = entry.may.as_deref().map_or(Rights::ALL, Rights::of);
            if entry.tenant == ALL_TENANTS && may != Rights::of(&[Right::Trace]) {
                return Err(named(r#"Tenant "*" is for a key with "May": ["Trace"] alone"#));
            }
            keys.push((Caller::with_key(entry.tenant, entry.id, may), hash));
        }
        Ok(())
    }

    /// The caller who has this key.
    pub fn find(&self, key: &str) -> Option<Caller> {
        let hash = CtOutput::new(Sha256::digest(key.as_bytes()));
        let mut found = None;
        // Every entry is compared, each in constant time, so the time of a refusal reveals nothing.
        for (caller, known) in &self.keys {
            if *known == hash {
                found = Some(caller);
            }
        }
        found.cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{Needs, Subject};

    /// SHA-256 of `opens`.
    const HASH: &str = "c2d17c3fb0ec4fbc6fc5f2cbc1cb8ee6cd1d1eeeea3a8b8ff2ff4c7ec1ef6d8b";

    fn parse(text: &str) -> Result<Keyring, String> {
        Keyring::read(&|name| (name == "API_KEYS").then(|| text.to_owned()))
    }

    fn ring(key: &str) -> Keyring {
        let hash: String =
            Sha256::digest(key.as_bytes()).iter().map(|b| format!("{b:02x}")).collect();
        parse(&format!(r#"[{{"Id":"k1","Tenant":"acme","Sha256":"{hash}"}}]"#)).unwrap()
    }

    fn may(caller: &Caller, right: Right) -> bool {
        caller.permit(&Needs::key(right), Subject::Nothing).is_ok()
    }

    #[test]
    fn a_known_key_opens_the_door_of_its_tenant_only() {
        let caller = ring("opens").find("opens").unwrap();
        assert_eq!(caller.session_name("s1"), "acme/s1");
        assert!(may(&caller, Right::EraseUsers), "a key without May has every right");
        for other in ["", "open", "opens2", HASH] {
            assert_eq!(ring("opens").find(other), None, "{other}");
        }
        assert_eq!(Keyring::default().find("opens"), None);
    }

    #[test]
    fn a_key_has_the_rights_that_its_entry_names() {
        let ring =
            parse(&format!(r#"[{{"Id":"k","Tenant":"a","Sha256":"{HASH}","May":["Tickets"]}}]"#));
        let (caller, _) = &ring.unwrap().keys[0];
        assert!(may(caller, Right::Tickets) && !may(caller, Right::Sessions));
        let unknown = format!(r#"[{{"Id":"k","Tenant":"a","Sha256":"{HASH}","May":["All"]}}]"#);
        assert!(parse(&unknown).unwrap_err().starts_with("API_KEYS is not"));
    }

    #[test]
    fn a_key_belongs_to_one_entry() {
        let entry = format!(r#"{{"Id":"k","Tenant":"a","Sha256":"{HASH}"}}"#);
        let other = format!(r#"{{"Id":"k","Tenant":"b","Sha256":"{HASH}"}}"#);
        assert_eq!(
            parse(&format!("[{entry},{other}]")).unwrap_err(),
            "API_KEYS[1]: Sha256 is that of an earlier key; give each its own"
        );
    }

    #[test]
    fn keys_of_all_secrets_open_the_door_and_one_fault_refuses_all() {
        let entry = |digit: &str| {
            format!(r#"[{{"Id":"k{digit}","Tenant":"acme","Sha256":"{}"}}]"#, digit.repeat(64))
        };
        let read = |last: &str| {
            Keyring::read(&|name| match name {
                "API_KEYS" => Some(entry("1")),
                "API_KEYS_3" => Some(entry("3")),
                "API_KEYS_9" => Some(last.to_owned()),
                _ => None,
            })
        };
        assert_eq!(read(&entry("9")).unwrap().keys.len(), 3);
        let doubled = "API_KEYS_9[0]: Sha256 is that of an earlier key; give each its own";
        assert_eq!(read(&entry("1")).unwrap_err(), doubled);
        assert!(read("[").unwrap_err().starts_with("API_KEYS_9 is not a JSON array"));
    }

    #[test]
    fn a_key_of_all_tenants_reads_traces_and_nothing_else() {
        let of =
            |may: &str| parse(&format!(r#"[{{"Id":"k","Tenant":"*","Sha256":"{HASH}"{may}}}]"#));
        assert!(of(r#","May":["Trace"]"#).is_ok());
        for may in ["", r#","May":[]"#, r#","May":["Trace","Sessions"]"#, r#","May":["Sessions"]"#]
        {
            let refused = r#"API_KEYS[0]: Tenant "*" is for a key with "May": ["Trace"] alone"#;
            assert_eq!(of(may).unwrap_err(), refused, "{may}");
        }
    }

    #[test]
    fn malformed_keys_are_named_by_place_and_never_by_value() {
        for (text, fault) in [
            (
                "",
                "API_KEYS is not a JSON array of {\"Id\",\"Tenant\",\"Sha256\",\"May\"?} (line 1, column 0)",
            ),
            (r#"[{"Id":"","Tenant":"a","Sha256":"x"}]"#, "API_KEYS[0]: Id is empty"),
            (
                r#"[{"Id":"k","Tenant":"a/b","Sha256":"x"}]"#,
                "API_KEYS[0]: Tenant must be 1 to 64 visible ASCII characters other than /, the first one not @",
            ),
            (
                r#"[{"Id":"k","Tenant":"a","Sha256":"ABC"}]"#,
                "API_KEYS[0]: Sha256 must be 64 characters of lower-case hex",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), fault);
        }
    }
}
