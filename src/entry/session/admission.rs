//! Admission: a submission begins a turn, continues it, repeats an earlier submission, or is refused
//! (interface §2, Turns).
//!
//! Admission never awaits, so the second of two equal requests finds what the first one stored. It
//! decides; the reasoner composes and stores the turn.

use serde_json::json;

use super::detached::AcceptedTurn;
use super::erasure_memory::Received;
use super::registration::not_registered;
use super::session_host::{SessionHost, find_session, find_turn};
use super::turn_draft::{FirstTurn, NextTurn, TurnDraft, resides, unknown_context};
use crate::contract::{
    ErrorCode, ExecuteRequest, Fault, Operation, Result, ToolContinuation, TurnStatus, UserTurn,
    no_session,
};
use crate::entry::logged_caller::logged_in_object;
use crate::entry::request_context::RequestContext;
use crate::entry::request_id::RequestId;
use crate::identity::{ForwardedCaller, Subject};
use crate::mcp::ToolsByServer;
use crate::persistence::{Call, Decision, EntrySeq, Session, SessionState, StoredOutcome, Turn};
use crate::ports::{Database, Platform};
use crate::reasoner::{
    FileSources, NewContinuation, NewUserTurn, StartedTurn, begin_turn, conflict, continue_turn,
    not_awaiting, pending_calls, refuse_other_repeater, resume_turn, turn_aborted,
};

/// The decision on a submission that is not refused.
pub(super) enum Admitted {
    /// The turn is stored as `running`, and the caller runs it.
    Run(StartedTurn),
    /// The submission repeats one that is running.
    Attach(Turn),
    /// The submission repeats one that has ended with this outcome.
    Replay(Turn, StoredOutcome),
}

impl Admitted {
    /// The turn of the submission.
    pub(super) fn turn(&self) -> &Turn {
        match self {
            Self::Run(StartedTurn { turn, .. }) | Self::Attach(turn) | Self::Replay(turn, _) => {
                turn
            }
        }
    }
}

/// A submission with all that its admission needs and that takes long to find out.
pub(super) struct Submission {
    pub(super) request: ExecuteRequest,
    /// Equal for repetitions of the same request.
    pub(super) fingerprint: String,
    /// Of a copied turn: the request's fingerprints under the ids of the fork's ancestors.
    pub(super) inherited: Vec<String>,
    /// Its turn begins in a slice of its own.
    pub(super) is_long: bool,
    pub(super) caller: ForwardedCaller,
    /// The tools of the MCP servers that the turn names, where the submission begins one.
    pub(super) tools_by_server: ToolsByServer,
    pub(super) received: Received,
    /// The number under which the user's object has registered the session, where the submission begins one of a user.
    pub(super) incarnation: Option<u64>,
    /// The client asks for progress events.
    pub(super) progress: bool,
    /// What a client gets that does not wait for the outcome.
    pub(super) accepted: Option<AcceptedTurn>,
}

/// The admission of one submission to its session.
pub(super) struct Admission<'a, P, D> {
    pub(super) host: &'a SessionHost<P, D>,
    pub(super) context: &'a RequestContext,
    pub(super) submission: &'a Submission,
    /// The turn that recovery has just failed, on behalf of this request. If this request repeats that
    /// turn, it gets the failure; the next repeat runs the turn again.
    pub(super) given_up: Option<u64>,
}

impl<P: Platform, D: Database + 'static> Admission<'_, P, D> {
    /// Admits the submission's user turn, or returns all its faults.
    pub(super) fn user_turn(&self, request: &UserTurn) -> Result<Admitted, Vec<Fault>> {
        let draft = TurnDraft {
            platform: self.host.platform.as_ref(),
            context: self.context,
            request,
            grants: &self.submission.caller.grants,
        };
        draft.refuse()?;
        let Some(session) = self.host.store.session()? else {
            if self.host.store.is_building_fork()? {
                return Err(no_session(&request.session_id).into());
            }
            return self.begin(self.new_session(&draft)?, &draft, 1);
        };
        if let Some(turn) = self.host.store.turn(&request.turn_id)? {
            let repeated = self.repeat(session, turn)?;
            return repeated.ok_or_else(|| conflict(request.turn_id.as_str()).into());
        }
        self.refuse_when_live(&session)?;
        self.begin(session, &draft, self.host.next_ordinal(self.context)?)
    }

