//! The keys that sign tickets (`TICKET_KEYS`; interface §6), and the signed form of a ticket:
//! `apt1.{base64url of its JSON}.{base64url of HMAC-SHA256 over all before that full stop}`.
//!
//! The form has no header, so nobody chooses an algorithm.

use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use sha2::Sha256;

use super::ticket::Ticket;
use crate::contract::{Fault, Result};
use crate::encoding::{base64_bytes, base64url_bytes, base64url_of};
use crate::json::Object;

/// The length of the longest ticket, in bytes.
pub(super) const LONGEST_BYTES: usize = 4_096;

const PREFIX: &str = "apt1.";

/// The bytes of the shortest secret.
const SHORTEST_SECRET: usize = 32;

/// The deployment's keys for tickets. The first one signs, each one verifies.
#[derive(Clone, Debug, Default)]
pub struct TicketKeys(Vec<TicketKey>);

#[derive(Clone)]
struct TicketKey {
    id: String,
    mac: Hmac<Sha256>,
}

impl std::fmt::Debug for TicketKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TicketKey").field("id", &self.id).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Entry {
    id: String,
    secret: String,
}

impl TicketKeys {
    /// Reads `TICKET_KEYS`: a JSON array of `{"Id","Secret"}`, each secret 32 bytes or more in base64. The error is
    /// a line for the operator's log and shows no secret.
    pub fn parse(text: &str) -> Result<Self, String> {
        let entries: Vec<Object<Entry>> = serde_json::from_str(text).map_err(|error| {
            format!(
                "TICKET_KEYS is not a JSON array of {{\"Id\",\"Secret\"}} (line {}, column {})",
                error.line(),
                error.column()
            )
        })?;
        let mut keys: Vec<TicketKey> = Vec::with_capacity(entries.len());
        for (index, Object(entry)) in entries.into_iter().enumerate() {
            let named = |what: &str| format!("TICKET_KEYS[{index}]: {what}");
            if !(1..=64).contains(&entry.id.len()) {
                return Err(named("Id must be 1 to 64 bytes"));
            }
            if keys.iter().any(|known| known.id == entry.id) {
                return Err(named("Id is that of an earlier key; give each its own"));
            }
            let secret = base64_bytes(&entry.secret);
            let secret = secret.filter(|secret| secret.len() >= SHORTEST_SECRET);
            let secret =
                secret.ok_or_else(|| named("Secret must be 32 bytes or more in base64"))?;
            let mac = Hmac::new_from_slice(&secret).map_err(|_| named("Secret is no key"))?;
            keys.push(TicketKey { id: entry.id, mac });
        }
        Ok(Self(keys))
    }

    /// The id of the key that signs.
    pub(super) fn signing_id(&self) -> Option<&str> {
        self.0.first().map(|key| key.id.as_str())
    }

    /// The signed text of a ticket; `None` without a key for it.
    ///
    /// # Errors
    /// `internal` when it cannot be written.
    pub(super) fn sign(&self, ticket: &Ticket) -> Result<Option<String>> {
        let Some(key) = self.find(&ticket.signed_by) else { return Ok(None) };
        let json = serde_json::to_vec(ticket).map_err(|_| Fault::unwritable("The ticket"))?;
        let signed = format!("{PREFIX}{}", base64url_of(&json));
        let signature = key.mac.clone().chain_update(&signed).finalize().into_bytes();
        Ok(Some(format!("{signed}.{}", base64url_of(&signature))))
    }

