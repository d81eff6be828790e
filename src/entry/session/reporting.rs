//! What a session of a user tells the user's object of itself (interface §13): when its alarm rings and something that
//! the list shows has changed, and when a turn pauses. A report that is lost goes with the next one.

use super::session_host::SessionHost;
use crate::catalog::APPROVE_TOOL;
use crate::contract::{Fault, Result, ToolCall, TurnStatus};
use crate::encoding::timestamp;
use crate::json::{Node, first_member};
use crate::object::ask;
use crate::persistence::Lease;
use crate::ports::{Database, Platform, failure_line, user_name};
use crate::reasoner::pending_calls;
use crate::users::{EndedLease, Revocation, SessionNews, SessionStatus, SessionSummary, Waiting};

/// The failures in a row after which a session waits for its next turn before it reports again.
const MOST_FAILURES: u32 = 10;

/// The most names of waiting tools in a report.
const MOST_TOOLS: usize = 20;

/// A session of the tenant's own tells nothing.
impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// The name of the object of the session's user; `None` for a session of the tenant's own.
    pub(super) fn user_object(&self) -> Option<String> {
        Some(user_name(self.platform.tenant()?, self.platform.user()?))
    }

    /// What the list shows of the session; `None` before its first turn.
    pub(super) fn summary(&self) -> Result<Option<SessionSummary>> {
        let Some(session) = self.store.session()? else { return Ok(None) };
        let newest = self.store.newest_ordinal()?;
        let turn = self.store.turn_at(session.open_turn.unwrap_or(newest))?;
        let calls = pending_calls(&self.store, &session, &turn)?;
        let status = match turn.status {
            TurnStatus::Running => SessionStatus::Running,
            TurnStatus::AwaitingTools if calls.iter().any(is_question) => {
                SessionStatus::AwaitingApproval
            }
            TurnStatus::AwaitingTools => SessionStatus::AwaitingTools,
            TurnStatus::Failed => SessionStatus::Failed,
            TurnStatus::Completed | TurnStatus::Aborted => SessionStatus::Idle,
        };
        let is_paused = turn.status == TurnStatus::AwaitingTools;
        let waiting = is_paused.then(|| Waiting {
            since: timestamp(turn.updated_at),
            tools: calls.iter().take(MOST_TOOLS).map(tool_of).collect(),
            turn_id: turn.turn_id,
        });
        Ok(Some(SessionSummary {
            incarnation: session.state.incarnation,
            created_at: session.created_at,
            active_at: session.updated_at,
            status,
            mode: session.mode,
            turns: newest,
            tokens: session.state.total_tokens,
            title: session.state.title.unwrap_or_default(),
            waiting,
        }))
    }

    /// Tells what has changed. Returns whether it should be tried again soon.
    pub(super) async fn report(&self) -> Result<bool> {
        if self.platform.user().is_none() {
            return Ok(false);
        }
        let Some(summary) = self.summary()? else { return Ok(false) };
        let ended_lease = self.ended_lease(&summary)?;
        if self.told.summary.borrow().as_ref() == Some(&summary) && ended_lease.is_none() {
            return Ok(false);
        }
        let is_told = self.tell(summary, false, ended_lease).await?;
        let failures = if is_told { 0 } else { self.told.failures.get().saturating_add(1) };
        self.told.failures.set(failures);
        Ok((1..MOST_FAILURES).contains(&failures))
    }

    /// Tells at once that a turn waits for its client.
    pub(super) async fn report_pause(&self) -> Result<()> {
        if self.platform.user().is_none() {
            return Ok(());
        }
        match self.summary()?.filter(|summary| summary.waiting.is_some()) {
            // The alarm tells it where this is lost.
            Some(summary) => self.tell(summary, false, None).await.map(|_| ()),
            None => Ok(()),
        }
    }

    /// Asks to be erased, because the session's retention is over. False where the user's object did not hear it.
    pub(super) async fn report_expiry(&self) -> Result<bool> {
        match self.summary()? {
            Some(summary) => self.tell(summary, true, None).await,
            None => Ok(true),
        }
    }

    /// Logs a report to the user's object that failed.
    pub(super) fn log_failed_report(&self, fault: &Fault) {
        self.platform.log(failure_line("report_failed", "warn", fault));
    }

    /// Ends the lease of an idle session: its unspent tokens return to the user's budget.
    fn ended_lease(&self, summary: &SessionSummary) -> Result<Option<EndedLease>> {
        if summary.status == SessionStatus::Running {
            return Ok(None);
        }
        Ok(self.end_lease()?.map(|lease| EndedLease::of(&lease, summary.tokens)))
    }

    /// Gives the lease of a session back that is about to be erased: what it has spent stays spent.
    pub(super) async fn give_lease_back(&self) -> Result<()> {
        let Some(lease) = self.end_lease()? else { return Ok(()) };
        let Some(summary) = self.summary()? else { return Ok(()) };
        let ended = EndedLease::of(&lease, summary.tokens);
        match self.tell(summary, false, Some(ended)).await? {
            true => Ok(()),
            false => Err(Fault::internal(
                "The user's tokens could not be counted, so nothing was erased. Send the same request again.",
            )),
        }
    }

    /// The lease of the session, of which nobody spends any more, unless it has been given back.
    fn end_lease(&self) -> Result<Option<Lease>> {
        Ok(self.store.end_lease()?.filter(|lease| lease.id != self.told.given_back.get()))
    }

    async fn tell(
        &self,
        summary: SessionSummary,
        expired: bool,
        ended_lease: Option<EndedLease>,
    ) -> Result<bool> {
        let (Some(object), Some(session)) = (self.user_object(), self.store.session()?) else {
            return Ok(true);
        };
        let report = SessionNews { session_id: session.session_id, summary, expired, ended_lease };
        let reply = ask(self.platform.as_ref(), &object, &report).await;
        let Ok(Revocation { credentials_valid_from }) = reply else { return Ok(false) };
        self.store.note_credentials_valid_from(credentials_valid_from);
        self.told.summary.replace(Some(report.summary));
        if let Some(ended) = ended_lease {
            self.told.given_back.set(ended.id);
        }
        Ok(true)
    }
}

/// Whether a human is asked.
fn is_question(call: &ToolCall) -> bool {
    call.name == APPROVE_TOOL
}

/// The tool that a call is for; of a question, the one that it is about.
fn tool_of(call: &ToolCall) -> String {
    let asked = || {
        // Not as a tree: the model's arguments stand in it, too.
        let name = Node::root(first_member(&call.arguments_json, "Name")?).as_text()?;
        Some(name.into_owned())
    };
    let asked = if is_question(call) { asked() } else { None };
    asked.unwrap_or_else(|| call.name.clone())
}
