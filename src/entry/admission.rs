//! What a submission is to its session: new, a repeat, or refused (the interface, section 2, *Turns*).
//!
//! Everything here runs in one stretch without an await, so that of two equal requests the second
//! always meets what the first has stored.

use super::admission_context::AdmissionContext;
use super::alarm::Alarm;
use crate::catalog::{DEFAULT_CONTEXT, GENERAL_MODE};
use crate::composition::{
    ToolList, TurnMaterial, client_tool_definitions, compose_turn, default_tool_definitions,
    merge_tools,
};
use crate::contract::{
    ErrorCode, Fault, SessionId, ToolCall, ToolContinuation, ToolResult, TurnId, TurnStatus,
    UserTurn,
};
use crate::persistence::{
    Call, EntryKind, EntrySeq, NewTurn, RunsOn, Session, SessionStore, StoredOutcome, Turn,
    TurnProgress,
};
use crate::ports::{Database, Platform};
use crate::reasoner::{SEGMENTS_OF_AN_ATTEMPT, outputs_of, settle_open_calls, tool_call};
use crate::responses_api::array_of;
use crate::retrieval::Retrieved;
use crate::server_tools;

/// How often a turn that lost its instance is taken up, the first run included.
const MAX_ATTEMPTS: u32 = 2;

/// What the user reads when nothing could be retrieved.
const RETRIEVAL_FAILED: &str =
    "Nothing could be retrieved from the workspace; the answer was given without it.";

/// What has become of a turn that is stored as running although nothing runs it.
#[derive(Debug)]
pub(super) enum Interrupted {
    /// It is taken up, and is to be run.
    TakenUp(Turn),
    /// It was interrupted too often, and has failed now.
    GivenUp(Turn),
    /// It cannot go on before the catalog is mended.
    Waits,
}

/// What becomes of a submission that is not refused.
#[derive(Debug)]
pub(super) enum Admission {
    /// The turn is stored as `running` and is to be run.
    Run(Turn),
    /// The same submission is running already.
    Attach(Turn),
    /// The same submission was answered already.
    Replay(Turn, StoredOutcome),
}

/// A session's storage, and what admission needs to know besides.
pub(super) struct Door<'a, P, D> {
    pub(super) platform: &'a P,
    pub(super) store: &'a SessionStore<D>,
    pub(super) alarm: &'a Alarm,
    pub(super) context: &'a AdmissionContext,
    /// What was retrieved for the turn.
    pub(super) retrieved: &'a Retrieved,
    /// The turn that was given up when this request came: a repeat of it hears that first.
    pub(super) given_up: Option<u64>,
}

