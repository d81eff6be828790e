//! The objects of a deployment: their classes, their names, and what one asks of another.

use serde_json::Value;

/// The classes of Durable Objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectClass {
    /// One object per session.
    Session,
    /// One object per workspace.
    Workspace,
    /// One object per MCP server and tenant.
    McpLists,
}

/// Which object it is.
#[derive(Clone, Debug)]
pub struct ObjectIdentity {
    class: ObjectClass,
    /// `None` where the machine does not know it.
    name: Option<String>,
}

impl ObjectIdentity {
    /// The object of that class and name, `{tenant}/{id}`. A tenant has no `/`; an id may have some.
    pub fn new(class: ObjectClass, name: Option<String>) -> Self {
        Self { class, name }
    }

    /// Its class.
    pub fn class(&self) -> ObjectClass {
        self.class
    }

    /// The tenant that it belongs to.
    pub fn tenant(&self) -> Option<&str> {
        self.tenant_and_id().map(|(tenant, _)| tenant)
    }

    /// Adds to a line of the log whose it is: `tenant`, and `session`, `workspace` or `server`.
    pub fn sign(&self, line: &mut Value) {
        let kind = match self.class {
            ObjectClass::Session => "session",
            ObjectClass::Workspace => "workspace",
            ObjectClass::McpLists => "server",
        };
        if let (Some((tenant, id)), Some(members)) = (self.tenant_and_id(), line.as_object_mut()) {
            members.insert("tenant".to_owned(), tenant.into());
            members.insert(kind.to_owned(), id.into());
        }
    }

    fn tenant_and_id(&self) -> Option<(&str, &str)> {
        self.name.as_deref()?.split_once('/')
    }
}

/// What an object asks of another one. No client can ask it: its path is no endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectQuestion {
    /// A search of a workspace's index. The object's name is `{tenant}/{WorkspaceId}`.
    Search,
    /// The tools of an MCP server, whose key in the catalog is the body. The object's name is `{tenant}/{key}`.
    Tools,
}

impl ObjectQuestion {
    /// The class of the object that is asked.
    pub fn class(self) -> ObjectClass {
        match self {
            Self::Search => ObjectClass::Workspace,
            Self::Tools => ObjectClass::McpLists,
        }
    }

    /// The path of its URL.
    pub fn path(self) -> &'static str {
        match self {
            Self::Search => "/index/search",
            Self::Tools => "/mcp/tools",
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
            (ObjectClass::McpLists, "server"),
        ] {
            let mut line = json!({ "event": "e" });
            ObjectIdentity::new(class, None).sign(&mut line);
            assert_eq!(line, json!({ "event": "e" }));
            ObjectIdentity::new(class, Some("acme/a/b".to_owned())).sign(&mut line);
            assert_eq!(line, json!({ "event": "e", "tenant": "acme", kind: "a/b" }));
        }
    }
}
