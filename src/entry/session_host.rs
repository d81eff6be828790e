//! The object that owns a session: it admits submissions, runs turns apart from their clients, and
//! lets any number of clients watch (the interface, section 2).
//!
//! State: the session's storage, and in memory the one turn that runs. Keys: one object per
//! `{tenant}/{SessionId}`. Atomic: admission runs without an await.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_util::future::AbortHandle;
use serde::Deserialize;
use serde_json::json;

use super::admission::{Admission, Admitted};
use super::admission_context::AdmissionContext;
use super::alarm::Alarm;
use super::export::Export;
use super::views::TurnView;
use crate::contract::{
    ErrorCode, ExecuteRequest, Fault, SessionId, TurnId, TurnStatus, fingerprint,
};
use crate::persistence::{SessionStore, StoredOutcome, Turn};
use crate::ports::{Database, Platform};
use crate::reasoner::{
    LiveText, Outcome, Position, Reasoner, TextCursor, Timings, abort, turn_aborted,
};
use crate::retrieval::{Retrieved, question_of, retrieve};

/// How a submission is delivered.
pub(super) struct Delivery {
    /// The text as it grows, and the outcome.
    pub(super) stream: Rc<LiveText>,
    /// As server-sent events rather than as JSON.
    pub(super) streaming: bool,
    /// The outcome is a stored one.
    pub(super) replayed: bool,
    /// Nothing of the turn was ever shown: a position in it cannot be meant.
    begun: bool,
}

impl Delivery {
    /// A watcher of the stream that has everything up to `position` (`Last-Event-ID`).
    pub(super) fn cursor(&self, position: Option<Position>) -> TextCursor {
        self.stream.watch();
        TextCursor::new(position.filter(|_| !self.begun))
    }
}

/// The object that owns a session.
#[derive(Debug)]
pub struct SessionHost<P, D> {
    pub(super) platform: Rc<P>,
    pub(super) store: Rc<SessionStore<D>>,
    pub(super) live: RefCell<Option<LiveTurn>>,
    /// How many turns this instance has run.
    pub(super) runs: Cell<u64>,
    /// How many requests to erase the session are under way.
    pub(super) erasures: Cell<usize>,
    pub(super) alarm: Alarm,
}

/// What has become of a turn that lost its instance.
#[derive(Debug)]
enum Interrupted {
    /// It runs again.
    Resumed,
    /// The turn of this ordinal was interrupted too often, and has failed now.
    GivenUp(u64),
    /// It cannot go on before the catalog is mended.
    Waits,
}

