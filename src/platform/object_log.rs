//! The log of one object: each line says whose it is, a session's also what its storage has cost.

use std::rc::Rc;

use serde_json::Value;
use worker::{Env, State};

use super::bindings::storage::ObjectStore;
use super::console::write_line;
use super::variables::{tenants, variable};
use crate::ports::{LoggedUsers, ObjectClass, ObjectIdentity};

pub(super) struct ObjectLog {
    pub(super) identity: ObjectIdentity,
    users: LoggedUsers,
    /// Counts the rows that the object's statements read and wrote since the last line.
    store: ObjectStore,
}

impl ObjectLog {
    pub(super) fn new(
        state: &State,
        env: &Env,
        class: ObjectClass,
        store: ObjectStore,
    ) -> Rc<Self> {
        let name = state.id().name();
        let identity = match tenants(env).as_ref() {
            Ok(tenants) => tenants.identity(class, name),
            Err(_) => ObjectIdentity::new(class, name),
        };
        // The variable is read for an object that has a user alone.
        let users =
            identity.user().and_then(|_| LoggedUsers::parse(variable(env, "LOG_USERS").as_deref()));
        let users = users.unwrap_or_default();
        Rc::new(Self { identity, users, store })
    }

    /// The rows since the last line: read, and written.
    pub(super) fn rows(&self) -> (usize, usize) {
        self.counted(false)
    }

    fn counted(&self, resets: bool) -> (usize, usize) {
        match *self.store.counted(resets).as_slice() {
            [read, written] => (read as usize, written as usize),
            _ => (0, 0),
        }
    }

    pub(super) fn write(&self, mut line: Value) {
        self.identity.sign(&mut line, self.users);
        if let (ObjectClass::Session, Some(members)) = (self.identity.class, line.as_object_mut()) {
            let (read, written) = self.counted(true);
            members.insert("rows_read".to_owned(), read.into());
            members.insert("rows_written".to_owned(), written.into());
        }
        write_line(&line);
    }
}
