//! Who sent a submission, as trace and export show it (interface §13).

use serde::{Deserialize, Serialize};

use super::user_id::UserId;
use crate::encoding::sparse_object;

sparse_object! {
    /// Who sent a submission: the credential, and the people behind it.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "PascalCase", default)]
    pub struct CallerRecord {
        /// The `Id` of an API key.
        pub key?: Option<String>,
        /// The issuer of an identity provider's token.
        pub provider?: Option<String>,
        /// The id of a ticket.
        pub ticket?: Option<String>,
        /// The owner of the session.
        pub user?: Option<UserId>,
        /// Who used the credential, where that is said.
        pub actor?: Option<UserId>,
    }
}

impl CallerRecord {
    /// Whether it is somebody else than the user who acts.
    pub fn is_other_actor(&self) -> bool {
        self.actor.is_some() && self.actor != self.user
    }

    /// Who decides, where this caller does: `key:…`, `actor:…` or `user:…`.
    pub fn decider(&self) -> Option<String> {
        let actor = self.actor.as_ref().filter(|_| self.is_other_actor());
        match (&self.key, actor, &self.user) {
            (Some(key), ..) => Some(format!("key:{key}")),
            (None, Some(actor), _) => Some(format!("actor:{actor}")),
            (None, None, Some(user)) => Some(format!("user:{user}")),
            (None, None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_decider_is_the_key_else_another_actor_else_the_user() {
        let (alice, bob) = (UserId::parse("alice"), UserId::parse("bob"));
        let of = |key: Option<&str>, user: &Option<UserId>, actor: &Option<UserId>| {
            let (key, user, actor) = (key.map(str::to_owned), user.clone(), actor.clone());
            CallerRecord { key, user, actor, ..CallerRecord::default() }.decider()
        };
        assert_eq!(of(Some("k1"), &alice, &None).as_deref(), Some("key:k1"));
        assert_eq!(of(None, &alice, &bob).as_deref(), Some("actor:bob"));
        assert_eq!(of(None, &alice, &alice).as_deref(), Some("user:alice"));
        assert_eq!(of(None, &alice, &None).as_deref(), Some("user:alice"));
        assert_eq!(of(None, &None, &None), None);
    }
}
