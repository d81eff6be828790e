//! What a session's storage has just read or written, so that it is not read again: the object is
//! the only writer of its database. A step that fails forgets all of it, and so does erasing.
//!
//! Architecture Invariant: one session, one turn, one tool list; never the conversation.

use std::cell::{Cell, RefCell};

use super::records::{Session, Turn};

/// What is known without asking the database.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The session's row.
    pub(super) session: RefCell<Option<Session>>,
    /// The row of the turn read or written last.
    pub(super) turn: RefCell<Option<Turn>>,
    /// Hash and text of the tool list kept last.
    pub(super) tools: RefCell<Option<(String, String)>>,
    /// The ordinal of the newest turn.
    pub(super) newest_turn: Cell<Option<u64>>,
    /// The sequence number of the newest entry of the conversation.
    pub(super) newest_entry: Cell<Option<u64>>,
}

impl Memory {
    /// Forgets everything.
    pub(super) fn forget(&self) {
        self.session.replace(None);
        self.turn.replace(None);
        self.tools.replace(None);
        self.newest_turn.set(None);
        self.newest_entry.set(None);
    }
}
