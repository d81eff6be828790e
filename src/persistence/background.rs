//! Background responses (interface §4, Background responses): the one that a turn's model call is reading, and those
//! that the model service is to cancel because nobody reads them any more.
//!
//! A turn without such responses neither reads nor writes anything here.

use super::SessionStore;
use super::entry_seq::EntrySeq;
use super::pending_response::PendingResponse;
use super::records::{Session, Turn};
use super::schema::CANCELS;
use crate::contract::{Fault, TurnStatus};
use crate::ports::{Database, Row};

/// How often the model service is asked to cancel a response: at once, and three times by the alarm.
const MAX_ATTEMPTS: u32 = 4;

/// A response that is to be cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cancel {
    pub(crate) response_id: String,
    /// The agent context, and with it the model service, that it was made under.
    pub(crate) agent_context: String,
    /// Those so far.
    pub(crate) attempts: u32,
}

impl<D: Database> SessionStore<D> {
    /// Keeps the response that a call of the running turn reads, on top of what is stored of the turn. With
    /// `to_delete`, the response is also one of those that the service is to delete with the session.
    pub(crate) fn keep_pending(
        &self,
        ordinal: u64,
        pending: PendingResponse,
        agent_context: &str,
        to_delete: bool,
    ) -> Result<(), Fault> {
        let mut turn = self.turn_at(ordinal)?;
        self.durable_step(|| {
            if to_delete {
                self.keep_response(&pending.response_id, agent_context)?;
            }
            turn.progress.pending = Some(pending);
            self.save_progress(&mut turn)
        })
    }

    /// Whether the pending response may be read on: no entry was added to the conversation since, and no steer has
    /// interrupted its call.
    pub(crate) fn reads_pending_on(&self, turn: &Turn) -> Result<bool, Fault> {
        let Some(pending) = &turn.progress.pending else { return Ok(false) };
        if EntrySeq(pending.newest_entry) != self.newest_entry()? {
            return Ok(false);
        }
        let steers = self.steers(turn)?;
        Ok(steers.iter().all(|steer| steer.seq.is_some() || !steer.interrupted))
    }

    /// Begins to read the pending response of a turn again that failed, or lost its instance.
    pub(crate) fn begin_resumption(
        &self,
        session: &mut Session,
        turn: &mut Turn,
        now_ms: u64,
    ) -> Result<(), Fault> {
        let was_running = turn.status == TurnStatus::Running;
        if let Some(pending) = &mut turn.progress.pending {
            pending.resumptions = if was_running { pending.resumptions + 1 } else { 0 };
        }
        if !was_running {
            turn.attempts = 1;
            turn.progress.begin_counts_again(now_ms);
            turn.progress.restart_iterations();
        }
        turn.status = TurnStatus::Running;
        turn.updated_at = now_ms;
        session.live_turn = Some(turn.ordinal);
        session.updated_at = now_ms;
        self.durable_step(|| {
            self.save_turn(turn, None, None, None)?;
            if was_running { Ok(()) } else { self.save_session(session) }
        })
    }

    /// Gives up the pending response of a turn in a step that saves the turn: the service is to cancel it.
    pub(crate) fn give_up_pending(
        &self,
        session: &Session,
        turn: &mut Turn,
        now_ms: u64,
    ) -> Result<(), Fault> {
        match turn.progress.pending.take() {
            None => Ok(()),
            Some(pending) => self.add_cancel(&pending.response_id, &session.agent_context, now_ms),
        }
    }

    /// Has the service cancel a response.
    pub(crate) fn add_cancel(
        &self,
        response_id: &str,
        agent_context: &str,
        now_ms: u64,
    ) -> Result<(), Fault> {
        if !self.has_cancels_table()? {
            self.database.execute(CANCELS, &[])?;
            self.memory.borrow_mut().has_cancels = true;
        }
        self.database.execute(
            "INSERT OR IGNORE INTO cancels (response_id, agent_context, attempts, next_at)
             VALUES (?, ?, 0, ?)",
            &[response_id.into(), agent_context.into(), now_ms.into()],
        )
    }

    /// The responses that the service is to be asked to cancel by now.
    pub(crate) fn due_cancels(&self, now_ms: u64) -> Result<Vec<Cancel>, Fault> {
        if !self.has_cancels_table()? {
            return Ok(Vec::new());
        }
        let cancel = |row: &Row| {
            Ok(Cancel {
                response_id: row.get("response_id")?,
                agent_context: row.get("agent_context")?,
                attempts: row.get("attempts")?,
            })
        };
        let statement = "SELECT * FROM cancels WHERE next_at <= ? ORDER BY response_id LIMIT 100";
        self.database.query(statement, &[now_ms.into()])?.iter().map(cancel).collect()
    }

    /// When the next response is to be cancelled; `None` where none is.
    pub(crate) fn next_cancel_at(&self) -> Result<Option<u64>, Fault> {
        if !self.has_cancels_table()? {
            return Ok(None);
        }
        let statement = "SELECT next_at FROM cancels ORDER BY next_at LIMIT 1";
        let row = self.database.first(statement, &[])?;
        row.map(|row| row.get("next_at")).transpose()
    }

    /// Notes that a response is cancelled, or, with a time, when the service is asked again. False where it has been
    /// asked often enough and the response is given up.
    pub(crate) fn settle_cancel(
        &self,
        cancel: &Cancel,
        again_at: Option<u64>,
    ) -> Result<bool, Fault> {
        let attempts = cancel.attempts.saturating_add(1);
        let id = cancel.response_id.as_str();
        match again_at.filter(|_| attempts < MAX_ATTEMPTS) {
            Some(again_at) => {
                let again = "UPDATE cancels SET attempts = ?, next_at = ? WHERE response_id = ?";
                self.database.execute(again, &[attempts.into(), again_at.into(), id.into()])?;
            }
            None => {
                self.database.execute("DELETE FROM cancels WHERE response_id = ?", &[id.into()])?
            }
        }
        Ok(again_at.is_none() || attempts < MAX_ATTEMPTS)
    }

    /// The pending responses of the session's turns, which nobody reads any more when it is erased.
    pub(super) fn pending_responses(&self) -> Result<Vec<String>, Fault> {
        let statement = "SELECT ordinal FROM turns WHERE status IN ('running', 'failed')
             AND progress LIKE '%\"pending\":{%'";
        let mut ids = Vec::new();
        for row in self.database.query(statement, &[])? {
            ids.extend(self.turn_at(row.get("ordinal")?)?.progress.pending);
        }
        Ok(ids.into_iter().map(|pending| pending.response_id).collect())
    }

    /// The newest entry of the conversation.
    pub(crate) fn newest_entry(&self) -> Result<EntrySeq, Fault> {
        let known = self.memory.borrow().newest_entry;
        match known {
            Some(known) => Ok(known),
            None => self.number("SELECT MAX(seq) AS number FROM conversation").map(EntrySeq),
        }
    }

    fn has_cancels_table(&self) -> Result<bool, Fault> {
        self.find_tables()?;
        Ok(self.memory.borrow().has_cancels)
    }
}
