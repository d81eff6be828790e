//! What a session's storage has just read or written, so that it is not read again: the object is
//! the only writer of its database. A step that fails forgets all of it, and so does erasing.
//!
//! Architecture Invariant: one session, one turn, one tool list, and of the conversation only what the
//! model has not answered yet.

use std::cell::{Cell, RefCell};

use super::records::{EntryKind, Session, Turn};

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
    /// The ordinal of a turn, and how many transcripts it has.
    pub(super) transcripts: Cell<Option<(u64, u32)>>,
}

/// The end of the conversation; all of it is kept.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    /// The sequence number of the entry before.
    pub(super) after: u64,
    pub(super) entries: Vec<UnansweredEntry>,
}

/// An entry as it was written.
#[derive(Debug)]
pub(super) struct UnansweredEntry {
    pub(super) seq: u64,
    pub(super) turn: u64,
    pub(super) kind: EntryKind,
    /// JSON array.
    pub(super) items: String,
}

impl Memory {
    /// An entry was added to the conversation, `items` being a JSON array.
    pub(super) fn entry_added(&self, seq: u64, turn: u64, kind: EntryKind, items: &str) {
        self.newest_entry.set(Some(seq));
        let mut unanswered = self.unanswered.borrow_mut();
        if kind == EntryKind::Answer {
            *unanswered = Some(Unanswered { after: seq, entries: Vec::new() });
        } else if let Some(unanswered) = unanswered.as_mut() {
            let items = items.to_owned();
            unanswered.entries.push(UnansweredEntry { seq, turn, kind, items });
        }
    }

    /// Forgets everything.
    pub(super) fn forget(&self) {
        self.session.replace(None);
        self.turn.replace(None);
        self.tools.replace(None);
        self.newest_turn.set(None);
        self.newest_entry.set(None);
        self.unanswered.replace(None);
        self.transcripts.set(None);
    }
}