    /// The contents of a ticket whose signature holds; its time is not looked at.
    ///
    /// # Errors
    /// The reason, which is for the log alone.
    pub fn verify(&self, text: &str) -> Result<Ticket, &'static str> {
        if text.len() > LONGEST_BYTES {
            return Err("ticket: too long");
        }
        let malformed = "ticket: malformed";
        let (signed, signature) = text.rsplit_once('.').ok_or(malformed)?;
        let json = signed.strip_prefix(PREFIX).and_then(base64url_bytes).ok_or(malformed)?;
        let signature = base64url_bytes(signature).ok_or(malformed)?;
        let ticket: Ticket = serde_json::from_slice(&json).map_err(|_| malformed)?;
        let key = self.find(&ticket.signed_by).ok_or("ticket: unknown key")?;
        let checked = key.mac.clone().chain_update(signed).verify_slice(&signature);
        checked.map_err(|_| "ticket: signature").map(|()| ticket)
    }

    fn find(&self, id: &str) -> Option<&TicketKey> {
        self.0.iter().find(|key| key.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Operation, UserId};
    use crate::encoding::base64_of;

    fn keys(ids: &[&str]) -> TicketKeys {
        let entry = |id: &&str| {
            let secret = base64_of(format!("{id:->32}").as_bytes());
            format!(r#"{{"Id":"{id}","Secret":"{secret}"}}"#)
        };
        let entries: Vec<String> = ids.iter().map(entry).collect();
        TicketKeys::parse(&format!("[{}]", entries.join(","))).unwrap()
    }

    fn ticket(signed_by: &str) -> Ticket {
        Ticket {
            signed_by: signed_by.to_owned(),
            id: "tk_1".to_owned(),
            tenant: "acme".to_owned(),
            user: UserId::parse("alice").unwrap(),
            actor: None,
            sessions: None,
            turns: None,
            operations: vec![Operation::Watch],
            workspaces: Vec::new(),
            contexts: None,
            turn_tokens: None,
            origins: None,
            issued_at_s: 1,
            expires_at_s: 2,
            minted_with: "k1".to_owned(),
        }
    }

    #[test]
    fn a_ticket_of_each_key_holds_and_one_of_a_removed_key_does_not() {
        let (old, both, new) = (keys(&["a"]), keys(&["b", "a"]), keys(&["b"]));
        let text = old.sign(&ticket("a")).unwrap().unwrap();
        assert_eq!(both.verify(&text), Ok(ticket("a")));
        assert_eq!(both.signing_id(), Some("b"));
        assert_eq!(new.verify(&text), Err("ticket: unknown key"));
        assert_eq!(new.sign(&ticket("a")), Ok(None));
    }

    #[test]
    fn a_ticket_with_any_other_byte_holds_no_more() {
        let keys = keys(&["a"]);
        let text = keys.sign(&ticket("a")).unwrap().unwrap();
        for at in 0..text.len() {
            for other in [b'A', b'B', b'.', b'=', b'-', 0, b' '] {
                let mut bytes = text.clone().into_bytes();
                if bytes[at] != other {
                    bytes[at] = other;
                    let changed = String::from_utf8(bytes).unwrap();
                    assert!(keys.verify(&changed).is_err(), "{at} {other}");
                }
            }
            assert!(keys.verify(text.get(..at).unwrap()).is_err());
        }
        for longer in [format!("{text}="), format!("{text}A"), format!("{text}.{text}")] {
            assert!(keys.verify(&longer).is_err());
        }
        assert!(keys.verify(&format!("apt1.{}.", "A".repeat(5_000))).is_err());
    }

    #[test]
    fn a_ticket_with_a_member_of_a_newer_version_is_refused() {
        let keys = keys(&["a"]);
        let mut json = serde_json::to_value(ticket("a")).unwrap();
        json["Z"] = 1.into();
        let signed = format!("{PREFIX}{}", base64url_of(json.to_string().as_bytes()));
        let mac = keys.find("a").unwrap().mac.clone().chain_update(&signed);
        let signature = base64url_of(&mac.finalize().into_bytes());
        assert_eq!(keys.verify(&format!("{signed}.{signature}")), Err("ticket: malformed"));
    }

    #[test]
    fn wrong_keys_are_named_by_place_and_never_by_value() {
        let short = base64_of(&[7; 31]);
        let good = base64_of(&[7; 32]);
        for (text, fault) in [
            (
                "{}".to_owned(),
                "TICKET_KEYS is not a JSON array of {\"Id\",\"Secret\"} (line 1, column 0)",
            ),
            (
                format!(r#"[{{"Id":"a","Secret":"{short}"}}]"#),
                "TICKET_KEYS[0]: Secret must be 32 bytes or more in base64",
            ),
            (
                format!(r#"[{{"Id":"","Secret":"{good}"}}]"#),
                "TICKET_KEYS[0]: Id must be 1 to 64 bytes",
            ),
            (
                format!(r#"[{{"Id":"a","Secret":"{good}"}},{{"Id":"a","Secret":"{good}"}}]"#),
                "TICKET_KEYS[1]: Id is that of an earlier key; give each its own",
            ),
        ] {
            assert_eq!(TicketKeys::parse(&text).unwrap_err(), fault);
        }
    }
}
