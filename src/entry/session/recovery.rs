//! Recovery (interface §2, Turns): a turn that lost its instance in a crash, an eviction or a deploy is resumed once,
//! then it fails; up to five times more while it reads a background response. One whose contexts are gone waits.

use super::session_host::{RunNames, SessionHost};
use crate::contract::{ErrorCode, Fault, Result, TurnStatus};
use crate::entry::request_context::RequestContext;
use crate::persistence::{Session, StoredOutcome, Turn};
use crate::ports::{Database, Platform};
use crate::reasoner::{RunSummary, TurnEnd, end_turn, resume_turn};

/// The number of attempts at a submission, including the first.
const MAX_ATTEMPTS: u32 = 2;

/// The number of instances that may be lost while they read the same background response: none of them counts as an
/// attempt, and a response that ends its instance each time must end the turn.
const MAX_RESUMPTIONS: u32 = 5;

/// What a recovery has found. Nothing where no turn had lost its instance, or that turn now runs again.
#[derive(Debug, Default)]
pub(super) struct Recovered {
    /// The ordinal of a turn that was interrupted too often and has just failed.
    pub(super) given_up: Option<u64>,
    /// A turn waits for the operator to mend the catalog, or to put a context back.
    pub(super) waits: bool,
}

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// Ends a turn that nobody runs: its instance was lost, or it waits for its client.
    pub(super) fn end_without_run(
        &self,
        context: &RequestContext,
        session: &mut Session,
        turn: &mut Turn,
        fault: Fault,
    ) -> Result<()> {
        let (platform, store, now_ms) =
            (self.platform.as_ref(), &self.store, self.platform.now_ms());
        let outcome = StoredOutcome::of_failure(&fault, turn);
        let (is_aborted, is_lost) =
            (fault.code == ErrorCode::TurnAborted, turn.status == TurnStatus::Running);
        if is_lost {
            session.lose_instance(turn);
        }
        // Of a turn that waits for its client: its outcome, which had the text, is replaced.
        if turn.status == TurnStatus::AwaitingTools {
            let text = turn.progress.text_with_calls.as_ref();
            turn.progress.text_so_far = text.map(|(_, text)| text.clone());
        }
        let end = TurnEnd {
            status: if is_aborted { TurnStatus::Aborted } else { TurnStatus::Failed },
            outcome: &outcome,
            last: None,
            gives_up: true,
            catalog: context.catalog.as_deref().ok(),
            now_ms,
        };
        let ensure_alarm = || self.ensure_alarm(context.deployment.turn_alarm_ms);
        // With its end, a session that has run a turn of earlier contexts goes back to its own.
        let ran = session.clone();
        end_turn(platform, store, session, turn, end, ensure_alarm)?;
        let model = context.model_of(&ran, turn.progress.service.as_deref());
        let report = is_lost.then(|| RunSummary::lost(turn, model, &fault));
        let line = report.as_ref().map(|report| {
            let names = RunNames::of(turn, None, turn.progress.trace.id.clone());
            let duration_ms = now_ms.saturating_sub(report.submission_began_at);
            names.line(platform, &ran, outcome.http_status, duration_ms, report)
        });
        self.follow_end(context, &ran, report.as_ref(), line)
    }

    /// Resumes the turn that is stored as running but runs nowhere, or fails it after too many
    /// interruptions.
    pub(super) fn recover(&self, context: &RequestContext) -> Result<Recovered> {
        if self.running.is_busy() {
            return Ok(Recovered::default());
        }
        let Some(mut session) = self.store.session()? else { return Ok(Recovered::default()) };
        let Some(ordinal) = session.open_turn else { return Ok(Recovered::default()) };
        let mut turn = self.store.turn_at(ordinal)?;
        if turn.status != TurnStatus::Running {
            return Ok(Recovered::default());
        }
        let now = self.platform.now_ms();
        let is_spent = match &turn.progress.pending {
            Some(pending) if self.store.reads_pending_on(&turn)? => {
                pending.resumptions >= MAX_RESUMPTIONS
            }
            _ => turn.attempts >= MAX_ATTEMPTS,
        };
        if is_spent {
            let message = "The turn was interrupted more than once. Send the same request again to go on from its last step.";
            let fault = Fault::new(ErrorCode::TurnInterrupted, message);
            self.end_without_run(context, &mut session, &mut turn, fault)?;
            return Ok(Recovered { given_up: Some(ordinal), waits: false });
        }
        if context.contexts_of(&session).is_err() {
            return Ok(Recovered { given_up: None, waits: true });
        }
        self.ensure_alarm(context.deployment.turn_alarm_ms)?;
        let started = resume_turn(&self.store, session, turn, &context.stamp, now)?;
        self.run(context, started, false, None)?;
        Ok(Recovered::default())
    }
}
