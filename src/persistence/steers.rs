//! Steers: words that a user adds to a turn that runs or waits (interface §14), from their acceptance to their place in
//! the conversation.
//!
//! A steer is accepted while the reasoner holds the turn. The number of accepted ones only grows, so
//! [`SessionStore::save_turn`] keeps the larger one of the reasoner's and this instance's. The words of messages come
//! from the caller.

use super::conversation::array_of;
use super::entry_seq::EntrySeq;
use super::progress::SteerCounts;
use super::records::{EntryKind, Session, Turn, to_json};
use super::schema;
use super::session_store::SessionStore;
use crate::contract::{
    CallerRecord, Result, SteerContent, SteerId, SteerRequest, SteerState, UserWarning,
};
use crate::ports::{Database, Row, insert, read_row};

/// A steer that was accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Steer {
    /// Its place in the order of acceptance, from 0.
    pub position: u32,
    pub steer_id: SteerId,
    /// SHA-256 of its content.
    pub fingerprint: String,
    /// In milliseconds since the epoch.
    pub accepted_at: u64,
    pub caller: CallerRecord,
    /// A model call was dropped for it.
    pub interrupted: bool,
    pub state: SteerState,
    /// Its place in the conversation; `None` until it has one.
    pub seq: Option<EntrySeq>,
    /// When a model call of the turn took it, and which one, from 0.
    pub delivered: Option<(u64, u32)>,
}

/// A steer that is about to be accepted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewSteer<'a> {
    pub(crate) request: &'a SteerRequest,
    /// SHA-256 of its content.
    pub(crate) fingerprint: &'a str,
    pub(crate) caller: &'a CallerRecord,
    /// A model call is dropped for it.
    pub(crate) interrupts: bool,
    /// The length of its request.
    pub(crate) bytes: usize,
    pub(crate) now_ms: u64,
}

/// A steer that has no place in the conversation yet.
pub(crate) struct UnplacedSteer {
    pub(crate) position: u32,
    pub(crate) steer_id: SteerId,
    pub(crate) content: SteerContent,
}

/// The statement of the rows that a [`Steer`] is made of, with what became of its message. Its words are not read.
const STEERS: &str = "SELECT position, steer_id, fingerprint, accepted_at, caller, interrupted,
    steers.seq, delivered_at, model_call, entry_state FROM steers
    LEFT JOIN conversation ON conversation.seq = steers.seq";

impl<D: Database> SessionStore<D> {
    /// Accepts a steer: from here on it is durable.
    pub(crate) fn accept_steer(&self, turn: &mut Turn, new: NewSteer<'_>) -> Result<()> {
        let NewSteer { request, fingerprint, caller, interrupts, bytes, now_ms } = new;
        let steers = &mut turn.progress.steers;
        let position = steers.accepted;
        steers.accepted += 1;
        steers.accepted_bytes = steers.accepted_bytes.saturating_add(bytes as u64);
        self.durable_step(|| {
            self.database.execute(schema::STEERS, &[])?;
            insert!(self.database, "INSERT INTO" steers {
                turn: turn.ordinal,
                position,
                steer_id: request.steer_id.as_str(),
                fingerprint,
                accepted_at: now_ms,
                caller: to_json("caller", caller)?,
                request: self.json_column("request", &request.content)?,
                interrupted: u32::from(interrupts),
            })?;
            self.save_progress(turn)
        })?;
        let steers = turn.progress.steers;
        self.steers_accepted.set((turn.ordinal, steers.accepted, steers.accepted_bytes));
        Ok(())
    }

    /// A steer of a turn by the client's id.
    pub(crate) fn steer(&self, turn: &Turn, id: &SteerId) -> Result<Option<Steer>> {
        if turn.progress.steers.accepted == 0 {
            return Ok(None);
        }
        let statement = format!("{STEERS} WHERE steers.turn = ? AND steer_id = ?");
        let row = self.database.first(&statement, &[turn.ordinal.into(), id.as_str().into()])?;
        row.map(|row| steer(turn, &row)).transpose()
    }

    /// The steers of a turn in the order of acceptance. A turn without any reads no row.
    pub fn steers(&self, turn: &Turn) -> Result<Vec<Steer>> {
        if turn.progress.steers.accepted == 0 {
            return Ok(Vec::new());
        }
        let statement = format!("{STEERS} WHERE steers.turn = ? ORDER BY position");
        let rows = self.database.query(&statement, &[turn.ordinal.into()])?;
        rows.iter().map(|row| steer(turn, row)).collect()
    }

    /// Whether a turn has steers that no model call of it has taken.
    pub(crate) fn owes_steers(&self, turn: &Turn) -> bool {
        self.accepted_steers(turn) > turn.progress.steers.delivered
    }

    /// Whether a turn has steers that have no place in the conversation.
    pub(crate) fn has_unplaced_steers(&self, turn: &Turn) -> bool {
        self.accepted_steers(turn) > turn.progress.steers.placed
    }

    /// The steers of a turn that have no place in the conversation, in the order of acceptance.
    pub(crate) fn unplaced_steers(&self, turn: &Turn) -> Result<Vec<UnplacedSteer>> {
        if !self.has_unplaced_steers(turn) {
            return Ok(Vec::new());
        }
        let statement = "SELECT position, steer_id, request FROM steers
             WHERE turn = ? AND seq IS NULL ORDER BY position";
        let unplaced = |row: &Row| {
            Ok(read_row!(UnplacedSteer of row {
                position, steer_id,
                content: self.json(row, "request")?,
            }))
        };
        self.database.query(statement, &[turn.ordinal.into()])?.iter().map(unplaced).collect()
    }

