//! The objects of a deployment: their classes, their names, and what one asks of another.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

use super::logged_users::LoggedUsers;
use crate::contract::{UserId, closed_list};
use crate::encoding::Jurisdiction;

closed_list! {
    /// The classes of Durable Objects, by the bindings of the deployment.
    pub enum ObjectClass {
        /// One object per session.
        Session = "SESSIONS",
        /// One object per user.
        User = "USERS",
        /// One object per workspace.
        Workspace = "WORKSPACES",
        /// One object per MCP server and tenant, or user where the server is told the user.
        McpList = "MCP_LISTS",
        /// One object per address of an identity provider's keys, which belongs to no tenant.
        KeySet = "KEY_SETS",
    }
}

/// The name of an object: `{tenant}/{id}`, or `{tenant}/~{user, percent-encoded}/{id}` for what a user owns. A
/// tenant has no `/` and no `SessionId` has a `~`, so no two owners can name the same object (interface §13).
pub fn object_name(tenant: &str, user: Option<&UserId>, id: &str) -> String {
    match user {
        None => format!("{tenant}/{id}"),
        Some(user) => format!("{}/{id}", user_name(tenant, user)),
    }
}

/// The name of a user in the whole deployment: `{tenant}/~{user, percent-encoded}`.
pub fn user_name(tenant: &str, user: &UserId) -> String {
    format!("{tenant}/~{}", utf8_percent_encode(user.as_str(), NON_ALPHANUMERIC))
}

/// Which object it is.
#[derive(Clone, Debug)]
pub struct ObjectIdentity {
    pub class: ObjectClass,
    /// `None` where the machine does not know it.
    owned: Option<Owned>,
    /// The one to which it is held, if any.
    pub jurisdiction: Option<Jurisdiction>,
}

/// Whose an object is, and its id among what the owner has.
#[derive(Clone, Debug)]
struct Owned {
    /// The name by which others ask for it.
    name: String,
    tenant: String,
    user: Option<UserId>,
    id: String,
}

impl ObjectIdentity {
    /// The object of that class and name.
    pub fn new(class: ObjectClass, name: Option<String>) -> Self {
        let owned = name.and_then(|name| {
            let (tenant, rest) = name.split_once('/')?;
            let (user, id) = match class {
                ObjectClass::Session | ObjectClass::McpList => {
                    rest.split_once('/').map_or((None, rest), |(user, id)| {
                        (user.strip_prefix('~').and_then(user_of), id)
                    })
                }
                ObjectClass::User => (rest.strip_prefix('~').and_then(user_of), ""),
                ObjectClass::Workspace | ObjectClass::KeySet => (None, rest),
            };
            Some(Owned { tenant: tenant.to_owned(), user, id: id.to_owned(), name })
        });
        Self { class, owned, jurisdiction: None }
    }

    /// The same object, held to a jurisdiction.
    pub fn within(self, jurisdiction: Option<Jurisdiction>) -> Self {
        Self { jurisdiction, ..self }
    }

    /// The name by which others ask for it; `None` where the machine does not know it.
    pub fn name(&self) -> Option<&str> {
        self.owned.as_ref().map(|owned| owned.name.as_str())
    }

    /// The tenant that it belongs to.
    pub fn tenant(&self) -> Option<&str> {
        self.owned.as_ref().map(|owned| owned.tenant.as_str())
    }

    /// The user that it belongs to; `None` for what is the tenant's own.
    pub fn user(&self) -> Option<&UserId> {
        self.owned.as_ref()?.user.as_ref()
    }

    /// Adds to a line of the log whose it is: `tenant`, `jurisdiction` where it is held to one, `user` as `users` says,
    /// and `session`, `workspace` or `server`.
    pub fn sign(&self, line: &mut Value, users: LoggedUsers) {
        let kind = match self.class {
            ObjectClass::Session => Some("session"),
            ObjectClass::User => None,
            ObjectClass::Workspace => Some("workspace"),
            ObjectClass::McpList => Some("server"),
            // Its name is a hash, and names no tenant.
            ObjectClass::KeySet => None,
        };
        if let (Some(owned), Some(members)) = (&self.owned, line.as_object_mut()) {
            members.insert("tenant".to_owned(), owned.tenant.as_str().into());
            if let Some(jurisdiction) = self.jurisdiction {
                members.insert("jurisdiction".to_owned(), jurisdiction.as_str().into());
            }
            if let Some(user) = owned.user.as_ref().and_then(|user| users.name(&owned.tenant, user))
            {
                members.insert("user".to_owned(), user.into());
            }
            if let Some(kind) = kind {
                members.insert(kind.to_owned(), owned.id.as_str().into());
            }
        }
    }
}