impl<P: Platform, D: Database> Door<'_, P, D> {
    /// Admits a user turn, or says all that is wrong with it.
    pub(super) fn user_turn(
        &self,
        request: &UserTurn,
        fingerprint: &str,
    ) -> Result<Admission, Vec<Fault>> {
        let Some(session) = self.store.session()? else {
            let session = self.new_session(request)?;
            return self.begin(session, 1, request, fingerprint);
        };
        if let Some(turn) = self.store.turn(&request.turn_id)? {
            let repeated = self.repeat(session, turn, fingerprint)?;
            return repeated.ok_or_else(|| conflict(request.turn_id.as_str()).into());
        }
        self.refuse_when_live(&session)?;
        let ordinal = self.next_ordinal()?;
        self.begin(session, ordinal, request, fingerprint)
    }

    /// Admits a tool continuation.
    pub(super) fn tool_continuation(
        &self,
        request: &ToolContinuation,
        fingerprint: &str,
    ) -> Result<Admission, Fault> {
        let (mut session, mut turn) = self.known_turn(&request.session_id, &request.turn_id)?;
        if let Some(admission) = self.repeat(session.clone(), turn.clone(), fingerprint)? {
            return Ok(admission);
        }
        if turn.status == TurnStatus::Aborted {
            return Err(aborted());
        }
        let open = match (turn.status, session.open_calls_of(turn.ordinal)) {
            (TurnStatus::AwaitingTools, Some(open)) => open,
            _ => return Err(self.not_awaiting(&turn, request)?),
        };
        let most = self.context.deployment.max_continuations;
        if turn.progress.submission >= most {
            return Err(Fault::new(
                ErrorCode::Forbidden,
                "The turn has had as many continuations as the deployment permits. Cancel it, and begin a new one.",
            )
            .with("MaxContinuations", most));
        }
        // What cannot go on is not accepted.
        self.context.catalog()?;
        let mut calls = self.store.calls(open)?;
        let answered = match_results(&mut calls, &request.tool_results)?;
        let now = self.platform.now_ms();
        self.accept(|| {
            self.store.begin_continuation(&mut session, &mut turn, fingerprint, &answered, now)?;
            if calls.iter().all(|call| call.result.is_some()) {
                self.store.hand_back(&mut session, open, &outputs_of(&calls)?)?;
            }
            Ok(Admission::Run(turn))
        })
    }

    /// The agent context of a turn that may begin now; `None` for a repeat, or while another turn is
    /// live.
    pub(super) fn agent_of_new_turn(&self, request: &UserTurn) -> Result<Option<String>, Fault> {
        let Some(session) = self.store.session()? else {
            // What is wrong with the turn is said when it is admitted.
            return Ok(self.new_session(request).ok().map(|session| session.agent_context));
        };
        if session.live_turn.is_some() || self.store.turn(&request.turn_id)?.is_some() {
            return Ok(None);
        }
        Ok(Some(session.agent_context))
    }

    /// The session, when a turn of it was ever accepted.
    pub(super) fn known_session(&self, session_id: &SessionId) -> Result<Session, Fault> {
        self.store.session()?.ok_or_else(|| {
            Fault::new(ErrorCode::SessionNotFound, format!("There is no session {session_id}."))
        })
    }

    /// A turn and its session.
    pub(super) fn known_turn(
        &self,
        session_id: &SessionId,
        turn_id: &TurnId,
    ) -> Result<(Session, Turn), Fault> {
        let session = self.known_session(session_id)?;
        let turn = self.store.turn(turn_id)?.ok_or_else(|| {
            Fault::new(ErrorCode::TurnNotFound, format!("The session has no turn {turn_id}."))
        })?;
        Ok((session, turn))
    }

    /// Takes up a turn that is stored as running although nothing runs it: once, then it fails.
    /// `None` when there is no such turn; the caller knows that nothing runs.
    pub(super) fn interrupted_turn(&self) -> Result<Option<Interrupted>, Fault> {
        let Some(mut session) = self.store.session()? else { return Ok(None) };
        let Some(ordinal) = session.live_turn else { return Ok(None) };
        let mut turn = self.store.turn_at(ordinal)?;
        if turn.status != TurnStatus::Running {
            return Ok(None);
        }
        if turn.attempts < MAX_ATTEMPTS {
            if self.context.catalog.is_err() {
                return Ok(Some(Interrupted::Waits));
            }
            self.take_up(&mut session, &mut turn)?;
            return Ok(Some(Interrupted::TakenUp(turn)));
        }
        let fault = Fault::new(
            ErrorCode::TurnInterrupted,
            "The turn was interrupted more than once. Send the same request again to go on from its last step.",
        );
        turn.status = TurnStatus::Failed;
        let stored = StoredOutcome::of(&fault.into(), None);
        self.store.end(&mut session, &mut turn, None, &stored, self.platform.now_ms())?;
        Ok(Some(Interrupted::GivenUp(turn)))
    }

    /// What a request means whose turn is known; `None` when it is not one of its submissions.
    fn repeat(
        &self,
        mut session: Session,
        mut turn: Turn,
        fingerprint: &str,
    ) -> Result<Option<Admission>, Fault> {
        let Some(submission) = self.store.submission(&turn, fingerprint)? else {
            return Ok(None);
        };
        let latest = submission.latest;
        match (submission.outcome, turn.status) {
            (None, _) if latest => Ok(Some(Admission::Attach(turn))),
            (Some(_), TurnStatus::Aborted) if latest => Err(aborted()),
            (Some(_), TurnStatus::Failed) if latest && self.given_up != Some(turn.ordinal) => {
                self.refuse_when_live(&session)?;
                self.take_up(&mut session, &mut turn)?;
                Ok(Some(Admission::Run(turn)))
            }
            (Some(answer), _) => Ok(Some(Admission::Replay(turn, answer))),
            (None, _) => Err(Fault::new(
                ErrorCode::Internal,
                "The session's storage lost the answer to this request.",
            )),
        }
    }

    /// Goes on from the last durable step. When nothing is owed to the model any more, because later
    /// turns have told it, what the turn had said is said again.
    fn take_up(&self, session: &mut Session, turn: &mut Turn) -> Result<(), Fault> {
        // What cannot run is not taken up.
        self.context.catalog()?;
        self.accept(|| {
            let own_calls = session.open_calls_of(turn.ordinal).is_some();
            if !own_calls {
                settle_open_calls(self.store, session, "another turn came in between")?;
            }
            let owed = self.store.entries_after(session.acknowledged)?;
            let speaks = owed
                .iter()
                .any(|entry| entry.turn == turn.ordinal && entry.kind != EntryKind::System);
            let said_again = if own_calls || speaks {
                None
            } else {
                self.store.said_by(turn.ordinal)?.map(|entry| array_of(&entry.items))
            };
            let now = self.platform.now_ms();
            let segments = SEGMENTS_OF_AN_ATTEMPT;
            self.store.take_up(session, turn, segments, said_again.as_deref(), now)
        })
    }

    fn begin(
        &self,
        mut session: Session,
        ordinal: u64,
        request: &UserTurn,
        fingerprint: &str,
    ) -> Result<Admission, Vec<Fault>> {
        let catalog = self.context.catalog()?;
        let mut faults = other_contexts(&session, request);
        if catalog.agent_context(&session.agent_context).is_none() {
            faults.push(unknown_context("AgentContext"));
        }
        let Some(conversation) = catalog.conversation_context(&session.conversation_context) else {
            faults.push(unknown_context("ConversationContext"));
            return Err(faults);
        };

        let client_tools = match (&request.tools, &session.client_tools) {
            (Some(tools), _) => client_tool_definitions(tools)?,
            (None, Some(latched)) => {
                serde_json::from_str(&self.store.text(latched)?).map_err(|_| {
                    Fault::new(ErrorCode::Internal, "The session's client tools are unreadable.")
                })?
            }
            (None, None) => default_tool_definitions(&conversation.tools)?,
        };
        let latched_tools = match &request.tools {
            Some(_) => Some(json(&client_tools)?),
            None => None,
        };
        let mode = catalog.mode(&session.mode).unwrap_or_else(|| catalog.default_mode());
        // A mode that the catalog no longer holds gives way to the default one.
        session.mode.clone_from(&mode.key);
        let merged = merge_tools(client_tools, server_tools::definitions(catalog, mode)?);
        faults.extend(unoffered_choice(request.tool_choice_name.as_deref(), &merged.list));
        if !faults.is_empty() {
            return Err(faults);
        }

        let solution_context = match &request.solution_context_text {
            Some(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            None => match &session.solution_context {
                Some(hash) if session.solution_context_sent.as_ref() != Some(hash) => {
                    Some(self.store.text(hash)?)
                }
                _ => None,
            },
        };

        // From here on the turn is accepted: what follows writes, all of it or nothing.
        let admitted = self.accept(|| {
            if let Some(tools) = latched_tools {
                session.client_tools = Some(self.store.keep_text(&tools)?);
            }
            if request.solution_context_text.is_some() {
                session.solution_context = solution_context
                    .as_deref()
                    .map(|text| self.store.keep_text(text))
                    .transpose()?;
            }
            let unsent = session.solution_context != session.solution_context_sent;
            let composed = compose_turn(
                request,
                &TurnMaterial {
                    mode: &session.mode,
                    boot_prompt: (ordinal == 1).then_some(conversation.boot_prompt.as_str()),
                    solution_context: solution_context.as_deref().filter(|_| unsent),
                    retrieved: &self.retrieved.chunks,
                    left_out: &self.retrieved.left_out,
                },
            )?;
            let mut user_warnings = composed.user_warnings;
            if self.retrieved.failed {
                user_warnings.push(RETRIEVAL_FAILED.to_owned());
            }
            session.solution_context_sent.clone_from(&session.solution_context);
            settle_open_calls(self.store, &mut session, "the turn that asked for it has ended")?;
            let mut entries = Vec::with_capacity(2);
            if let Some(system) = &composed.system {
                entries.push((EntryKind::System, array_of(std::slice::from_ref(system))));
            }
            entries.push((EntryKind::User, array_of(std::slice::from_ref(&composed.user))));
            let turn = self.store.begin_turn(
                &mut session,
                NewTurn {
                    ordinal,
                    turn_id: &request.turn_id,
                    fingerprint,
                    tools: &json(&merged.list)?,
                    entries: &entries,
                    composition: &json(&composed.trace)?,
                    progress: TurnProgress {
                        streaming: request.streaming,
                        tool_choice: request.tool_choice_name.clone(),
                        user_warnings,
                        warnings: merged.warnings,
                        origin: self.context.origin.clone(),
                        ..TurnProgress::default()
                    },
                    now_ms: self.platform.now_ms(),
                },
            )?;
            Ok(Admission::Run(turn))
        });
        admitted.map_err(Vec::from)
    }

    /// Writes what an accepted submission changes, and sets the alarm that looks after it, both or
    /// neither.
    fn accept<T>(&self, writes: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        self.alarm.ensure(self.platform, self.context.deployment.turn_alarm_ms)?;
        self.store.step(writes)
    }

    fn new_session(&self, request: &UserTurn) -> Result<Session, Vec<Fault>> {
        let catalog = self.context.catalog()?;
        let conversation_id = request.conversation_context_id.as_deref().unwrap_or(DEFAULT_CONTEXT);
        let Some(conversation) = catalog.conversation_context(conversation_id) else {
            let mut faults = vec![unknown_context("ConversationContext")];
            if request
                .agent_context_id
                .as_ref()
                .is_some_and(|id| catalog.agent_context(id).is_none())
            {
                faults.push(unknown_context("AgentContext"));
            }
            return Err(faults);
        };
        let agent_id =
            request.agent_context_id.as_deref().unwrap_or(&conversation.agent_context_id);
        let now = self.platform.now_ms();
        Ok(Session {
            session_id: request.session_id.clone(),
            created_at: now,
            updated_at: now,
            agent_context: agent_id.to_owned(),
            conversation_context: conversation_id.to_owned(),
            mode: match &conversation.mode {
                Some(mode) => mode.clone(),
                None => {
                    catalog.mode(GENERAL_MODE).unwrap_or_else(|| catalog.default_mode()).key.clone()
                }
            },
            client_tools: None,
            solution_context: None,
            solution_context_sent: None,
            tools_sent: None,
            chain_head: None,
            acknowledged: EntrySeq::START,
            live_turn: None,
            open_calls: None,
        })
    }

    /// One turn per session is live.
    fn refuse_when_live(&self, session: &Session) -> Result<(), Fault> {
        let Some(ordinal) = session.live_turn else { return Ok(()) };
        let turn = self.store.turn_at(ordinal)?;
        if turn.status != TurnStatus::AwaitingTools {
            return Err(Fault::new(
                ErrorCode::TurnInProgress,
                "Another turn of this session is running. Wait for it, or cancel it.",
            )
            .with("TurnId", turn.turn_id.as_str()));
        }
        let calls = serde_json::to_value(pending_calls(self.store, session, &turn)?)
            .map_err(|_| Fault::internal("The pending calls could not be written."))?;
        Err(Fault::new(
            ErrorCode::TurnAwaitingTools,
            "Another turn of this session awaits tool results. Send them, or cancel it.",
        )
        .with("TurnId", turn.turn_id.as_str())
        .with("ToolCalls", calls))
    }

    /// A session has an end, so that its storage has one.
    fn next_ordinal(&self) -> Result<u64, Fault> {
        let most = self.context.deployment.max_turns;
        let newest = self.store.newest_ordinal()?;
        if newest < most {
            return Ok(newest + 1);
        }
        Err(Fault::new(
            ErrorCode::Forbidden,
            "The session has had as many turns as the deployment permits. Begin a new session.",
        )
        .with("MaxTurns", most))
    }

    /// Results for a turn that waits for none: a late or second answer, or a mistake.
    fn not_awaiting(&self, turn: &Turn, request: &ToolContinuation) -> Result<Fault, Fault> {
        let asked: Vec<String> = self
            .store
            .latest_calls(turn.ordinal)?
            .into_iter()
            .filter(|call| call.runs_on == RunsOn::Client)
            .map(|call| call.tool_call_id)
            .collect();
        let given = request.tool_results.iter().map(|result| &result.tool_call_id);
        if turn.progress.submission > 0 && asked.iter().eq(given) {
            return Ok(conflict(turn.turn_id.as_str()));
        }
        Ok(Fault::new(
            ErrorCode::TurnNotAwaitingTools,
            format!("The turn is {} and waits for no tool results.", turn.status.as_str()),
        )
        .with("TurnId", turn.turn_id.as_str()))
    }
}