#[derive(Clone, Debug)]
pub(super) struct LiveTurn {
    ordinal: u64,
    pub(super) stream: Rc<LiveText>,
    pub(super) cancellation: AbortHandle,
}

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// A host over a session's storage. Nothing is read or written yet.
    pub fn new(platform: Rc<P>, database: D) -> Rc<Self> {
        Rc::new(Self {
            platform,
            store: Rc::new(SessionStore::new(database)),
            live: RefCell::new(None),
            runs: Cell::new(0),
            erasures: Cell::new(0),
            alarm: Alarm::default(),
        })
    }

    /// Retrieves what a submission is to be given besides its own artifacts: once, for a user turn
    /// that may begin now. Nothing is written.
    pub(super) async fn retrieve(
        self: &Rc<Self>,
        context: &AdmissionContext,
        request: &ExecuteRequest,
    ) -> Retrieved {
        let ExecuteRequest::UserTurn(turn) = request else { return Retrieved::default() };
        let Some((workspace, question)) = question_of(turn) else { return Retrieved::default() };
        // What cannot be told here is told by the admission.
        let (Ok(Some(agent)), Ok(catalog)) =
            (self.door(context).agent_of_new_turn(turn), &context.catalog)
        else {
            return Retrieved::default();
        };
        match catalog.agent_context(&agent) {
            Some(agent) => {
                retrieve(self.platform.as_ref(), &agent.retrieval, workspace, question).await
            }
            None => Retrieved::default(),
        }
    }

    /// Takes a submission (`POST /execute`), with what was retrieved for it.
    ///
    /// # Errors
    /// Why it is refused; then nothing was written.
    pub(super) fn execute(
        self: &Rc<Self>,
        context: &AdmissionContext,
        request: &ExecuteRequest,
        retrieved: &Retrieved,
    ) -> Result<Delivery, Vec<Fault>> {
        let given_up = match self.resume_interrupted(context)? {
            Some(Interrupted::GivenUp(ordinal)) => Some(ordinal),
            _ => None,
        };
        let fingerprint = fingerprint(request);
        let admission = Admission { given_up, retrieved, ..self.door(context) };
        let admitted = match request {
            ExecuteRequest::UserTurn(turn) => admission.user_turn(turn, &fingerprint)?,
            ExecuteRequest::ToolContinuation(results) => {
                admission.tool_continuation(results, &fingerprint)?
            }
        };
        let mut begun = false;
        let (stream, turn, replayed) = match admitted {
            Admitted::Run(turn) => {
                begun = turn.progress.next_segment == 0;
                (self.run(context, &turn)?, turn, false)
            }
            Admitted::Attach(turn) => (self.attach(context, &turn)?, turn, false),
            Admitted::Replay(turn, answer) => {
                let told_before = given_up != Some(turn.ordinal);
                (Rc::new(ended_stream(answer)?), turn, told_before)
            }
        };
        // A continuation is delivered as its turn was; a repeated user turn as it now asks.
        let streaming = match request {
            ExecuteRequest::UserTurn(user_turn) => user_turn.streaming,
            ExecuteRequest::ToolContinuation(_) => turn.progress.streaming,
        };
        Ok(Delivery { stream, streaming, replayed, begun })
    }

    /// Watches a turn (`GET …/stream`): its latest submission, running or ended.
    ///
    /// # Errors
    /// `session_not_found`, `turn_not_found`.
    pub(super) fn watch(
        self: &Rc<Self>,
        context: &AdmissionContext,
        session_id: &SessionId,
        turn_id: &TurnId,
    ) -> Result<Delivery, Fault> {
        let (_, turn) = self.door(context).known_turn(session_id, turn_id)?;
        let (stream, replayed) = match self.store.outcome(turn.ordinal)? {
            None => (self.attach(context, &turn)?, false),
            Some(answer) => (Rc::new(ended_stream(answer)?), true),
        };
        Ok(Delivery { stream, streaming: true, replayed, begun: false })
    }

    /// Aborts a turn (`POST …/cancel`), and gives the turn as it is then. Cancelling twice, or
    /// after the turn has ended, changes nothing.
    ///
    /// # Errors
    /// `session_not_found`, `turn_not_found`.
    pub(super) async fn cancel(
        self: &Rc<Self>,
        context: &AdmissionContext,
        session_id: &SessionId,
        turn_id: &TurnId,
    ) -> Result<TurnView, Fault> {
        let (mut session, mut turn) = self.door(context).known_turn(session_id, turn_id)?;
        match (turn.status, self.live_turn(&turn)) {
            (TurnStatus::Running, Some(live)) => {
                live.cancellation.abort();
                live.stream.ended_with().await;
            }
            (TurnStatus::Running | TurnStatus::AwaitingTools, _) => {
                let answer = StoredOutcome::of(&turn_aborted().into(), None);
                let now = self.platform.now_ms();
                abort(&self.store, &mut session, &mut turn, &answer, now)?;
            }
            (TurnStatus::Completed | TurnStatus::Failed | TurnStatus::Aborted, _) => {}
        }
        self.turn_view(context, session_id, turn_id)
    }

    /// `GET /sessions/{SessionId}/export`
    ///
    /// # Errors
    /// `session_not_found`.
    pub(super) fn export(
        self: &Rc<Self>,
        context: &AdmissionContext,
        session_id: &SessionId,
    ) -> Result<Export<D>, Fault> {
        let session = self.door(context).known_session(session_id)?;
        Export::new(Rc::clone(&self.store), session)
    }

    /// A turn runs in this instance.
    pub(super) fn is_running(&self) -> bool {
        self.live.borrow().is_some()
    }

    /// Takes up a turn that no instance runs any more: after a crash, an eviction or a deploy. True
    /// when there is one that cannot go on before the catalog is mended.
    ///
    /// # Errors
    /// `internal` when the storage fails.
    pub(super) fn recover(self: &Rc<Self>, context: &AdmissionContext) -> Result<bool, Fault> {
        let interrupted = self.resume_interrupted(context)?;
        Ok(matches!(interrupted, Some(Interrupted::Waits)))
    }

    /// The same, and says what has become of the turn.
    fn resume_interrupted(
        self: &Rc<Self>,
        context: &AdmissionContext,
    ) -> Result<Option<Interrupted>, Fault> {
        if self.is_running() {
            return Ok(None);
        }
        let admission = self.door(context);
        let Some(interrupted) = admission.interrupted_turn()? else { return Ok(None) };
        if !interrupted.may_resume() {
            return admission.give_up_interrupted(interrupted).map(Interrupted::GivenUp).map(Some);
        }
        if context.catalog.is_err() {
            return Ok(Some(Interrupted::Waits));
        }
        self.run(context, &admission.resume_interrupted(interrupted)?)?;
        Ok(Some(Interrupted::Resumed))
    }

    /// Runs a turn apart from whoever asked for it.
    fn run(
        self: &Rc<Self>,
        context: &AdmissionContext,
        turn: &Turn,
    ) -> Result<Rc<LiveText>, Fault> {
        let catalog = Rc::clone(context.catalog()?);
        let (cancellation, registration) = AbortHandle::new_pair();
        let live =
            LiveTurn { ordinal: turn.ordinal, stream: Rc::new(LiveText::default()), cancellation };
        self.live.replace(Some(live.clone()));
        self.runs.set(self.runs.get() + 1);
        let stream = Rc::clone(&live.stream);
        let host = Rc::clone(self);
        let reasoner = Reasoner {
            platform: Rc::clone(&self.platform),
            store: Rc::clone(&self.store),
            catalog,
            deployment: Rc::clone(&context.deployment),
            report: RefCell::default(),
        };
        let turn_id = turn.turn_id.clone();
        let started_at = self.platform.now_ms();
        self.platform.spawn(Box::pin(async move {
            let mut outcome = reasoner.run(live.ordinal, &live.stream, registration).await;
            // Write first, send after: nobody hears of an outcome that could still be lost.
            let ended_at = host.platform.now_ms();
            host.platform.durable().await;
            let now = host.platform.now_ms();
            outcome.timings.persist += now.saturating_sub(ended_at);
            // First the object is free, then the watchers hear of it. The next turn may have begun
            // as soon as this one was stored as ended.
            host.live.borrow_mut().take_if(|running| Rc::ptr_eq(&running.stream, &live.stream));
            let mut report = reasoner.report.take();
            report.timings = outcome.timings;
            host.platform.log(json!({
                "event": "submission",
                "level": if outcome.http_status < 500 { "info" } else { "error" },
                "turn": turn_id.as_str(),
                "http_status": outcome.http_status,
                "duration_ms": now.saturating_sub(started_at),
                "report": report,
            }));
            live.stream.end(outcome);
        }));
        Ok(stream)
    }

    /// A turn, where this instance runs it.
    fn live_turn(&self, turn: &Turn) -> Option<LiveTurn> {
        self.live.borrow().clone().filter(|live| live.ordinal == turn.ordinal)
    }

    fn attach(&self, context: &AdmissionContext, turn: &Turn) -> Result<Rc<LiveText>, Fault> {
        if let Some(live) = self.live_turn(turn) {
            return Ok(live.stream);
        }
        // A running turn is run, or waits for a catalog.
        context.catalog()?;
        Err(Fault::new(ErrorCode::Internal, "The turn is running nowhere."))
    }

    pub(super) fn door<'a>(&'a self, context: &'a AdmissionContext) -> Admission<'a, P, D> {
        Admission {
            platform: &self.platform,
            store: &self.store,
            alarm: &self.alarm,
            context,
            retrieved: const { &Retrieved { chunks: Vec::new(), left_out: Vec::new(), failed: false } },
            given_up: None,
        }
    }
}

/// The stream of an answer that was given before.
fn ended_stream(answer: StoredOutcome) -> Result<LiveText, Fault> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Answered {
        result: Option<Texts>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Texts {
        primary_output_text: Option<String>,
        tool_continuation_message: Option<String>,
    }
    let kept = match answer.kept_segment {
        None => None,
        Some(segment) => serde_json::from_str::<Answered>(&answer.body)
            .map_err(|_| unreadable_answer())?
            .result
            .and_then(|texts| texts.primary_output_text.or(texts.tool_continuation_message))
            .map(|text| (segment, text)),
    };
    let outcome = Outcome {
        http_status: answer.http_status,
        body: answer.body.into(),
        timings: Timings::default(),
    };
    Ok(LiveText::ended(kept, outcome))
}

pub(super) fn unreadable_answer() -> Fault {
    Fault::new(ErrorCode::Internal, "The session's storage holds an unreadable answer.")
}
