//! What a session's storage has just read or written, so that it is not read again: the object is
//! the only writer of its database. A step that fails forgets all of it, and so does erasing.
//!
//! Architecture Invariant: one session, one turn, one tool list, and of the conversation only a
//! little that the model has not answered yet: the objects of many sessions share their memory.

use std::cell::{Cell, RefCell};

use super::records::{Entry, EntryKind, Session, Turn, from_json};
use crate::contract::Fault;

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
    /// What stands behind the newest answer of the model.
    pub(super) unanswered: RefCell<Option<Unanswered>>,
}

/// The end of the conversation; all of it is kept.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    /// The sequence number of the entry before.
    pub(super) after: u64,
    pub(super) entries: Vec<Entry>,
    /// Of their items.
    bytes: usize,
}

/// The most that is remembered of the conversation, in bytes.
const UNANSWERED_BYTES: usize = 32 * 1024;

impl Memory {
    /// An entry was added to the conversation, `items` being a JSON array.
    pub(super) fn entry_added(
        &self,
        seq: u64,
        turn: u64,
        kind: EntryKind,
        items: &str,
    ) -> Result<(), Fault> {
        self.newest_entry.set(Some(seq));
        let unanswered = match self.unanswered.take() {
            _ if kind == EntryKind::Answer => {
                Some(Unanswered { after: seq, ..Unanswered::default() })
            }
            Some(mut known) if known.bytes + items.len() <= UNANSWERED_BYTES => {
                known.bytes += items.len();
                let items = from_json("items", items)?;
                known.entries.push(Entry { seq, turn, kind, withheld: false, items });
                Some(known)
            }
            Some(_) | None => None,
        };
        self.unanswered.replace(unanswered);
        Ok(())
    }

    /// Forgets everything.
    pub(super) fn forget(&self) {
        self.session.replace(None);
        self.turn.replace(None);
        self.tools.replace(None);
        self.newest_turn.set(None);
        self.newest_entry.set(None);
        self.unanswered.replace(None);
    }
}
