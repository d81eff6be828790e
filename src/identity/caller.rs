//! The sender of a request, as the Worker in front knows it.

use super::grants::{ForwardedCaller, Grants};
use super::rights::{Right, Rights};
use super::ticket::Ticket;
use crate::contract::{CallerRecord, UserId};
use crate::ports::{object_name, user_name};

/// The sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The owner of the sessions and workspaces that it reaches.
    pub tenant: String,
    pub credential: Credential,
    /// The user whose sessions it reaches; `None` for the tenant's own.
    pub user: Option<UserId>,
    /// Who uses the credential, where that is said.
    pub actor: Option<UserId>,
    pub grants: Grants,
}

/// What a caller showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// An API key, by its `Id`.
    Key {
        id: String,
        may: Rights,
    },
    Ticket(Box<Ticket>),
    /// A token of an identity provider, by its issuer.
    Provider {
        issuer: String,
    },
}

impl Caller {
    /// The caller with an API key, which acts for nobody.
    pub fn with_key(tenant: String, id: String, may: Rights) -> Self {
        let workspaces = if may.has(Right::Workspaces) { None } else { Some(Vec::new()) };
        let grants = Grants { workspaces, ..Grants::default() };
        Self { tenant, credential: Credential::Key { id, may }, user: None, actor: None, grants }
    }

    /// The caller who shows a ticket.
    pub fn with_ticket(ticket: Ticket) -> Self {
        let grants = Grants {
            operations: Some(ticket.operations.clone()),
            sessions: ticket.sessions.clone(),
            turns: ticket.turns.clone(),
            workspaces: Some(ticket.workspaces.clone()),
            contexts: ticket.contexts.clone(),
            turn_tokens: ticket.turn_tokens,
            issued_at: Some(ticket.issued_at_s.saturating_mul(1000)),
        };
        let (tenant, actor) = (ticket.tenant.clone(), ticket.actor.clone());
        let user = Some(ticket.user.clone());
        Self { tenant, credential: Credential::Ticket(Box::new(ticket)), user, actor, grants }
    }

    /// Every caller that is let in while `AUTH` is `none`. For local work.
    pub fn local() -> Self {
        Self::with_key("local".to_owned(), "none".to_owned(), Rights::ALL)
    }

    /// The same caller, acting for a user; a key needs the right `ActAs`.
    pub fn acting_for(self, user: UserId) -> Self {
        Self { user: Some(user), ..self }
    }

    /// Whether it showed an API key.
    pub fn has_key(&self) -> bool {
        matches!(self.credential, Credential::Key { .. })
    }

    /// The name of the object for a session of the caller's.
    pub fn session_name(&self, id: &str) -> String {
        object_name(&self.tenant, self.user.as_ref(), id)
    }

    /// The name of the user's own object; `None` for a caller without a user.
    pub fn own_name(&self) -> Option<String> {
        self.user.as_ref().map(|user| user_name(&self.tenant, user))
    }

    /// The name of the object for a workspace, which is the tenant's.
    pub fn workspace_name(&self, id: &str) -> String {
        object_name(&self.tenant, None, id)
    }

    /// The name under which the caller's rate is counted, and whether that is a user's.
    pub fn rate_key(&self) -> (String, bool) {
        match (&self.credential, &self.user) {
            (Credential::Key { id, .. }, _) => (format!("{}/{id}", self.tenant), false),
            (Credential::Ticket { .. } | Credential::Provider { .. }, Some(user)) => {
                (user_name(&self.tenant, user), true)
            }
            (Credential::Ticket(ticket), None) => (format!("{}/{}", self.tenant, ticket.id), true),
            (Credential::Provider { issuer }, None) => (format!("{}/{issuer}", self.tenant), true),
        }
    }

    /// Who it is, as logs, trace and export tell it.
    pub fn record(&self) -> CallerRecord {
        let (user, actor) = (self.user.clone(), self.actor.clone());
        let mut record = CallerRecord { user, actor, ..CallerRecord::default() };
        match &self.credential {
            Credential::Key { id, .. } => record.key = Some(id.clone()),
            Credential::Ticket(ticket) => record.ticket = Some(ticket.id.clone()),
            Credential::Provider { issuer } => record.provider = Some(issuer.clone()),
        }
        record
    }

    /// The caller as an object gets it.
    pub fn sent(&self) -> ForwardedCaller {
        ForwardedCaller { caller: self.record(), grants: self.grants.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user() -> UserId {
        UserId::parse("al/ice").unwrap()
    }

    #[test]
    fn a_session_s_owner_stands_in_its_object_s_name() {
        let key = Caller::with_key("acme".to_owned(), "k1".to_owned(), Rights::ALL);
        assert_eq!(key.session_name("s1"), "acme/s1");
        assert_eq!(key.rate_key(), ("acme/k1".to_owned(), false));
        let acting = key.acting_for(user());
        assert_eq!(acting.session_name("s1"), "acme/~al%2Fice/s1");
        assert_eq!(acting.workspace_name("w"), "acme/w");
        assert_eq!(acting.rate_key(), ("acme/k1".to_owned(), false));
        let ticket = r#"{"K":"a","I":"tk","T":"acme","U":"al/ice","O":[],"N":0,"X":0,"Y":"k1"}"#;
        let ticket = Caller::with_ticket(serde_json::from_str(ticket).unwrap());
        assert_eq!(ticket.rate_key(), ("acme/~al%2Fice".to_owned(), true));
    }
}