    /// Admits the submission's tool continuation.
    pub(super) fn tool_continuation(
        &self,
        request: &ToolContinuation,
    ) -> Result<Admitted, Vec<Fault>> {
        let Submission { fingerprint, caller, .. } = self.submission;
        let answers = [Operation::Answer, Operation::Approve];
        let turn = Subject::Turn(&request.session_id, &request.turn_id);
        caller.grants.permit(&[&answers], turn)?;
        let session = find_session(&self.host.store, &request.session_id)?;
        let turn = find_turn(&self.host.store, &request.turn_id)?;
        if let Some(repeated) = self.repeat(session.clone(), turn.clone())? {
            return Ok(repeated);
        }
        let open = match (turn.status, session.open_calls_of(turn.ordinal)) {
            (TurnStatus::AwaitingTools, Some(open)) => open,
            (TurnStatus::Aborted, _) => return Err(turn_aborted().into()),
            (TurnStatus::AwaitingTools, None)
            | (TurnStatus::Running | TurnStatus::Completed | TurnStatus::Failed, _) => {
                return Err(not_awaiting(&self.host.store, &turn, request)?.into());
            }
        };
        let most = self.context.deployment.max_continuations;
        if turn.progress.submission >= most {
            let message = "The turn has had as many continuations as the deployment permits. Cancel it, and begin a new one.";
            let fault = Fault::new(ErrorCode::Forbidden, message);
            return Err(fault.with("MaxContinuations", most).into());
        }
        self.context.contexts_of(&session)?;
        let sources = self.sources(&session)?;
        let new = NewContinuation {
            session,
            turn,
            open,
            results: &request.tool_results,
            sources,
            fingerprint,
            caller,
            trace: self.context.trace.as_ref(),
            stamp: &self.context.stamp,
            now_ms: self.host.platform.now_ms(),
        };
        let (started, answered) = continue_turn(&self.host.store, new, || self.ensure_alarm())?;
        for call in answered {
            self.log_decision(&started.turn, call);
        }
        Ok(Admitted::Run(started))
    }

