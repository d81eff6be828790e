//! How users stand in the operator's log, which is not erased with a user (`LOG_USERS`; interface §6).

use std::borrow::Cow;

use crate::contract::UserId;
use crate::encoding::sha256_hex;

/// How users stand in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoggedUsers {
    /// By 16 hex digits of SHA-256(tenant, line feed, user).
    #[default]
    Hash,
    /// By their names.
    Plain,
    /// Not at all.
    None,
}

impl LoggedUsers {
    /// Reads `LOG_USERS`; `None` for a value that it has not.
    pub fn parse(variable: Option<&str>) -> Option<Self> {
        match variable.unwrap_or_default() {
            "" | "hash" => Some(Self::Hash),
            "plain" => Some(Self::Plain),
            "none" => Some(Self::None),
            _ => None,
        }
    }

    /// What stands in the log for a user of a tenant; `None` for nothing.
    pub fn name<'u>(self, tenant: &str, user: &'u UserId) -> Option<Cow<'u, str>> {
        match self {
            Self::Hash => {
                let mut hash = sha256_hex(format!("{tenant}\n{user}").as_bytes());
                hash.truncate(16);
                Some(hash.into())
            }
            Self::Plain => Some(user.as_str().into()),
            Self::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_stands_in_the_log_by_a_hash_unless_the_operator_wants_otherwise() {
        let alice = UserId::parse("alice").unwrap();
        let named = |variable| LoggedUsers::parse(variable).unwrap().name("acme", &alice);
        let hash = named(None).unwrap();
        assert_eq!(hash, sha256_hex(b"acme\nalice").get(..16).unwrap());
        assert_eq!(named(Some("hash")).unwrap(), hash);
        assert_ne!(LoggedUsers::Hash.name("other", &alice).unwrap(), hash);
        assert_eq!(named(Some("plain")).unwrap(), "alice");
        assert_eq!(named(Some("none")), None);
        assert_eq!(LoggedUsers::parse(Some("Plain")), None);
    }
}
