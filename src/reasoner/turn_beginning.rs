//! The three ways in which a turn comes to run: it begins, its client's tool results let it go on, or
//! it is resumed after a failure or a lost instance.
//!
//! Admission has judged the submission before. Each function is one durable step without an await, so
//! that the second of two equal submissions always finds what the first one stored. A function that
//! fails has written nothing; it fails with `internal` when the storage does.

use serde::Serialize;

use super::retrieval_step::owed_retrieval;
use super::settlement::{outputs_of, settle_open_calls};
use crate::catalog::{Catalog, ConversationContext};
use crate::composition::{ComposedTurn, GivenUp, TurnMaterial, compose_turn};
use crate::contract::{Fault, UserTurn, UserWarning};
use crate::encoding::sha256_hex;
use crate::mcp::ToolLists;
use crate::persistence::{
    Call, EntryKind, NewMode, NewTurn, Session, SessionStore, Turn, TurnProgress,
};
use crate::ports::Database;

/// The most segments that an attempt shows between two durable steps: the text of a model call, its
/// replacements (after a late phase, and at the end), and the text beside calls once more without a
/// mode's welcome and with the commentary.
const SEGMENTS_OF_AN_ATTEMPT: u32 = 4;

/// A new user turn, and what it is composed from besides the session.
#[derive(Debug)]
pub(crate) struct NewUserTurn<'a> {
    pub(crate) request: &'a UserTurn,
    pub(crate) fingerprint: &'a str,
    pub(crate) ordinal: u64,
    pub(crate) catalog: &'a Catalog,
    pub(crate) conversation: &'a ConversationContext,
    /// The tools of the MCP servers that the turn names.
    pub(crate) tool_lists: &'a ToolLists,
    /// Where the client reached the deployment, scheme and authority.
    pub(crate) origin: &'a str,
    pub(crate) now_ms: u64,
}

/// A new turn that is composed, and not stored yet.
#[derive(Debug)]
pub(crate) struct PreparedTurn<'a> {
    session: Session,
    new: NewUserTurn<'a>,
    composed: ComposedTurn,
    /// The default mode, in place of one that the catalog no longer has.
    new_mode: Option<NewMode>,
}

/// Composes a new turn. `faults` are those that admission found: the client gets them together with
/// the fault of a tool choice that the turn does not offer.
pub(crate) fn prepare_turn<'a, D: Database>(
    store: &SessionStore<D>,
    session: Session,
    new: NewUserTurn<'a>,
    mut faults: Vec<Fault>,
) -> Result<PreparedTurn<'a>, Vec<Fault>> {
    let known_mode = new.catalog.mode(&session.mode);
    let mode = known_mode.unwrap_or_else(|| new.catalog.default_mode());
    let new_mode = known_mode.is_none().then(|| NewMode {
        key: mode.key.clone(),
        reason: format!("The catalog no longer has the mode {}.", session.mode),
        branch: false,
    });
    let latched_tools = match &session.client_tools {
        Some(latched) if new.request.tools.is_none() => Some(store.text(latched)?),
        _ => None,
    };
    let solution_context = unshown_solution_context(store, &session, new.request)?;
    let material = TurnMaterial {
        catalog: new.catalog,
        conversation: new.conversation,
        tool_lists: new.tool_lists,
        mode,
        is_first: new.ordinal == 1,
        latched_tools: latched_tools.as_deref(),
        solution_context: solution_context.as_deref(),
    };
    let mut composed = compose_turn(new.request, &material)?;
    if new_mode.is_some() {
        let warning = UserWarning::ModeReplaced { by: &mode.display_name };
        composed.messages.user_warnings.push(warning.to_string());
    }
    faults.extend(composed.unoffered_choice.take());
    match faults.is_empty() {
        true => Ok(PreparedTurn { session, new, composed, new_mode }),
        false => Err(faults),
    }
}

