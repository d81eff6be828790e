//! The sender of a request, as the Worker in front knows it.

use super::grants::{ForwardedCaller, Grants};
use super::rights::{Right, Rights};
use crate::contract::{CallerRecord, UserId};
use crate::ports::{object_name, user_name};

/// What stands as the tenant of a key of all tenants, before its request has named one.
pub const ALL_TENANTS: &str = "*";

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
    Key { id: String, may: Rights },
    /// A ticket, by its id.
    Ticket { id: String },
    /// A token of an identity provider, by its issuer.
    Provider { issuer: String },
}

impl Caller {
    /// The caller with an API key, which acts for nobody.
    pub fn with_key(tenant: String, id: String, may: Rights) -> Self {
        let workspaces = if may.has(Right::Workspaces) { None } else { Some(Vec::new()) };
        let grants = Grants { workspaces, ..Grants::default() };
        Self { tenant, credential: Credential::Key { id, may }, user: None, actor: None, grants }
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
            (Credential::Ticket { id } | Credential::Provider { issuer: id }, None) => {
                (format!("{}/{id}", self.tenant), true)
            }
        }
    }

    /// Who it is, as logs, trace and export tell it.
    pub fn record(&self) -> CallerRecord {
        let (user, actor) = (self.user.clone(), self.actor.clone());
        let mut record = CallerRecord { user, actor, ..CallerRecord::default() };
        match &self.credential {
            Credential::Key { id, .. } => record.key = Some(id.clone()),
            Credential::Ticket { id } => record.ticket = Some(id.clone()),
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
        let ticket = Caller { credential: Credential::Ticket { id: "tk".to_owned() }, ..acting };
        assert_eq!(ticket.rate_key(), ("acme/~al%2Fice".to_owned(), true));
    }
}
