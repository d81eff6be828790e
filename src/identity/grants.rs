//! What a credential permits beside its user's name, and how an object gets both.

use serde::{Deserialize, Serialize};

use crate::contract::{CallerRecord, Operation, TurnId};
use crate::encoding::sparse_object;

sparse_object! {
    /// What a credential permits. An absent member permits everything of its kind.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "PascalCase", default)]
    pub struct Grants {
        pub operations?: Option<Vec<Operation>>,
        /// Sessions by their ids; one `*` at the end stands for any rest.
        pub sessions?: Option<Vec<String>>,
        pub turns?: Option<Vec<TurnId>>,
        pub workspaces?: Option<Vec<String>>,
        /// Conversation contexts that a session's first turn may name.
        pub contexts?: Option<Vec<String>>,
        /// The most tokens of a turn.
        pub turn_tokens?: Option<u64>,
        /// When the credential was issued, in milliseconds since the Unix epoch; absent for a key, which nothing but
        /// its removal voids.
        pub issued_at?: Option<u64>,
    }

    /// A caller as an object gets it.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "PascalCase", default)]
    pub struct ForwardedCaller {
        pub caller?: CallerRecord,
        pub grants?: Grants,
    }
}

impl Grants {
    /// Whether they are those of an API key, whose holder pays for what is asked.
    pub fn are_of_a_key(&self) -> bool {
        self.issued_at.is_none()
    }

    /// Whether they permit every agent context, and so every model and every budget: a key to which no context is closed.
    pub fn may_name_any_agent(&self) -> bool {
        self.are_of_a_key() && self.contexts.is_none()
    }

    /// Permits no conversation context but these: what the operator permits the tenant.
    pub fn hold_to_contexts(&mut self, permitted: &[String]) {
        self.contexts = Some(match self.contexts.take() {
            Some(own) => own.into_iter().filter(|context| permitted.contains(context)).collect(),
            None => permitted.to_vec(),
        });
    }

    /// Whether they name a session.
    pub(super) fn name_session(&self, id: &str) -> bool {
        let Some(sessions) = &self.sessions else { return true };
        sessions.iter().any(|pattern| covers(pattern, id))
    }

    /// Whether they name a turn.
    pub(super) fn name_turn(&self, id: &TurnId) -> bool {
        self.turns.as_ref().is_none_or(|turns| turns.contains(id))
    }

    /// Whether they name a workspace.
    pub(super) fn name_workspace(&self, id: &str) -> bool {
        self.workspaces.as_ref().is_none_or(|workspaces| workspaces.iter().any(|own| own == id))
    }

    /// Whether a session's first turn may name a conversation context.
    pub fn name_context(&self, id: &str) -> bool {
        self.contexts.as_ref().is_none_or(|contexts| contexts.iter().any(|context| context == id))
    }
}

/// Whether a pattern of sessions covers another pattern, or an id.
pub(super) fn covers(pattern: &str, other: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => other.starts_with(start),
        None => pattern == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_the_ids_that_begin_as_it_does() {
        let grants = Grants {
            sessions: Some(vec!["chat-*".to_owned(), "one".to_owned()]),
            ..Grants::default()
        };
        for (id, named) in
            [("chat-", true), ("chat-1", true), ("chat", false), ("one", true), ("one1", false)]
        {
            assert_eq!(grants.name_session(id), named, "{id}");
        }
        assert!(Grants::default().name_session("any"));
        for (wide, narrow, covered) in [
            ("*", "a*", true),
            ("a*", "*", false),
            ("a*", "ab*", true),
            ("ab*", "a*", false),
            ("a", "a*", false),
            ("a*", "a", true),
        ] {
            assert_eq!(covers(wide, narrow), covered, "{wide} {narrow}");
        }
    }

    #[test]
    fn of_the_contexts_of_a_credential_and_its_tenant_those_hold_that_both_permit() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (own, permitted, held) in [
            (None, list(&["a", "b"]), list(&["a", "b"])),
            (Some(list(&["b", "c"])), list(&["a", "b"]), list(&["b"])),
            (Some(list(&["c"])), list(&["a"]), list(&[])),
            (None, list(&[]), list(&[])),
        ] {
            let mut grants = Grants { contexts: own, ..Grants::default() };
            grants.hold_to_contexts(&permitted);
            assert_eq!(grants.contexts, Some(held));
            assert!(!grants.may_name_any_agent());
        }
        assert!(Grants::default().may_name_any_agent());
    }

    #[test]
    fn a_plain_key_is_short_on_its_way_to_an_object() {
        let key = Some("k1".to_owned());
        let sent = ForwardedCaller {
            caller: CallerRecord { key, ..CallerRecord::default() },
            grants: Grants::default(),
        };
        assert_eq!(serde_json::to_string(&sent).unwrap(), r#"{"Caller":{"Key":"k1"}}"#);
    }
}
