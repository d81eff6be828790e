//! The conversation: which entries it has, and their items; and what adds one.
//!
//! Architecture Invariant: no statement returns the items of the whole conversation, which may be longer
//! than the memory. The list of entries has none, and a read returns a few short entries or one part.

use super::entry_seq::EntrySeq;
use super::records::{Entry, EntryKind};
use super::session_store::SessionStore;
use super::texts;
use crate::contract::Result;
use crate::ports::{Database, Row, insert, read_row, unreadable_column};

/// What is lost where the rows of an entry are not whole.
const PART: &str = "a part of the conversation";

/// The most entries of which one statement tells. A row takes ten times the memory of the entry that is made of it, and a long
/// session has hundreds of thousands.
const LISTED_AT_ONCE: usize = 1_000;

impl<D: Database> SessionStore<D> {
    /// The entries of the conversation after `seq`, oldest first. Entries that the model service refused
    /// are left out, except tool outputs.
    pub fn entries_after(&self, seq: EntrySeq) -> Result<Vec<Entry>> {
        if let Some(known) = self.memory.borrow().unsent.as_ref().filter(|known| known.after == seq)
        {
            return Ok(known.entries.iter().map(|(entry, _)| entry.clone()).collect());
        }
        let which = "seq > ? AND kind <> 'stand_in'
             AND (entry_state = 'kept' OR (entry_state = 'withheld' AND kind = 'tool_outputs'))";
        let (mut entries, mut after) = (Vec::new(), seq);
        loop {
            let page = self.list(which, after)?;
            let is_last = page.len() < LISTED_AT_ONCE;
            after = page.last().map_or(after, |entry| entry.seq);
            entries.extend(page);
            if is_last {
                return Ok(entries);
            }
        }
    }

    /// The entry at a place, if it is sent as it is stored.
    pub fn entry(&self, seq: EntrySeq) -> Result<Option<Entry>> {
        Ok(self.list("seq = ? AND entry_state = 'kept'", seq)?.pop())
    }

    fn list(&self, which: &str, seq: EntrySeq) -> Result<Vec<Entry>> {
        let statement = format!(
            "SELECT seq, turn, kind, entry_state, service, OCTET_LENGTH(items) AS bytes,
                COUNT(part) AS kept_parts, SUM(OCTET_LENGTH(text)) AS kept_bytes
             FROM conversation LEFT JOIN texts ON hash = {}
             WHERE {which} GROUP BY seq ORDER BY seq LIMIT ?",
            texts::NAME_IN_ITEMS
        );
        let rows = self.database.query(&statement, &[seq.0.into(), LISTED_AT_ONCE.into()])?;
        rows.iter().map(entry).collect()
    }