    /// What a client's results may hand to the model in a session: anything, for a key.
    fn sources(&self, session: &Session) -> Result<Option<FileSources<'_>>> {
        let agent = self.context.catalog()?.agent_context(&session.agent_context);
        let hosts = agent.map_or(&[][..], |agent| &agent.file_hosts);
        let is_of_a_key = self.submission.caller.grants.are_of_a_key();
        Ok((!is_of_a_key).then_some(FileSources { hosts, ids: false }))
    }

    /// Logs who decided on a call; never an argument or a reason.
    fn log_decision(&self, turn: &Turn, call: Call) {
        if let Some(approval) = call.approval {
            let mut line = json!({
                "event": "approval", "level": "info", "turn": turn.turn_id.as_str(),
                "call": call.tool_call_id, "tool": call.name,
                "decision": approval.decision.map_or("", Decision::as_str),
            });
            RequestId::sign(self.context.request_id.as_ref(), &mut line);
            let platform = self.host.platform.as_ref();
            if let Some(members) = line.as_object_mut() {
                let caller = self.submission.caller.caller.clone();
                members.extend(logged_in_object(platform, caller));
            }
            platform.log(line);
        }
    }

    /// Admits a repeat of one of the turn's submissions; `None` for any other request.
    fn repeat(&self, mut session: Session, mut turn: Turn) -> Result<Option<Admitted>> {
        let Submission { fingerprint, inherited, caller, .. } = self.submission;
        let mut known = self.host.store.submission(&turn, fingerprint)?;
        for inherited in inherited {
            if known.is_none() {
                known = self.host.store.submission(&turn, inherited)?;
            }
        }
        let Some(submission) = known else { return Ok(None) };
        let latest = submission.latest;
        match (submission.outcome, turn.status) {
            (None, _) if latest => Ok(Some(Admitted::Attach(turn))),
            (Some(_), TurnStatus::Aborted) if latest => Err(turn_aborted()),
            (Some(_), TurnStatus::Failed) if latest && self.given_up != Some(turn.ordinal) => {
                refuse_other_repeater(&self.host.store, &session, &turn, caller)?;
                self.refuse_when_live(&session)?;
                session.borrow_contexts_of(turn.ordinal);
                self.context.contexts_of(&session)?;
                self.ensure_alarm()?;
                turn.progress.turn_tokens = caller.grants.turn_tokens;
                turn.progress.trace.note_caller(self.context.trace.as_ref());
                let (stamp, now_ms) = (&self.context.stamp, self.host.platform.now_ms());
                let started = resume_turn(&self.host.store, session, turn, stamp, now_ms)?;
                Ok(Some(Admitted::Run(started)))
            }
            (Some(outcome), _) => Ok(Some(Admitted::Replay(turn, outcome))),
            (None, _) => {
                Err(Fault::internal("The session's storage lost the outcome of this request."))
            }
        }
    }

    /// Begins a new turn, or returns all its faults.
    fn begin(
        &self,
        mut session: Session,
        draft: &TurnDraft<'_, P>,
        ordinal: u64,
    ) -> Result<Admitted, Vec<Fault>> {
        let Submission { fingerprint, tools_by_server, caller, .. } = self.submission;
        let catalog = self.context.catalog()?;
        let title = &mut session.state.title;
        *title = title.take().or_else(|| draft.title());
        let next = NextTurn::of(catalog, &session);
        let contexts = next.as_ref().and_then(|next| next.new.clone());
        let mut faults = draft.faults_of_contexts(&session, contexts.as_ref())?;
        let Some(NextTurn { conversation, mode, .. }) = next else {
            faults.push(unknown_context("ConversationContext"));
            return Err(faults);
        };
        let new = NewUserTurn {
            session,
            request: draft.request,
            fingerprint,
            ordinal,
            catalog,
            contexts,
            conversation,
            mode,
            tools_by_server,
            caller,
            origin: &self.context.origin,
            trace: self.context.trace.as_ref(),
            stamp: &self.context.stamp,
            now_ms: self.host.platform.now_ms(),
        };
        let started = begin_turn(&self.host.store, new, faults, || self.ensure_alarm())?;
        Ok(Admitted::Run(started))
    }

    /// Sets the alarm. The writes that accept a submission follow without an await.
    fn ensure_alarm(&self) -> Result<()> {
        self.host.ensure_alarm(self.context.deployment.turn_alarm_ms)
    }

    fn new_session(&self, draft: &TurnDraft<'_, P>) -> Result<Session, Vec<Fault>> {
        let FirstTurn { bound, asked, mode, .. } = draft.first()?;
        let state = self.state_of_user(&bound.agent)?;
        let now = self.host.platform.now_ms();
        let mut session = Session {
            session_id: draft.request.session_id.clone(),
            created_at: now,
            updated_at: now,
            agent_context: bound.agent,
            conversation_context: bound.conversation,
            mode: mode.key.clone(),
            client_tools: None,
            solution_context: None,
            solution_context_sent: None,
            tools_sent: None,
            chain_head: None,
            acknowledged: EntrySeq::START,
            open_turn: None,
            open_calls: None,
            state,
        };
        session.ask_for(asked);
        Ok(session)
    }

    /// What a new session knows of its user. One that is refused for its agent context was not registered.
    fn state_of_user(&self, agent: &str) -> Result<SessionState> {
        let incarnation = self.submission.incarnation;
        let is_refused = || !resides(self.context, agent);
        if self.host.platform.user().is_none() || (incarnation.is_none() && is_refused()) {
            return Ok(SessionState::default());
        }
        Ok(SessionState {
            incarnation: incarnation.ok_or_else(not_registered)?,
            credentials_valid_from: self.host.store.credentials_valid_from()?,
            ..SessionState::default()
        })
    }

    /// Refuses a turn while another one of the session is live, of which a credential for other turns learns no more.
    fn refuse_when_live(&self, session: &Session) -> Result<()> {
        let Some(ordinal) = session.open_turn else { return Ok(()) };
        let turn = self.host.store.turn_at(ordinal)?;
        let is_running = turn.status != TurnStatus::AwaitingTools;
        let fault = if is_running {
            let message = "Another turn of this session is running. Wait for it, or cancel it.";
            Fault::new(ErrorCode::TurnInProgress, message)
        } else {
            let message =
                "Another turn of this session awaits tool results. Send them, or cancel it.";
            Fault::new(ErrorCode::TurnAwaitingTools, message)
        };
        let subject = Subject::Turn(&session.session_id, &turn.turn_id);
        if self.submission.caller.grants.permit(&[], subject).is_err() {
            return Err(fault);
        }
        let fault = fault.with("TurnId", turn.turn_id.as_str());
        if is_running {
            return Err(fault);
        }
        let calls = serde_json::to_value(pending_calls(&self.host.store, session, &turn)?)
            .map_err(|_| Fault::internal("The pending calls could not be written."))?;
        Err(fault.with("ToolCalls", calls))
    }
}

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// The ordinal of the next turn. `MAX_TURNS` bounds a session's storage.
    pub(super) fn next_ordinal(&self, context: &RequestContext) -> Result<u64> {
        let most = context.deployment.max_turns;
        let newest = self.store.newest_ordinal()?;
        if newest < most {
            return Ok(newest + 1);
        }
        let message =
            "The session has had as many turns as the deployment permits. Begin a new session.";
        Err(Fault::new(ErrorCode::Forbidden, message).with("MaxTurns", most))
    }
}
