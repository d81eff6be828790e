//! Background responses (interface §4, Background responses): the one that a turn's model call is reading, and those
//! that the model service is to cancel because nobody reads them any more, each of which is a task.
//!
//! A turn without such responses neither reads nor writes anything here.

use super::SessionStore;
use super::entry_seq::EntrySeq;
use super::progress::PendingResponse;
use super::records::{Session, Turn};
use super::responses::DeletionState;
use crate::contract::{Result, TurnStatus};
use crate::object::TaskKind;
use crate::ports::Database;

impl<D: Database> SessionStore<D> {
    /// Keeps the response that a call of the running turn reads, on top of what is stored of the turn. With
    /// `to_delete`, the response is also one of those that the service is to delete with the session.
    pub(crate) fn keep_pending(
        &self,
        ordinal: u64,
        pending: PendingResponse,
        agent_context: &str,
        to_delete: bool,
    ) -> Result<()> {
        let mut turn = self.turn_at(ordinal)?;
        self.durable_step(|| {
            if to_delete {
                let (id, standing) = (&pending.response_id, DeletionState::Background);
                self.add_response(id, agent_context, standing)?;
            }
            turn.progress.pending = Some(pending);
            self.save_progress(&mut turn)
        })
    }

    /// Notes that so many attempts have gone out behind the pending response of the running turn, or before it, whose own
    /// responses have no id: an instance that is lost from here on leaves them at the service.
    pub(crate) fn note_attempts_without_id(&self, ordinal: u64, attempts: u64) -> Result<()> {
        let mut turn = self.turn_at(ordinal)?;
        let Some(pending) = &mut turn.progress.pending else { return Ok(()) };
        pending.unknown_responses = attempts;
        self.durable_step(|| self.save_progress(&mut turn))
    }

    /// Whether the pending response may be read on: no entry was added to the conversation since, and no steer has
    /// interrupted its call.
    pub(crate) fn reads_pending_on(&self, turn: &Turn) -> Result<bool> {
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
    ) -> Result<()> {
        let was_running = turn.status == TurnStatus::Running;
        if let Some(pending) = &mut turn.progress.pending {
            pending.resumptions = if was_running { pending.resumptions + 1 } else { 0 };
        }
        if !was_running {
            turn.attempts = 1;
            turn.progress.begin_counts_again(now_ms);
            turn.progress.restart_iterations();
        }
        session.run_again(turn, now_ms);
        self.durable_step(|| {
            self.save_turn(turn, None, None, None)?;
            self.save_session(session)
        })
    }

    /// Gives up the pending response of a turn in a step that saves the turn: the service is to cancel it.
    pub(crate) fn give_up_pending(
        &self,
        session: &Session,
        turn: &mut Turn,
        now_ms: u64,
    ) -> Result<()> {
        match turn.progress.pending.take() {
            None => Ok(()),
            Some(pending) => {
                let own = || session.agent_of_turn(turn.ordinal);
                let service = pending.service.unwrap_or_else(own);
                self.tasks.add(TaskKind::Cancel, &pending.response_id, &service, now_ms)
            }
        }
    }

    /// The pending responses of the session's turns, which nobody reads any more when it is erased, with the agent contexts
    /// whose services make them.
    pub(super) fn pending_responses(&self, session: &Session) -> Result<Vec<(String, String)>> {
        let statement = "SELECT ordinal FROM turns WHERE status IN ('running', 'failed')
             AND (progress LIKE '%\"pending\":{%' OR progress LIKE '@%')";
        let mut ids = Vec::new();
        for row in self.database.query(statement, &[])? {
            let ordinal = row.get("ordinal")?;
            let Some(pending) = self.turn_at(ordinal)?.progress.pending else { continue };
            let service = pending.service.unwrap_or_else(|| session.agent_of_turn(ordinal));
            ids.push((pending.response_id, service));
        }
        Ok(ids)
    }

    /// The newest entry of the conversation.
    pub(crate) fn newest_entry(&self) -> Result<EntrySeq> {
        let known = self.memory.borrow().newest_entry;
        match known {
            Some(known) => Ok(known),
            None => self.number("SELECT MAX(seq) AS number FROM conversation", &[]).map(EntrySeq),
        }
    }
}
