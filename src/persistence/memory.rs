//! What was just read from or written to a session's storage, so that it is not read again: the
//! object is the only writer of its database. A step that fails forgets all of it, and so does
//! erasing.
//!
//! Architecture Invariant: it holds one session, one turn, one tool list, and a bounded end of the
//! conversation, because the objects of many sessions share one memory.

use super::entry_seq::EntrySeq;
use super::records::{Entry, EntryKind, Session, Turn};

/// What is known without a query.
#[derive(Default)]
pub(super) struct SessionMemory {
    pub(super) tables: Tables,
    pub(super) session: Option<Session>,
    /// The turn read or written last.
    pub(super) turn: Option<Turn>,
    /// Hash and text of the tool list kept last.
    pub(super) tools: Option<(String, String)>,
    /// Hash and text of the request template kept last.
    pub(super) template: Option<(String, String)>,
    /// The ordinal of the newest turn.
    pub(super) newest_turn: Option<u64>,
    pub(super) newest_entry: Option<EntrySeq>,
    /// Whether [`super::schema::RESPONSES`] is known to be there.
    pub(super) has_responses: bool,
    /// Whether [`super::schema::FORK`] is there, once `tables` is known.
    pub(super) has_fork: bool,
    /// The entries after the newest model output.
    pub(super) unsent: Option<UnsentEntries>,
}

/// Which tables the database has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tables {
    #[default]
    Unknown,
    Absent,
    /// In their present form, with or without [`super::schema::CALL_TABLES`].
    Present {
        calls: bool,
    },
}

/// The end of the conversation that the model service has not received. None of it is withheld.
pub(super) struct UnsentEntries {
    /// The place of the entry before them.
    pub(super) after: EntrySeq,
    /// With their items, of each a JSON array.
    pub(super) entries: Vec<(Entry, String)>,
}

impl UnsentEntries {
    /// Nothing is owed after this entry.
    pub(super) fn none_after(after: EntrySeq) -> Self {
        Self { after, entries: Vec::new() }
    }

    fn bytes(&self) -> usize {
        self.entries.iter().map(|(entry, _)| entry.bytes).sum()
    }
}

/// The most that is remembered of the conversation, in bytes.
const OWED_BYTES: usize = 32 * 1024;

impl SessionMemory {
    /// Remembers a turn whose progress was saved apart, where it is the remembered one.
    pub(super) fn remember_progress(&mut self, turn: &Turn) {
        if let Some(known) = self.turn.as_mut().filter(|known| known.ordinal == turn.ordinal) {
            known.progress.clone_from(&turn.progress);
        }
    }

    /// Remembers an entry that was added to the conversation, `items` being a JSON array.
    pub(super) fn add_entry(&mut self, seq: EntrySeq, turn: u64, kind: EntryKind, items: &str) {
        self.newest_entry = Some(seq);
        self.unsent = match self.unsent.take() {
            _ if kind == EntryKind::ModelOutput => Some(UnsentEntries::none_after(seq)),
            known if kind == EntryKind::SummaryMessage => known,
            Some(mut known) if known.bytes() + items.len() <= OWED_BYTES => {
                let bytes = items.len();
                let entry =
                    Entry { seq, turn, kind, service: None, withheld: false, bytes, kept_parts: 0 };
                known.entries.push((entry, items.to_owned()));
                Some(known)
            }
            Some(_) | None => None,
        };
    }
}
