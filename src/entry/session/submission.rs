//! What clients do with a submission: send, watch and cancel it (interface §2).

use std::rc::Rc;

use super::admission::{Admission, Admitted, Submission};
use super::detached::AcceptedTurn;
use super::erasure_memory::was_erased;
use super::session_host::{SessionHost, find_session, find_turn};
use crate::contract::event_frames::END;
use crate::contract::{
    ExecuteRequest, Fault, ReadOutcome, Result, SessionId, TurnStatus, fingerprint_in,
};
use crate::entry::request_context::RequestContext;
use crate::entry::response::credential_expired;
use crate::identity::Grants;
use crate::live_text::{LiveText, Outcome, Position, TextCursor, Timings};
use crate::object::ask;
use crate::persistence::{Session, StoredOutcome, Turn};
use crate::ports::{Database, Deployment, Platform};
use crate::reasoner::turn_aborted;
use crate::users::{Revocation, RevokedQuestion};

/// A submission's way to its client.
pub(super) struct Delivery {
    /// The growing text, and the outcome at its end.
    pub(super) text: Rc<LiveText>,
    /// The client gets server-sent events rather than JSON.
    pub(super) streaming: bool,
    /// The outcome was stored before this request.
    pub(super) replayed: bool,
    /// What the client gets at once: the submission runs, and the client does not wait for its outcome.
    pub(super) detached: Option<AcceptedTurn>,
    /// The client asks for progress events.
    progress: bool,
    /// No client has seen text of this turn: a position can only belong to another turn.
    is_first_run: bool,
}

