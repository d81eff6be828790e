//! Reading and writing the session's one row, and the one case in which it is left unwritten.

use super::lease::Lease;
use super::records::{OpenCalls, Session, from_json, to_json};
use super::schema;
use super::session_store::SessionStore;
use crate::contract::Fault;
use crate::ports::{Database, Row};

impl Session {
    /// Selects the session's row and, as `running_turn`, the newest turn when that runs.
    pub(super) const SELECT: &str = "SELECT session.*, newest.ordinal AS running_turn
         FROM session LEFT JOIN turns AS newest
         ON newest.ordinal = (SELECT MAX(ordinal) FROM turns) AND newest.status = 'running'
         WHERE session.id = 1";

    pub(super) fn from_row(row: &Row) -> Result<Self, Fault> {
        Ok(Self {
            session_id: row.get("session_id")?,
            created_at: row.get("created_at")?,
            updated_at: row.get("updated_at")?,
            agent_context: row.get("agent_context")?,
            conversation_context: row.get("conversation_context")?,
            mode: row.get("mode")?,
            client_tools: row.get("client_tools")?,
            solution_context: row.get("solution_context")?,
            solution_context_sent: row.get("solution_context_sent")?,
            tools_sent: row.get("tools_sent")?,
            chain_head: row.get("chain_head")?,
            acknowledged: row.get("acknowledged")?,
            live_turn: row.get::<Option<_>>("live_turn")?.or(row.get("running_turn")?),
            open_calls: match row.get("open_calls_turn")? {
                None => None,
                Some(turn) => {
                    Some(OpenCalls { turn, model_call: row.get("open_calls_model_call")? })
                }
            },
            state: from_json("state", &row.get::<String>("state")?)?,
        })
    }
}

impl<D: Database> SessionStore<D> {
    /// Makes the turn that has just begun the session's live turn.
    ///
    /// When nothing else of the session has changed, its row is left unwritten: the turn row already
    /// says `running`, and [`Session::SELECT`] reads it there. A plain follow-up turn then writes 6
    /// rows instead of 7 (`tests/turns/rows.rs`), and the storage is billed by rows written.
    pub(super) fn save_begun(
        &self,
        session: &mut Session,
        turn: u64,
        now_ms: u64,
    ) -> Result<(), Fault> {
        let unchanged = self.memory.borrow().session.as_ref() == Some(&*session);
        session.live_turn = Some(turn);
        session.updated_at = now_ms;
        if !unchanged {
            return self.save_session(session);
        }
        self.memory.borrow_mut().session = Some(session.clone());
        Ok(())
    }

    /// Before which time credentials were issued that are void, as far as the session knows; 0 for none.
    pub fn tickets_before(&self) -> Result<u64, Fault> {
        // The first read of the session takes the stored time over.
        self.session()?;
        Ok(self.tickets_before.get())
    }

    /// Notes that credentials that were issued before are void. The next write of the session's row keeps it.
    pub fn note_tickets_before(&self, at_ms: u64) {
        self.tickets_before.set(self.tickets_before.get().max(at_ms));
        if let Some(session) = &mut self.memory.borrow_mut().session {
            self.keep_tickets_before(session);
        }
    }

    /// Makes credentials void that were issued before, durably where the session has a row.
    pub fn revoke(&self, before_ms: u64) -> Result<(), Fault> {
        let session = self.session()?;
        self.note_tickets_before(before_ms);
        session.map_or(Ok(()), |session| self.save_session(&session))
    }

    /// Ends the lease of the session, durably, where nobody spends out of it; returns the lease that has ended and may not
    /// have come back yet.
    pub fn end_lease(&self) -> Result<Option<Lease>, Fault> {
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
    pub(super) fn keep_tickets_before(&self, session: &mut Session) {
        let known = self.tickets_before.get().max(session.state.tickets_before);
        self.tickets_before.set(known);
        session.state.tickets_before = known;
    }

    pub(super) fn save_session(&self, session: &Session) -> Result<(), Fault> {
        // The turn that saves it may have begun before the user's object told a later time.
        let mut session = session.clone();
        self.keep_tickets_before(&mut session);
        self.database.execute(
            "REPLACE INTO session (id, schema_version, session_id, created_at, updated_at,
                agent_context, conversation_context, mode, client_tools, solution_context,
                solution_context_sent, tools_sent, chain_head, acknowledged, live_turn,
                open_calls_turn, open_calls_model_call, state)
             VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            &[
                schema::VERSION.into(),
                session.session_id.as_str().into(),
                session.created_at.into(),
                session.updated_at.into(),
                session.agent_context.as_str().into(),
                session.conversation_context.as_str().into(),
                session.mode.as_str().into(),
                session.client_tools.as_deref().into(),
                session.solution_context.as_deref().into(),
                session.solution_context_sent.as_deref().into(),
                session.tools_sent.as_deref().into(),
                session.chain_head.as_deref().into(),
                session.acknowledged.0.into(),
                session.live_turn.into(),
                session.open_calls.map(|open| open.turn).into(),
                session.open_calls.map(|open| open.model_call).into(),
                to_json("state", &session.state)?.into(),
            ],
        )?;
        self.memory.borrow_mut().session = Some(session);
        Ok(())
    }
}
