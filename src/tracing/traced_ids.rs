//! How sessions and workspaces stand in traces, which are not erased with them (`TRACE_SESSION_ID`; interface §6).

use std::borrow::Cow;

use crate::contract::UserId;
use crate::encoding::sha256_hex;

/// How sessions and workspaces stand in traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracedIds {
    /// By 32 hex digits of SHA-256(tenant, line feed, id); of a user's session SHA-256(tenant, line feed, ~user, line
    /// feed, id).
    Hash,
    /// By the client's own ids.
    Id,
    /// Not at all.
    None,
}

impl TracedIds {
    /// Reads `TRACE_SESSION_ID`; what it does not know counts as `hash`.
    pub fn of(variable: &str) -> Self {
        match variable {
            "id" => Self::Id,
            "none" => Self::None,
            _ => Self::Hash,
        }
    }

    /// What stands in a trace for an id of a tenant's; `None` for nothing. `user` is whose session it is: two users may
    /// have sessions of one id.
    pub fn name<'i>(
        self,
        tenant: &str,
        user: Option<&UserId>,
        id: &'i str,
    ) -> Option<Cow<'i, str>> {
        match self {
            Self::Hash => {
                let owner = user.map(|user| format!("~{user}\n")).unwrap_or_default();
                let mut hash = sha256_hex(format!("{tenant}\n{owner}{id}").as_bytes());
                hash.truncate(32);
                Some(hash.into())
            }
            Self::Id => Some(id.into()),
            Self::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_stands_in_a_trace_by_a_hash_unless_the_operator_wants_otherwise() {
        let named = |variable| TracedIds::of(variable).name("acme", None, "s").map(Cow::into_owned);
        let hash = sha256_hex(b"acme\ns").get(..32).map(str::to_owned);
        assert_eq!(named("hash"), hash);
        assert_eq!(named("something"), hash);
        assert_eq!(named("id").as_deref(), Some("s"));
        assert_eq!(named("none"), None);
    }
}
