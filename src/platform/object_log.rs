//! The log of one object: each line says whose it is, a session's also what its storage has cost.

use std::cell::Cell;
use std::rc::Rc;

use serde_json::Value;
use worker::{Env, State};

use super::bindings::storage::Cursor;
use super::console::write_line;
use super::tenants::tenants;
use super::variables::variable;
use crate::ports::{LoggedUsers, ObjectClass, ObjectIdentity};

pub(super) struct ObjectLog {
    identity: ObjectIdentity,
    users: LoggedUsers,
    /// Rows that the object's statements read and wrote since the last line.
    read: Cell<usize>,
    written: Cell<usize>,
}

impl ObjectLog {
    pub(super) fn new(state: &State, env: &Env, class: ObjectClass) -> Rc<Self> {
        let name = state.id().name();
        let identity = match tenants(env).as_ref() {
            Ok(tenants) => tenants.identity(class, name),
            Err(_) => ObjectIdentity::new(class, name),
        };
        // The variable is read for an object that has a user alone.
        let users =
            identity.user().and_then(|_| LoggedUsers::parse(variable(env, "LOG_USERS").as_deref()));
        let users = users.unwrap_or_default();
        Rc::new(Self { identity, users, read: Cell::default(), written: Cell::default() })
    }

    pub(super) fn identity(&self) -> &ObjectIdentity {
        &self.identity
    }

    /// Counts the rows of a statement.
    pub(super) fn count(&self, cursor: &Cursor) {
        self.read.set(self.read.get() + cursor.rows_read() as usize);
        self.written.set(self.written.get() + cursor.rows_written() as usize);
    }

    /// The rows since the last line: read, and written.
    pub(super) fn rows(&self) -> (usize, usize) {
        (self.read.get(), self.written.get())
    }

    pub(super) fn write(&self, mut line: Value) {
        self.identity.sign(&mut line, self.users);
        if let (ObjectClass::Session, Some(members)) = (self.identity.class(), line.as_object_mut())
        {
            members.insert("rows_read".to_owned(), self.read.take().into());
            members.insert("rows_written".to_owned(), self.written.take().into());
        }
        write_line(&line);
    }
}
