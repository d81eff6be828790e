//! The three ways in which a turn comes to run: it begins, its client's tool results let it go on, or
//! it is resumed after a failure or a lost instance.
//!
//! Admission has judged the submission before. Each function is one durable step without an await, so
//! that the second of two equal submissions always finds what the first one stored. A function that
//! fails has written nothing; it fails with `internal` when the storage does. What has to be set before the
//! step, such as the alarm, is passed in as `before_writing`.

use serde_json::value::RawValue;

use super::approval::ResultIntake;
use super::compaction;
use super::retrieval_step::pending_retrieval;
use super::running_turn::{SEGMENTS_OF_AN_ATTEMPT, StartedTurn};
use super::settlement::{outputs_of, settle_open_calls};
use super::tool_results::match_results;
use crate::catalog::{Catalog, ConversationContext, Mode};
use crate::composition::{
    Abandonment, ComposedTurn, TurnMaterial, compose_turn, solution_context_of,
    without_solution_context,
};
use crate::contract::{
    CatalogStamp, Fault, Result, ToolResult, TraceContext, TurnStatus, UserTurn, UserWarning,
    json_text,
};
use crate::encoding::sha256_hex;
use crate::identity::ForwardedCaller;
use crate::mcp::ToolsByServer;
use crate::persistence::{
    Call, ContextChange, Contexts, Entry, EntryKind, NewContexts, NewMode, OpenCalls, Session,
    SessionStore, StoredSchema, SubmissionOrigin, Turn, TurnProgress, TurnTrace,
};
use crate::ports::Database;
use crate::server_tools::FileSources;

/// A new user turn, and what it is composed from.
pub(crate) struct NewUserTurn<'a> {
    pub(crate) session: Session,
    pub(crate) request: &'a UserTurn,
    pub(crate) fingerprint: &'a str,
    pub(crate) ordinal: u64,
    pub(crate) catalog: &'a Catalog,
    /// The contexts under which the session goes on from this turn on, where they are others.
    pub(crate) contexts: Option<Contexts>,
    /// The conversation context of the turn.
    pub(crate) conversation: &'a ConversationContext,
    /// The session's mode, or what stands for it in the catalog.
    pub(crate) mode: &'a Mode,
    /// The tools of the MCP servers that the turn names.
    pub(crate) tools_by_server: &'a ToolsByServer,
    pub(crate) caller: &'a ForwardedCaller,
    /// Where the client reached the deployment, scheme and authority.
    pub(crate) origin: &'a str,
    pub(crate) trace: Option<&'a TraceContext>,
    pub(crate) stamp: &'a CatalogStamp,
    pub(crate) now_ms: u64,
}

/// The tool results that a client sends for a paused turn.
pub(crate) struct NewContinuation<'a> {
    pub(crate) session: Session,
    pub(crate) turn: Turn,
    /// The calls that the turn waits for.
    pub(crate) open: OpenCalls,
    pub(crate) results: &'a [ToolResult],
    /// What the results may hand to the model; `None` for anything.
    pub(crate) sources: Option<FileSources<'a>>,
    pub(crate) fingerprint: &'a str,
    pub(crate) caller: &'a ForwardedCaller,
    pub(crate) trace: Option<&'a TraceContext>,
    pub(crate) stamp: &'a CatalogStamp,
    pub(crate) now_ms: u64,
}

