//! Reading and writing the session: its one row, and the newest turn's, which may hold what has changed since.
//!
//! A turn that begins or ends writes a row of its own in the same step. Where it is the newest one, and the step
//! changes nothing of the session but [`Changes`], the turn's row holds these, and the session's is left unwritten: a
//! plain follow-up turn then writes 5 rows (`tests/turns/rows.rs`), and the storage is billed by rows.
//! [`SessionState::writes`] tells which of the two rows is the newer one.

use serde::{Deserialize, Serialize};

use super::call::OpenCalls;
use super::entry_seq::EntrySeq;
use super::records::{Lease, Session, SessionState, to_json};
use super::schema;
use super::session_store::SessionStore;
use crate::contract::Result;
use crate::ports::{Database, Row, insert, read_row};

/// What a plain turn changes of the session.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Changes {
    updated_at: u64,
    chain_head: Option<String>,
    acknowledged: EntrySeq,
    // The name that form 14 has.
    #[serde(alias = "live_turn")]
    open_turn: Option<u64>,
    state: SessionState,
}

impl Session {
    /// Selects the session's row, what the newest turn has changed of it, and, as `running_turn`, that turn when it
    /// runs.
    pub(super) const SELECT: &str = "SELECT session.*, newest.session_after,
            CASE newest.status WHEN 'running' THEN newest.ordinal END AS running_turn
         FROM session LEFT JOIN turns AS newest
         ON newest.ordinal = (SELECT MAX(ordinal) FROM turns)
         WHERE session.id = 1";

    pub(super) fn from_rows(row: &Row) -> Result<Self> {
        let session = Self::from_own_row(row)?;
        let Some(changes) = row.json::<Option<Changes>>("session_after")? else {
            return Ok(session);
        };
        let is_newer = changes.state.writes > session.state.writes;
        Ok(if is_newer { session.changed(changes) } else { session })
    }

    fn changed(self, changes: Changes) -> Self {
        let Changes { updated_at, chain_head, acknowledged, open_turn, state } = changes;
        Self { updated_at, chain_head, acknowledged, open_turn, state, ..self }
    }

    /// Whether it and another one differ by [`Changes`] at most.
    fn differs_by_changes(&self, other: &Self) -> bool {
        other.clone().changed(Changes::of(self)) == *self
    }

    fn from_own_row(row: &Row) -> Result<Self> {
        let open_calls = match row.get("open_calls_turn")? {
            None => None,
            Some(turn) => Some(OpenCalls { turn, model_call: row.get("open_calls_model_call")? }),
        };
        Ok(read_row!(Self of row {
            session_id, created_at, updated_at, agent_context, conversation_context, mode, client_tools,
            solution_context, solution_context_sent, tools_sent, chain_head, acknowledged,
            open_turn: row.get::<Option<_>>("open_turn")?.or(row.get("running_turn")?),
            open_calls: open_calls,
            state: row.json("state")?,
        }))
    }
}

impl Changes {
    fn of(session: &Session) -> Self {
        Self {
            updated_at: session.updated_at,
            chain_head: session.chain_head.clone(),
            acknowledged: session.acknowledged,
            open_turn: session.open_turn,
            state: session.state.clone(),
        }
    }
}

impl<D: Database> SessionStore<D> {
    /// Saves the session in the step that writes a turn's row. Returns what that row is to hold as `session_after`;
    /// `None` where the session's own row had to be written.
    pub(super) fn save_session_with(&self, session: &Session, turn: u64) -> Result<Option<String>> {
        self.find_tables()?;
        // With the changes, the session as it is known has to be this one.
        let differs_by_changes = |known: &Session| session.differs_by_changes(known);
        let is_told = self.memory.borrow().session.as_ref().is_some_and(differs_by_changes);
        // The row of an older turn is not looked at.
        if !is_told || turn < self.newest_ordinal()? {
            return self.save_session(session).map(|()| None);
        }
        let session = self.written(session)?;
        let after = to_json("session_after", &Changes::of(&session))?;
        self.memory.borrow_mut().session = Some(session);
        Ok(Some(after))
    }

    /// Credentials that were issued before this time are revoked, as far as the session knows; 0 for none.
    pub fn credentials_valid_from(&self) -> Result<u64> {
        // The first read of the session takes the stored time over.
        self.session()?;
        Ok(self.credentials_valid_from.get())
    }

    /// Notes that credentials that were issued earlier are revoked. The next write of the session keeps it.
    pub fn note_credentials_valid_from(&self, at_ms: u64) {
        self.credentials_valid_from.set(self.credentials_valid_from.get().max(at_ms));
        if let Some(session) = &mut self.memory.borrow_mut().session {
            self.keep_credentials_valid_from(session);
        }
    }

    /// Revokes credentials that were issued earlier than a time, durably where the session has a row.
    pub fn revoke(&self, before_ms: u64) -> Result<()> {
        let session = self.session()?;
        self.note_credentials_valid_from(before_ms);
        session.map_or(Ok(()), |session| self.save_session(&session))
    }

    /// Ends the lease of the session, durably, where nobody spends out of it; returns the lease that has ended and may not
    /// have come back yet.
    pub fn end_lease(&self) -> Result<Option<Lease>> {
        let Some(mut session) = self.session()? else { return Ok(None) };
        let Some(lease) = session.state.lease.as_mut() else { return Ok(None) };
        let ended = Lease { used: Some(lease.used(session.state.total_tokens)), ..*lease };
        if *lease != ended {
            *lease = ended;
            self.save_session(&session)?;
        }
        Ok(Some(ended))
    }

    /// Brings the session and this instance to the later one of their times.
    pub(super) fn keep_credentials_valid_from(&self, session: &mut Session) {
        let known = self.credentials_valid_from.get().max(session.state.credentials_valid_from);
        self.credentials_valid_from.set(known);
        session.state.credentials_valid_from = known;
    }

    /// The session as it is about to be written.
    fn written(&self, session: &Session) -> Result<Session> {
        self.find_tables()?;
        // The turn that saves it may have begun before another write, and before the user's object told a later time.
        let mut session = session.clone();
        let of_known = |known: &Session| (known.state.writes, known.updated_at);
        let (writes, used_at) = self.memory.borrow().session.as_ref().map_or((0, 0), of_known);
        session.state.writes = writes.saturating_add(1);
        // By a clock that was set back, its retention would be over as soon as that is right again.
        session.updated_at = session.updated_at.max(used_at);
        self.keep_credentials_valid_from(&mut session);
        Ok(session)
    }

    pub(super) fn save_session(&self, session: &Session) -> Result<()> {
        let session = self.written(session)?;
        insert!(self.database, "REPLACE INTO" session (id = 1) {
            schema_version: schema::SCHEMA.form(),
            session_id: session.session_id.as_str(),
            created_at: session.created_at,
            updated_at: session.updated_at,
            agent_context: session.agent_context.as_str(),
            conversation_context: session.conversation_context.as_str(),
            mode: session.mode.as_str(),
            client_tools: session.client_tools.as_deref(),
            solution_context: session.solution_context.as_deref(),
            solution_context_sent: session.solution_context_sent.as_deref(),
            tools_sent: session.tools_sent.as_deref(),
            chain_head: session.chain_head.as_deref(),
            acknowledged: session.acknowledged.0,
            open_turn: session.open_turn,
            open_calls_turn: session.open_calls.map(|open| open.turn),
            open_calls_model_call: session.open_calls.map(|open| open.model_call),
            state: to_json("state", &session.state)?,
        })?;
        self.memory.borrow_mut().session = Some(session);
        Ok(())
    }
}