fn user_of(encoded: &str) -> Option<UserId> {
    UserId::parse(&percent_decode_str(encoded).decode_utf8().ok()?)
}

closed_list! {
    /// What an object asks of another one, by the path of the request. No client can ask it: its path is no endpoint.
    pub enum ObjectQuestion {
        /// A search of a workspace's index. The object's name is `{tenant}/{WorkspaceId}`.
        Search = "/index/search",
        /// The tools of an MCP server: `mcp::ToolListQuestion`. The object's name is `{tenant}/{key}`, `key` being the
        /// server's in the catalog, or `{tenant}/~{user}/{key}` for a server that is told the user.
        Tools = "/mcp/tools",
        /// The public keys of an identity provider. The object's name is the SHA-256 of their address.
        Keys = "/identity/keys",
        /// A session without a row asks its user's object to register it: `users::Registration`. The object's name is
        /// `{tenant}/~{user}`.
        Register = "/user/register",
        /// A session tells its user's object what the list shows of it: `users::SessionNews`.
        Report = "/user/report",
        /// A session asks its user's object for tokens: `users::LeaseQuestion`.
        Lease = "/user/lease",
        /// Whoever lets a user's credential in asks the user's object which are revoked; the reply is a `users::Revocation`.
        Revoked = "/user/revoked",
        /// A user's object asks a session what the list shows of it: `users::SummaryQuestion`. The session's name is
        /// `{tenant}/~{user}/{SessionId}`.
        Summary = "/session/summary",
        /// A user's object has a session erase itself: `users::EraseQuestion`.
        Erase = "/session/erase",
        /// A user's object lets a session forget the receipt of its erasure: `users::Collection`.
        Collected = "/session/collected",
        /// A user's object revokes credentials for a session: `users::Revocation`.
        Revoke = "/session/revoke",
        /// A session has the object of a new one become a fork of it. The body is that of `entry`'s questions, as is the next.
        Fork = "/session/fork",
        /// A fork asks its parent for a part of itself.
        ForkPart = "/session/part",
    }
}

impl ObjectQuestion {
    /// The class of the object that is asked.
    pub fn class(self) -> ObjectClass {
        match self {
            Self::Search => ObjectClass::Workspace,
            Self::Tools => ObjectClass::McpList,
            Self::Keys => ObjectClass::KeySet,
            Self::Register | Self::Report | Self::Lease | Self::Revoked => ObjectClass::User,
            Self::Summary
            | Self::Erase
            | Self::Collected
            | Self::Revoke
            | Self::Fork
            | Self::ForkPart => ObjectClass::Session,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_of_the_log_says_whose_it_is_where_the_object_s_name_is_known() {
        for (class, kind) in [
            (ObjectClass::Session, "session"),
            (ObjectClass::Workspace, "workspace"),
            (ObjectClass::McpList, "server"),
        ] {
            let mut line = json!({ "event": "e" });
            ObjectIdentity::new(class, None).sign(&mut line, LoggedUsers::Plain);
            assert_eq!(line, json!({ "event": "e" }));
            ObjectIdentity::new(class, Some("acme/a".to_owned()))
                .sign(&mut line, LoggedUsers::Plain);
            assert_eq!(line, json!({ "event": "e", "tenant": "acme", kind: "a" }));
        }
    }

    #[test]
    fn a_session_says_which_user_owns_it_and_a_workspace_s_id_may_look_like_one() {
        for name in ["alice", "a/b", "~", "%2F", "\u{202e}ü"] {
            let user = UserId::parse(name).unwrap();
            let object = object_name("acme", Some(&user), "s1");
            assert_ne!(object, object_name("acme", None, "s1"));
            let identity = ObjectIdentity::new(ObjectClass::Session, Some(object));
            assert_eq!(identity.tenant(), Some("acme"));
            assert_eq!(identity.user(), Some(&user));
            let mut line = json!({});
            identity.sign(&mut line, LoggedUsers::Plain);
            assert_eq!(line, json!({ "tenant": "acme", "user": name, "session": "s1" }));
        }
        let workspace = ObjectIdentity::new(ObjectClass::Workspace, Some("acme/~a/b".to_owned()));
        assert_eq!(workspace.user(), None);
    }
}