/// Composes a new turn and stores it as `running`; `before_writing` comes between the two. `faults` are those
/// that admission found: the client gets them together with those of the request's tools and its tool choice.
pub(crate) fn begin_turn<D: Database>(
    store: &SessionStore<D>,
    new: NewUserTurn<'_>,
    mut faults: Vec<Fault>,
    before_writing: impl FnOnce() -> Result<()>,
) -> Result<StartedTurn, Vec<Fault>> {
    let session = &new.session;
    let mode = new.mode;
    let new_mode = (mode.key != session.mode).then(|| NewMode {
        key: mode.key.clone(),
        reason: format!("The catalog no longer has the mode {}.", session.mode),
        branch: false,
    });
    let latched_tools = match &session.client_tools {
        Some(latched) if new.request.tools.is_none() => Some(store.text(latched)?),
        _ => None,
    };
    let is_refused = brings_refused_context(session, new.request);
    let solution_context = match is_refused {
        true => None,
        false => unshown_solution_context(store, session, new.request)?,
    };
    let material = TurnMaterial {
        catalog: new.catalog,
        conversation: new.conversation,
        tools_by_server: new.tools_by_server,
        mode,
        is_first: new.ordinal == 1 || new.contexts.is_some(),
        latched_tools: latched_tools.as_deref(),
        solution_context: solution_context.as_deref(),
    };
    let mut composed = compose_turn(new.request, &material)?;
    if is_refused {
        UserWarning::SolutionContextLeftOut.add_once(&mut composed.messages.user_warnings);
    }
    if new.request.tools.is_none() && session.state.untaken_tools_turn != 0 {
        UserWarning::ClientToolsLeftOut.add_once(&mut composed.messages.user_warnings);
    }
    if new_mode.is_some() {
        let warning = UserWarning::ModeReplaced { by: &mode.display_name };
        composed.messages.user_warnings.push(warning.to_string());
    }
    faults.append(&mut composed.faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    before_writing()?;
    Ok(store_turn(store, new, composed, new_mode)?)
}

/// Latches what the request brought, closes the calls of the turn before, and stores the turn.
fn store_turn<D: Database>(
    store: &SessionStore<D>,
    new: NewUserTurn<'_>,
    composed: ComposedTurn,
    new_mode: Option<NewMode>,
) -> Result<StartedTurn> {
    let mut session = new.session;
    let messages = composed.messages;
    let agent = new.contexts.as_ref().map_or(&session.agent_context, |new| &new.agent);
    let agent = new.catalog.agent_context(agent);
    let retrieval = pending_retrieval(agent, new.request, messages.chunks_end);
    let context_changed = new.contexts.as_ref().map(|new| ContextChange {
        from: session.conversation_context.clone(),
        to: new.conversation.clone(),
    });
    let turn = store.durable_step(|| {
        let received = composed.received_tools.as_ref();
        let received_tools = received.map(|received| store.keep_text(received)).transpose()?;
        if received_tools.is_some() {
            session.state.untaken_tools_turn = new.ordinal;
        }
        let output_schema = new.request.output_schema.as_ref().map(|brought| {
            let schema = store.keep_text(brought.schema.as_raw().get())?;
            Ok::<_, Fault>(StoredSchema { name: brought.name.clone(), schema })
        });
        let solution_context = match new.request.solution_context_text.as_deref() {
            Some("") => Some(String::new()),
            brought => brought.map(|text| store.keep_text(text)).transpose()?,
        };
        if let Some(hash) = &solution_context {
            session.solution_context = Some(hash.clone()).filter(|hash| !hash.is_empty());
        }
        if !session.solution_context_is_refused() {
            session.state.refused_solution_context = None;
        }
        session.solution_context_sent.clone_from(&session.solution_context);
        settle_open_calls(store, &mut session, Abandonment::Ended)?;
        if let Some(new_mode) = new_mode {
            store.change_mode(&mut session, new.ordinal, new_mode, new.now_ms)?;
        }
        let mut system = messages.system.map(|system| Box::<str>::from(system).into());
        if let Some(contexts) = new.contexts {
            let contexts = NewContexts { contexts, boot_message: system.take() };
            store.go_on_under(&mut session, contexts, new.ordinal)?;
        }
        let turn = Turn {
            ordinal: new.ordinal,
            turn_id: new.request.turn_id.clone(),
            status: TurnStatus::Running,
            started_at: new.now_ms,
            updated_at: new.now_ms,
            attempts: 1,
            tools: store.keep_tools(&json_text("A part of the turn", &composed.tools)?)?,
            progress: TurnProgress {
                streaming: new.request.streaming,
                tool_choice: new.request.tool_choice_name.clone(),
                received_tools,
                output_schema: output_schema.transpose()?,
                solution_context,
                context_changed,
                user_warnings: messages.user_warnings,
                warnings: composed.warnings,
                origin: new.origin.to_owned(),
                retrieval,
                caller: new.caller.caller.clone(),
                catalog: Some(new.stamp.clone()),
                turn_tokens: new.caller.grants.turn_tokens,
                trace: TurnTrace { caller: new.trace.cloned(), id: None },
                ..TurnProgress::default()
            },
            fingerprint: new.fingerprint.to_owned(),
            accepted_at: new.now_ms,
            has_transcript: false,
        };
        let composition = json_text("A part of the turn", &messages.trace)?;
        store.begin_turn(&mut session, turn, system, messages.user, &composition)
    })?;
    Ok(StartedTurn { turn, tools: Some(composed.tools), waited_ms: None })
}

/// Takes a client's tool results and stores them; `before_writing` comes between the two. When every call has
/// its result, the outputs join the conversation. Returns the calls that have got a result or a decision, too.
pub(crate) fn continue_turn<D: Database>(
    store: &SessionStore<D>,
    new: NewContinuation<'_>,
    before_writing: impl FnOnce() -> Result<()>,
) -> Result<(StartedTurn, Vec<Call>), Vec<Fault>> {
    let NewContinuation { mut session, mut turn, open, now_ms, .. } = new;
    let mut calls = store.calls(open)?;
    let ForwardedCaller { caller, grants } = new.caller;
    let intake = ResultIntake::new(store, &turn, &calls, new.caller, now_ms)?;
    let given = match_results(&mut calls, new.results, &intake, new.sources)?;
    before_writing()?;
    if given.iter().all(|call| call.approval.is_some()) {
        turn.progress.decisions.push(turn.progress.submission + 1);
    }
    let waited_ms = now_ms.saturating_sub(turn.updated_at);
    turn.progress.begin_counts();
    turn.progress.trace.note_caller(new.trace);
    turn.progress.turn_tokens =
        turn.progress.turn_tokens.into_iter().chain(grants.turn_tokens).min();
    let origin = SubmissionOrigin { caller: caller.clone(), catalog: Some(new.stamp.clone()) };
    store.durable_step(|| {
        store.begin_continuation(
            &mut session,
            &mut turn,
            new.fingerprint,
            origin,
            &given,
            now_ms,
        )?;
        match session.open_calls {
            Some(open) if calls.iter().all(|call| call.result.is_some()) => {
                store.add_tool_outputs(&mut session, open, &outputs_of(&calls)?)
            }
            _ => Ok(()),
        }
    })?;
    Ok((StartedTurn { turn, tools: None, waited_ms: Some(waited_ms) }, given))
}

/// Continues a turn from its last durable step, which may have left a background response to be read. If a later turn's call has already sent this turn's
/// message to the model service, the message is added to the conversation again.
pub(crate) fn resume_turn<D: Database>(
    store: &SessionStore<D>,
    mut session: Session,
    mut turn: Turn,
    stamp: &CatalogStamp,
    now_ms: u64,
) -> Result<StartedTurn> {
    turn.progress.catalog = Some(stamp.clone());
    store.durable_step(|| {
        // A background response is known, also one that is given up.
        if turn.status == TurnStatus::Running {
            session.lose_instance(&mut turn);
        }
        if store.reads_pending_on(&turn)? {
            return store.begin_resumption(&mut session, &mut turn, now_ms);
        }
        store.give_up_pending(&session, &mut turn, now_ms)?;
        // The attempt after a failure forgets from which window the turn began.
        if turn.status != TurnStatus::Running
            && let Some(warning) =
                compaction::user_warning(&turn.progress, &session.state.window, None)
        {
            warning.add_once(&mut turn.progress.user_warnings);
        }
        let own_calls = session.open_calls_of(turn.ordinal).is_some();
        // The turn's next model call takes them.
        let waiting = &mut session.state.waiting_steers_turn;
        *waiting = if *waiting == turn.ordinal { 0 } else { *waiting };
        if !own_calls {
            settle_open_calls(store, &mut session, Abandonment::Overtaken)?;
        }
        let owed = store.entries_after(session.acknowledged)?;
        let is_own = |entry: &&Entry| entry.turn == turn.ordinal && entry.kind != EntryKind::System;
        let mut own = owed.iter().filter(is_own).peekable();
        // A turn that lost its instance between a final text and the steers after it owes those.
        let goes_on_with_steers =
            turn.status == TurnStatus::Running && store.has_unplaced_steers(&turn);
        let owes_its_own = own.peek().is_some() || goes_on_with_steers;
        // The model service may have refused the message before the steers came that were kept.
        let owes_steers_alone =
            owes_its_own && !own_calls && own.all(|entry| entry.kind == EntryKind::Steer);
        let sends_message =
            !owes_steers_alone || store.readmit_message(turn.ordinal, session.acknowledged)?;
        let repeated_message = match own_calls || owes_its_own && sends_message {
            true => None,
            false => {
                let message = store.message_of(turn.ordinal)?;
                message.map(|message| without_old_context(&session, message)).transpose()?
            }
        };
        let repeated_message = repeated_message.as_deref();
        store.begin_attempt(
            &mut session,
            &mut turn,
            SEGMENTS_OF_AN_ATTEMPT,
            repeated_message,
            now_ms,
        )
    })?;
    Ok(StartedTurn { turn, tools: None, waited_ms: None })
}

/// A turn's message, a JSON array of one item, as it is sent once more: without a solution context that another one has
/// replaced since. The model would take it for the present one, and a refusal of it would blame that one.
fn without_old_context(session: &Session, message: String) -> Result<String> {
    let lost = |_| Fault::internal("The session's storage lost the turn's message.");
    let [item]: [&RawValue; 1] = serde_json::from_str(&message).map_err(lost)?;
    // Storage names a text by this hash.
    let shown = solution_context_of(item).map(|text| sha256_hex(text.as_bytes()));
    if shown.is_none() || shown == session.solution_context {
        return Ok(message);
    }
    let left = without_solution_context(item)?.map(|left| format!("[{}]", left.get()));
    Ok(left.unwrap_or(message))
}

/// Whether the solution context that the session has from this request on is the one that the model service refused.
fn brings_refused_context(session: &Session, request: &UserTurn) -> bool {
    let refused = session.state.refused_solution_context.as_ref();
    match &request.solution_context_text {
        // Storage names a text by this hash.
        Some(text) => refused.is_some_and(|refused| *refused == sha256_hex(text.as_bytes())),
        None => session.solution_context_is_refused(),
    }
}

/// The solution context that the turn shows: the request's, else the session's; none when it is the
/// one that the conversation showed last.
fn unshown_solution_context<D: Database>(
    store: &SessionStore<D>,
    session: &Session,
    request: &UserTurn,
) -> Result<Option<String>> {
    let shown = session.solution_context_sent.as_ref();
    match (&request.solution_context_text, &session.solution_context) {
        // Storage names a text by this hash.
        (Some(text), _) if shown == Some(&sha256_hex(text.as_bytes())) => Ok(None),
        (Some(text), _) => Ok(Some(text.clone())),
        (None, Some(latched)) if shown != Some(latched) => store.text(latched).map(Some),
        (None, _) => Ok(None),
    }
}