impl Delivery {
    /// A cursor for a client that has received every event up to that id.
    pub(super) fn cursor(
        &self,
        last_event_id: Option<&str>,
        deployment: &Deployment,
    ) -> TextCursor {
        let position = match last_event_id {
            Some(END) => Position::end_of(&self.text),
            id => id.and_then(Position::parse),
        };
        let mut cursor = TextCursor::new(position.filter(|_| !self.is_first_run));
        if self.progress {
            cursor = cursor.with_progress(&self.text);
        }
        cursor.single_deltas = deployment.delta_interval_ms == 0;
        cursor
    }
}

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// Takes a submission (`POST /execute`). A refusal writes nothing.
    pub(super) fn execute(
        &self,
        context: &RequestContext,
        mut submission: Submission,
    ) -> Result<Delivery, Vec<Fault>> {
        let incarnation = submission.incarnation;
        let is_void = incarnation.is_some_and(|number| self.erasures.is_void(number));
        let now_ms = self.platform.now_ms();
        if is_void || self.erasures.has_ended_generation_of(submission.received, now_ms) {
            return Err(was_erased().into());
        }
        self.refuse_revoked(&submission.caller.grants)?;
        let given_up = self.recover(context)?.given_up;
        let admission = Admission { host: self, context, submission: &submission, given_up };
        let admitted = match &submission.request {
            ExecuteRequest::UserTurn(turn) => admission.user_turn(turn)?,
            ExecuteRequest::ToolContinuation(results) => admission.tool_continuation(results)?,
        };
        // A continuation is delivered like its turn, a repeated user turn as the repeat says.
        let streaming = match &submission.request {
            ExecuteRequest::UserTurn(turn) => turn.streaming,
            ExecuteRequest::ToolContinuation(_) => admitted.turn().progress.streaming,
        };
        let accepted = submission.accepted.take();
        // Who does not wait gets no stream of what has ended.
        let streaming = streaming && accepted.is_none();
        let (is_long, progress) = (submission.is_long, submission.progress);
        // The request can be long, and the turn runs without it.
        drop(submission);
        let (text, replayed, detached, is_first_run) = match admitted {
            Admitted::Run(started) => {
                let turn = &started.turn.progress;
                // A pending response shows its text again from the beginning, and in the same segment.
                let is_first_run = turn.next_segment == 0 && turn.pending.is_none();
                let text = self.run(context, started, is_long, context.request_id.clone())?;
                (text, false, accepted, is_first_run)
            }
            Admitted::Attach(turn) => (self.attach(context, &turn)?, false, accepted, false),
            Admitted::Replay(turn, outcome) => {
                (Rc::new(ended_text(outcome)?), given_up != Some(turn.ordinal), None, false)
            }
        };
        Ok(Delivery { text, streaming, replayed, detached, progress, is_first_run })
    }

    /// The fingerprints that a request would have had before a fork, where its turn was copied: in the sessions to which
    /// the copied requests were sent.
    pub(super) async fn inherited(
        &self,
        request: &ExecuteRequest,
        bytes: usize,
    ) -> Result<Vec<String>> {
        let mut inherited = Vec::new();
        let Some(fork) = self.store.session()?.and_then(|session| session.state.fork) else {
            return Ok(inherited);
        };
        let turn = self.store.turn(request.turn_id())?;
        if turn.is_some_and(|turn| turn.ordinal <= fork.turns) {
            for ancestor in &fork.ancestors {
                inherited.push(fingerprint_in(request, ancestor));
                self.yield_if_long(bytes).await;
            }
        }
        Ok(inherited)
    }

    /// `credential_expired` for a credential that was issued before the time of the user's latest revocation.
    pub(super) fn refuse_revoked(&self, grants: &Grants) -> Result<()> {
        if grants.issued_at.is_none() {
            return Ok(());
        }
        let credentials_valid_from = self.store.credentials_valid_from()?;
        match (Revocation { credentials_valid_from }).revokes(grants.issued_at) {
            true => Err(credential_expired()),
            false => Ok(()),
        }
    }

    /// Whether a credential is revoked that asked for a session which has no row, and so was told of no revocation: the
    /// user's object knows. Where that does not answer, the session's own answer stands, which shows nothing.
    pub(super) async fn is_void_without_a_session(&self, grants: &Grants) -> bool {
        let has_session = || !matches!(self.store.session(), Ok(None));
        let Some(object) = self.user_object() else { return false };
        if grants.issued_at.is_none() || has_session() {
            return false;
        }
        let revoked = ask(self.platform.as_ref(), &object, &RevokedQuestion {}).await;
        revoked.is_ok_and(|revoked| revoked.revokes(grants.issued_at))
    }

    /// Watches a turn (`GET …/stream`): its latest submission, running or ended.
    pub(super) fn watch(
        &self,
        context: &RequestContext,
        turn: &Turn,
        progress: bool,
    ) -> Result<Delivery> {
        let (text, replayed) = match self.store.outcome(turn.ordinal)? {
            None => (self.attach(context, turn)?, false),
            Some(outcome) => (Rc::new(ended_text(outcome)?), true),
        };
        let (streaming, detached, is_first_run) = (true, None, false);
        Ok(Delivery { text, streaming, replayed, detached, progress, is_first_run })
    }

    /// Aborts a turn (`POST …/cancel`) and returns session and turn as they are afterwards. A turn that
    /// has ended stays as it is.
    pub(super) async fn cancel(
        &self,
        context: &RequestContext,
        id: &SessionId,
        mut session: Session,
        mut turn: Turn,
    ) -> Result<(Session, Turn)> {
        turn.progress.trace.note_caller(context.trace.as_ref());
        match (turn.status, self.running.turn(&turn)) {
            (TurnStatus::Running, Some(live)) => {
                live.note_caller(context.trace.as_ref());
                live.cancel().await;
            }
            (TurnStatus::Running | TurnStatus::AwaitingTools, _) => {
                self.end_without_run(context, &mut session, &mut turn, turn_aborted())?;
            }
            (TurnStatus::Completed | TurnStatus::Failed | TurnStatus::Aborted, _) => {}
        }
        Ok((find_session(&self.store, id)?, find_turn(&self.store, &turn.turn_id)?))
    }

    fn attach(&self, context: &RequestContext, turn: &Turn) -> Result<Rc<LiveText>> {
        if let Some(live) = self.running.turn(turn) {
            live.note_caller(context.trace.as_ref());
            return Ok(Rc::clone(&live.text));
        }
        // Recovery leaves a running turn only where it waits for the operator.
        if let Some(session) = self.store.session()? {
            context.contexts_of(&session)?;
        }
        Err(Fault::internal("The turn is running nowhere."))
    }
}

/// The text and outcome of a submission that has ended.
fn ended_text(outcome: StoredOutcome) -> Result<LiveText> {
    let kept = match outcome.kept_segment {
        None => None,
        Some(segment) => ReadOutcome::of(&outcome.body)?
            .result
            .and_then(|texts| texts.primary_output_text.or(texts.tool_continuation_message))
            .map(|text| (segment, text)),
    };
    let StoredOutcome { http_status, body, .. } = outcome;
    let timings = Timings::default();
    Ok(LiveText::finished(kept, Outcome { http_status, body: body.into(), timings }))
}