    /// The items of some of the entries that [`Self::entries_after`] listed, in their order: of each a JSON
    /// array. The caller sees to it that they are few and short, and stand close together.
    pub fn items(&self, entries: &[&Entry]) -> Result<Vec<String>> {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            return Ok(Vec::new());
        };
        if let Some(known) = &self.memory.borrow().unsent
            && known.after < first.seq
        {
            let items = |entry: &&Entry| {
                let (_, items) = known.entries.iter().find(|(owed, _)| owed.seq == entry.seq)?;
                Some(items.clone())
            };
            if let Some(items) = entries.iter().map(items).collect() {
                return Ok(items);
            }
        }
        let rows = self.database.query(
            "SELECT seq, items FROM conversation WHERE seq BETWEEN ? AND ? ORDER BY seq",
            &[first.seq.0.into(), last.seq.0.into()],
        )?;
        let mut rows = rows.into_iter();
        let items = |entry: &&Entry| {
            let mut found = Err(texts::lost(PART));
            for row in rows.by_ref() {
                if row.get::<EntrySeq>("seq")? == entry.seq {
                    found = texts::from_column(self.database.as_ref(), row.get("items")?);
                    break;
                }
            }
            found
        };
        entries.iter().map(items).collect()
    }

    /// One part of an entry's items, of [`Entry::parts`]: joined, they are a JSON array.
    pub fn items_part(&self, entry: &Entry, part: usize) -> Result<String> {
        if entry.kept_parts == 0 {
            let mut items = self.items(&[entry])?;
            return items.pop().ok_or_else(|| texts::lost(PART));
        }
        let statement = "SELECT text FROM texts JOIN conversation ON hash = SUBSTR(items, 2)
             WHERE seq = ? AND part = ?";
        let text = self.database.text(statement, &[entry.seq.0.into(), part.into()], "text")?;
        text.ok_or_else(|| texts::lost(PART))
    }

    /// Adds an entry to the conversation.
    pub(super) fn append(&self, turn: u64, kind: EntryKind, items: &str) -> Result<EntrySeq> {
        self.append_made(turn, (kind, None), items)
    }

    /// Adds an entry, which the service of another agent context than the session's may have made.
    pub(super) fn append_made(
        &self,
        turn: u64,
        (kind, service): (EntryKind, Option<&str>),
        items: &str,
    ) -> Result<EntrySeq> {
        let EntrySeq(newest) = self.newest_entry()?;
        let seq = EntrySeq(newest + 1);
        let column = texts::to_own_column(self.database.as_ref(), "entry", seq.0, items)?;
        insert!(self.database, "INSERT INTO" conversation (entry_state = "'kept'") {
            seq: seq.0,
            turn,
            kind: kind.as_str(),
            items: column,
            service,
        })?;
        self.memory.borrow_mut().add_entry(seq, turn, kind, items);
        Ok(seq)
    }

    /// Takes entries out of what calls send, `state` says why, or has calls send them again, as `kept`: in a step that saves
    /// the session.
    pub(super) fn mark(&self, entries: &[EntrySeq], state: &str) -> Result<()> {
        self.memory.borrow_mut().unsent = None;
        let statement = "UPDATE conversation SET entry_state = ? WHERE seq = ?";
        entries
            .iter()
            .try_for_each(|seq| self.database.execute(statement, &[state.into(), seq.0.into()]))
    }

    /// The items of the latest message of a user turn, withheld or not: a JSON array.
    pub fn message_of(&self, turn: u64) -> Result<Option<String>> {
        let statement = "SELECT items FROM conversation
             WHERE turn = ? AND kind = 'user' ORDER BY seq DESC LIMIT 1";
        let Some(row) = self.database.first(statement, &[turn.into()])? else { return Ok(None) };
        texts::from_column(self.database.as_ref(), row.get("items")?).map(Some)
    }

    /// Has calls send the latest message of a user turn before the first steer that the model has not got again in its own
    /// place, where it was refused before the model had it: in a step that saves the session. False where calls leave the
    /// message out all the same.
    pub(crate) fn readmit_message(&self, turn: u64, acknowledged: EntrySeq) -> Result<bool> {
        // The message may have been sent once more in the place of refused steers, and been refused like them, or been taken
        // out with their return: such a copy stands behind those steers, and the model has the message itself.
        let statement = "SELECT seq, entry_state FROM conversation
             WHERE turn = ?1 AND kind = 'user' AND seq < IFNULL(
                (SELECT MIN(seq) FROM conversation WHERE turn = ?1 AND kind = 'steer' AND seq > ?2),
                seq + 1)
             ORDER BY seq > ?2 DESC, entry_state = 'kept' DESC, seq DESC LIMIT 1";
        let parameters = [turn.into(), acknowledged.0.into()];
        let Some(row) = self.database.first(statement, &parameters)? else { return Ok(true) };
        if row.get::<String>("entry_state")? == "kept" {
            return Ok(true);
        }
        let seq: EntrySeq = row.get("seq")?;
        if seq > acknowledged {
            self.mark(&[seq], "kept")?;
        }
        Ok(seq > acknowledged)
    }
}

impl Entry {
    /// The number of parts in which its items can be read.
    pub fn parts(&self) -> usize {
        self.kept_parts.max(1)
    }
}

fn entry(row: &Row) -> Result<Entry> {
    Ok(read_row!(Entry of row {
        seq, turn, kind, service, kept_parts,
        withheld: match row.get::<String>("entry_state")?.as_str() {
            "kept" => false,
            "withheld" => true,
            _ => return Err(unreadable_column("entry_state")),
        },
        bytes: match row.get("kept_bytes")? {
            Some(kept) => kept,
            None => row.get("bytes")?,
        },
    }))
}

/// The items of an entry that has one: a JSON array, in the item's own memory because it can be long.
pub(super) fn array_of(item: String) -> String {
    let mut array = item;
    array.reserve_exact(2);
    array.insert(0, '[');
    array.push(']');
    array
}