/// The calls that a paused turn waits for, as the client sees them; none when it does not wait.
pub(super) fn pending_calls<D: Database>(
    store: &SessionStore<D>,
    session: &Session,
    turn: &Turn,
) -> Result<Vec<ToolCall>, Fault> {
    match session.open_calls_of(turn.ordinal) {
        Some(open) if turn.status == TurnStatus::AwaitingTools => {
            Ok(store.calls(open)?.iter().filter(|call| call.is_pending()).map(tool_call).collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// The fault of a turn that was cancelled.
pub(super) fn aborted() -> Fault {
    Fault::new(ErrorCode::TurnAborted, "The turn was cancelled. Start another one.")
}

/// Puts the results into the calls that they answer. The set must match exactly, in count, ids and
/// order (AGN-033 §3.3).
fn match_results(calls: &mut [Call], results: &[ToolResult]) -> Result<Vec<Call>, Fault> {
    let expected: Vec<String> = calls
        .iter()
        .filter(|call| call.is_pending())
        .map(|call| call.tool_call_id.clone())
        .collect();
    let given: Vec<&str> = results.iter().map(|result| result.tool_call_id.as_str()).collect();
    if !expected.iter().map(String::as_str).eq(given.iter().copied()) {
        let mut differences = Vec::new();
        for position in 0..expected.len().max(given.len()) {
            let expected = expected.get(position).map(String::as_str);
            let given = given.get(position).copied();
            if expected != given {
                differences.push(serde_json::json!({
                    "Position": position, "Expected": expected, "Given": given,
                }));
            }
        }
        return Err(Fault::new(
            ErrorCode::ToolResultsMismatch,
            "The tool results must match the pending calls in count, ids and order. Nothing was accepted.",
        )
        .at("/ToolResults")
        .with("Differences", differences)
        .with("Expected", expected));
    }
    let mut answered = Vec::with_capacity(results.len());
    for (call, result) in calls.iter_mut().filter(|call| call.is_pending()).zip(results) {
        call.result = Some(result.clone());
        answered.push(call.clone());
    }
    Ok(answered)
}

/// Contexts that are not those of the session's first turn.
fn other_contexts(session: &Session, request: &UserTurn) -> Vec<Fault> {
    let members = [
        ("AgentContextId", &request.agent_context_id, &session.agent_context),
        ("ConversationContextId", &request.conversation_context_id, &session.conversation_context),
    ];
    let others = members
        .into_iter()
        .filter(|(_, given, bound)| given.as_ref().is_some_and(|given| given != *bound));
    others
        .map(|(member, _, bound)| {
            Fault::new(
                ErrorCode::InvalidField,
                format!("{member} was bound to {bound} by the session's first turn. Leave it out, or start another session."),
            )
            .at(format!("/{member}"))
        })
        .collect()
}

fn unoffered_choice(choice: Option<&str>, tools: &ToolList) -> Option<Fault> {
    choice.filter(|name| tools.get(name).is_none()).map(|_| {
        Fault::new(
            ErrorCode::InvalidField,
            "ToolChoiceName must name an offered tool, and none of that name is offered.",
        )
        .at("/ToolChoiceName")
    })
}

fn json(value: &impl serde::Serialize) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|_| Fault::unwritable("A part of the turn"))
}

fn conflict(turn_id: &str) -> Fault {
    Fault::new(
        ErrorCode::TurnConflict,
        "This TurnId was used with other content. Use a new TurnId, or repeat the request unchanged.",
    )
    .with("TurnId", turn_id)
}

/// The id itself is left out: it can be any text of the client's.
fn unknown_context(kind: &str) -> Fault {
    Fault::new(
        ErrorCode::ContextNotFound,
        format!("The catalog has no {kind} of the id that the request or its session names."),
    )
    .at(format!("/{kind}Id"))
}