    /// Puts steers into the conversation, each with its message, one item. The step that it is part of saves the
    /// turn.
    pub(crate) fn place_steers(&self, turn: &mut Turn, messages: Vec<(u32, String)>) -> Result<()> {
        self.take_accepted_steers(turn);
        for (position, item) in messages {
            turn.progress.steers.placed = turn.progress.steers.placed.max(position + 1);
            let seq = self.append(turn.ordinal, EntryKind::Steer, &array_of(item))?;
            self.database.execute(
                "UPDATE steers SET seq = ?, request = NULL WHERE turn = ? AND position = ?",
                &[seq.0.into(), turn.ordinal.into(), position.into()],
            )?;
        }
        Ok(())
    }

    /// Notes that the turn's next model call takes all its steers that are in the conversation. `bytes` are those of the
    /// accepted ones up to there.
    pub(crate) fn deliver_steers(&self, turn: &mut Turn, bytes: u64, now_ms: u64) -> Result<()> {
        let progress = &mut turn.progress;
        progress.steers.delivered = progress.steers.placed;
        progress.steers.delivered_bytes = bytes;
        progress.steers.iterations_before = progress.iterations;
        self.database.execute(
            "UPDATE steers SET delivered_at = ?, model_call = ?
             WHERE turn = ? AND model_call IS NULL AND seq IS NOT NULL",
            &[now_ms.into(), progress.model_calls.into(), turn.ordinal.into()],
        )?;
        self.save_progress(turn)
    }

    /// Takes steers out of the conversation that the model service refused. Where nothing is left to be sent, the
    /// turn's message is added again: a call needs an input.
    pub(crate) fn refuse_steers(
        &self,
        session: &Session,
        turn: &mut Turn,
        refused: &[EntrySeq],
    ) -> Result<()> {
        UserWarning::SteerRefused.add_once(&mut turn.progress.user_warnings);
        self.durable_step(|| {
            self.mark(refused, "withheld")?;
            if self.entries_after(session.acknowledged)?.is_empty()
                && let Some(message) = self.message_of(turn.ordinal)?
            {
                self.append(turn.ordinal, EntryKind::User, &message)?;
            }
            self.save_progress(turn)?;
            self.save_session(session)
        })
    }

    /// Takes the refusal of steers back: they stand in the conversation again, and what was added in their place does not.
    /// `warnings` are those of before.
    pub(crate) fn readmit_steers(
        &self,
        session: &Session,
        turn: &mut Turn,
        refused: &[EntrySeq],
        warnings: Vec<String>,
    ) -> Result<()> {
        turn.progress.user_warnings = warnings;
        self.durable_step(|| {
            let added = self.entries_after(session.acknowledged)?;
            let added: Vec<EntrySeq> = added.iter().map(|entry| entry.seq).collect();
            self.mark(&added, "withheld")?;
            self.mark(refused, "kept")?;
            self.save_progress(turn)?;
            self.save_session(session)
        })
    }

    /// Saves the progress of a turn, and nothing else of it.
    pub(crate) fn save_progress(&self, turn: &mut Turn) -> Result<()> {
        self.take_accepted_steers(turn);
        self.database.execute(
            "UPDATE turns SET progress = ? WHERE ordinal = ?",
            &[self.progress_column(turn)?, turn.ordinal.into()],
        )?;
        self.memory.borrow_mut().remember_progress(turn);
        Ok(())
    }

    /// Takes the steers over that were accepted since the turn was read.
    pub(super) fn take_accepted_steers(&self, turn: &mut Turn) {
        turn.progress.steers = self.count_steers(turn);
    }

    /// How far the steers of a turn are, those included that were accepted since it was read.
    pub(crate) fn count_steers(&self, turn: &Turn) -> SteerCounts {
        let (ordinal, accepted, bytes) = self.steers_accepted.get();
        let known = turn.progress.steers;
        match ordinal == turn.ordinal {
            false => known,
            true => SteerCounts {
                accepted: known.accepted.max(accepted),
                accepted_bytes: known.accepted_bytes.max(bytes),
                ..known
            },
        }
    }

    fn accepted_steers(&self, turn: &Turn) -> u32 {
        self.count_steers(turn).accepted
    }
}

fn steer(turn: &Turn, row: &Row) -> Result<Steer> {
    let entry_state: Option<String> = row.get("entry_state")?;
    let delivered: Option<(u64, u32)> = match row.get("delivered_at")? {
        Some(at) => Some((at, row.get("model_call")?)),
        None => None,
    };
    let state = match (entry_state.as_deref(), delivered) {
        (Some("kept"), Some(_)) => SteerState::Delivered,
        (Some("kept"), None) => SteerState::Kept,
        // Its turn left the conversation, behind a call that has answered it.
        (Some("forgotten"), Some((_, call))) if call < turn.progress.model_calls => {
            SteerState::Delivered
        }
        (Some(_), _) => SteerState::Refused,
        (None, _) if turn.status.is_live() => SteerState::Pending,
        (None, _) => SteerState::Kept,
    };
    Ok(read_row!(Steer of row {
        position, steer_id, fingerprint, accepted_at, seq,
        caller: row.json("caller")?,
        interrupted: row.get::<u8>("interrupted")? != 0,
        state: state,
        delivered: delivered,
    }))
}