impl PreparedTurn<'_> {
    /// Latches what the request brought, closes the calls of the turn before, and stores the turn as
    /// `running`.
    pub(crate) fn begin<D: Database>(self, store: &SessionStore<D>) -> Result<Turn, Fault> {
        let Self { mut session, new, composed, new_mode } = self;
        let messages = composed.messages;
        let agent = new.catalog.agent_context(&session.agent_context);
        let retrieval = owed_retrieval(agent, new.request, messages.chunks_end);
        store.step(|| {
            if let Some(received) = &composed.received_tools {
                session.client_tools = Some(store.keep_text(received)?);
            }
            if let Some(text) = &new.request.solution_context_text {
                session.solution_context = match text.as_str() {
                    "" => None,
                    text => Some(store.keep_text(text)?),
                };
            }
            session.solution_context_sent.clone_from(&session.solution_context);
            settle_open_calls(store, &mut session, GivenUp::Ended)?;
            if let Some(new_mode) = new_mode {
                store.change_mode(&mut session, new.ordinal, new_mode, new.now_ms)?;
            }
            let mut entries = Vec::with_capacity(2);
            if let Some(system) = messages.system {
                entries.push((EntryKind::System, array_of(Box::<str>::from(system).into())));
            }
            entries.push((EntryKind::User, array_of(messages.user)));
            store.begin_turn(
                &mut session,
                NewTurn {
                    ordinal: new.ordinal,
                    turn_id: &new.request.turn_id,
                    fingerprint: new.fingerprint,
                    tools: &to_json(&composed.tools)?,
                    entries: &entries,
                    composition: &to_json(&messages.trace)?,
                    progress: TurnProgress {
                        streaming: new.request.streaming,
                        tool_choice: new.request.tool_choice_name.clone(),
                        user_warnings: messages.user_warnings,
                        warnings: composed.warnings,
                        origin: new.origin.to_owned(),
                        retrieval,
                        ..TurnProgress::default()
                    },
                    now_ms: new.now_ms,
                },
            )
        })
    }
}

/// Stores a continuation, and hands the outputs back when every one of `calls` has its result.
/// `with_results` are those whose results the client sent.
pub(crate) fn begin_continuation<D: Database>(
    store: &SessionStore<D>,
    session: &mut Session,
    turn: &mut Turn,
    fingerprint: &str,
    calls: &[Call],
    with_results: &[Call],
    now: u64,
) -> Result<(), Fault> {
    store.step(|| {
        store.begin_continuation(session, turn, fingerprint, with_results, now)?;
        match session.open_calls {
            Some(open) if calls.iter().all(|call| call.result.is_some()) => {
                store.hand_back(session, open, &outputs_of(calls)?)
            }
            _ => Ok(()),
        }
    })
}

/// Continues a turn from its last durable step. If a later turn's call has already sent this turn's
/// message to the model service, the message is added to the conversation again.
pub(crate) fn resume_turn<D: Database>(
    store: &SessionStore<D>,
    session: &mut Session,
    turn: &mut Turn,
    now: u64,
) -> Result<(), Fault> {
    store.step(|| {
        let own_calls = session.open_calls_of(turn.ordinal).is_some();
        if !own_calls {
            settle_open_calls(store, session, GivenUp::Overtaken)?;
        }
        let owed = store.entries_after(session.acknowledged)?;
        let owes_its_own =
            owed.iter().any(|entry| entry.turn == turn.ordinal && entry.kind != EntryKind::System);
        let said_again =
            if own_calls || owes_its_own { None } else { store.said_by(turn.ordinal)? };
        store.take_up(session, turn, SEGMENTS_OF_AN_ATTEMPT, said_again.as_deref(), now)
    })
}

/// The solution context that the turn shows: the request's, else the session's; none when it is the
/// one that the conversation showed last.
fn unshown_solution_context<D: Database>(
    store: &SessionStore<D>,
    session: &Session,
    request: &UserTurn,
) -> Result<Option<String>, Fault> {
    let shown = session.solution_context_sent.as_ref();
    match (&request.solution_context_text, &session.solution_context) {
        // Storage names a text by this hash.
        (Some(text), _) if shown == Some(&sha256_hex(text.as_bytes())) => Ok(None),
        (Some(text), _) => Ok(Some(text.clone())),
        (None, Some(latched)) if shown != Some(latched) => store.text(latched).map(Some),
        (None, _) => Ok(None),
    }
}

/// A JSON array of one item, in the item's own memory because it can be long.
fn array_of(item: String) -> String {
    let mut array = item;
    array.reserve_exact(2);
    array.insert(0, '[');
    array.push(']');
    array
}

/// JSON for storage.
fn to_json(value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|_| Fault::unwritable("A part of the turn"))
}
