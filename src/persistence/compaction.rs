//! Compaction (interface §10) changes what calls send of a conversation. Entries are never changed, so
//! storage, export and replays keep the whole conversation.

use super::conversation::array_of;
use super::entry_seq::EntrySeq;
use super::records::{Entry, EntryKind, Session, Turn};
use super::session_store::SessionStore;
use super::window::{CompactionRecord, Window};
use crate::contract::Result;
use crate::ports::Database;

/// Notes the window by which the conversation is sent from here on.
pub(super) fn note_window(
    session: &mut Session,
    turn: &mut Turn,
    record: CompactionRecord,
    window: Window,
) {
    let progress = &mut turn.progress;
    let before = || session.state.window.clone();
    progress.window_before.get_or_insert_with(before);
    progress.compactions.push(record);
    let present = &mut session.state.window;
    let Window { system_message, rung, turn, .. } = *present;
    let service = present.service.take();
    *present = Window { system_message, rung, turn, service, ..window };
    session.state.window_moved = true;
}

/// Brings back what the turn's compactions left out. What the model service refused stays out.
pub(crate) fn take_compactions_back(session: &mut Session, turn: &mut Turn) {
    if let Some(before) = turn.progress.window_before.take() {
        let rung = session.state.window.rung;
        session.state.window.go_back_to(Window { rung, ..before });
    }
}

impl<D: Database> SessionStore<D> {
    /// Records that the conversation is sent by another window, with its summary message, one item, JSON; `None` when it
    /// stays as it was. The turn keeps the window that it began with.
    pub(crate) fn record_compaction(
        &self,
        session: &mut Session,
        turn: &mut Turn,
        record: CompactionRecord,
        mut window: Window,
        summary_message: Option<String>,
        now_ms: u64,
    ) -> Result<()> {
        turn.updated_at = now_ms;
        session.updated_at = now_ms;
        self.durable_step(|| {
            if let Some(message) = summary_message {
                let items = array_of(message);
                window.summary_message =
                    Some(self.append(turn.ordinal, EntryKind::SummaryMessage, &items)?);
            }
            note_window(session, turn, record, window);
            // The chain holds all that was too long.
            session.drop_chain();
            self.save_turn(turn, None, None, None)?;
            self.save_session(session)
        })
    }

    /// The entries that a window sends as they are, oldest first; the system message is not among them.
    pub fn entries_in(&self, window: &Window) -> Result<Vec<Entry>> {
        let mut entries = self.entries_after(window.from.before())?;
        entries.retain(|entry| entry.kind != EntryKind::System);
        Ok(entries)
    }

    /// The boot prompt's message, with which a window begins.
    pub fn boot_message(&self, window: &Window) -> Result<Option<Entry>> {
        let place = window.system_message.unwrap_or(EntrySeq::FIRST);
        Ok(self.entry(place)?.filter(|entry| entry.kind == EntryKind::System))
    }

    /// Takes a turn out of the conversation, which was too long even with nothing but this turn. What its
    /// compactions left out comes back. A chain that holds an output of the turn ends.
    pub fn leave_out_turn(&self, session: &mut Session, turn: &mut Turn) -> Result<()> {
        take_compactions_back(session, turn);
        // This statement looks through the conversation, and only a turn that does not fit alone runs it.
        let its_own = "SELECT seq, kind FROM conversation
             WHERE turn = ? AND entry_state <> 'forgotten' AND kind NOT IN ('system', 'stand_in')
                AND (kind <> 'steer' OR entry_state = 'kept')";
        let mut entries = Vec::new();
        for entry in self.database.query(its_own, &[turn.ordinal.into()])? {
            entries.push(entry.get("seq")?);
            if entry.get::<EntryKind>("kind")? == EntryKind::ModelOutput {
                session.drop_chain();
            }
        }
        // The solution context may be in its message, so the next turn shows it again.
        session.solution_context_sent = None;
        self.durable_step(|| {
            self.mark(&entries, "forgotten")?;
            self.save_turn(turn, None, None, None)?;
            self.save_session(session)
        })
    }
}
