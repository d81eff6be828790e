//! What the session's own endpoints show (interface §1). Times are ISO 8601, UTC.

use std::rc::Rc;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::admission_context::AdmissionContext;
use super::route::TurnPage;
use super::session_host::{SessionHost, unreadable_answer};
use super::tool_results::pending_calls;
use crate::contract::{Fault, SessionId, ToolCall, ToolOutcome, TurnId, TurnStatus, Usage};
use crate::encoding::timestamp;
use crate::persistence::{Call, ModeChange, Session, Turn};
use crate::ports::{Database, Platform};

/// `GET /sessions/{SessionId}`
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SessionView {
    session_id: SessionId,
    mode_display_name: String,
    agent_context_id: String,
    conversation_context_id: String,
    created_at: String,
    updated_at: String,
    /// How many turns were accepted.
    turn_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_turn: Option<TurnSummary>,
    /// The turn that runs or awaits tools; absent when the session takes a new turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    live_turn: Option<TurnSummary>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct TurnSummary {
    turn_id: TurnId,
    status: TurnStatus,
    /// The calls that the client is to run; absent unless the turn awaits tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall>,
}

/// `GET /sessions/{SessionId}/turns/{TurnId}`
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct TurnView {
    session_id: SessionId,
    turn_id: TurnId,
    status: TurnStatus,
    streaming: bool,
    started_at: String,
    updated_at: String,
    /// Absent while the turn runs or awaits tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    /// How often the latest submission was taken up.
    attempts: u32,
    /// Model calls that gave an output.
    model_calls: u32,
    /// Summed over the model calls so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    /// The calls that the client is to run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall>,
    /// What had been said when the turn was aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    text_so_far: Option<String>,
    /// The latest `InvokeResult` as it was given; absent while the turn runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Box<RawValue>>,
}

/// `GET /sessions/{SessionId}/turns`
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct TurnsView {
    session_id: SessionId,
    /// Oldest first.
    turns: Vec<TurnEntry>,
    /// There are turns after the last one shown: ask again with its id as `After`.
    more: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct TurnEntry {
    turn_id: TurnId,
    status: TurnStatus,
    started_at: String,
    updated_at: String,
    /// Summed over the model calls so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

/// `GET /sessions/{SessionId}/turns/{TurnId}/trace`: diagnostics, out of band (AGN-033 §3.1). Sizes,
/// sources, ids and times, never content.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct TraceView {
    session_id: SessionId,
    turn_id: TurnId,
    status: TurnStatus,
    /// How often the latest submission was taken up.
    attempts: u32,
    /// What the turn's message was made of, and what was left out (AGN-027 §7).
    composition: Box<RawValue>,
    /// One entry for each model call: request, retries, rebuild, duration, usage, fault.
    model_calls: Vec<Map<String, Value>>,
    tool_calls: Vec<TracedCall>,
    /// The mode changes of this turn.
    mode_changes: Vec<ModeChange>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct TracedCall {
    /// The model call of the turn that made it, from 0.
    model_call: u32,
    /// The id that clients and tools know it by.
    tool_call_id: String,
    name: String,
    /// `server`, `client`, or `nobody` when it could not be run.
    runs_on: &'static str,
    /// Time that the tool took; absent while the call is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    execution_ms: Option<u64>,
    /// It gave a result rather than an error; absent while the call is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    successful: Option<bool>,
}

/// `GET /sessions/{SessionId}/modes`
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ModesView {
    session_id: SessionId,
    mode_display_name: String,
    /// Every change, oldest first.
    history: Vec<ModeChange>,
}

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    pub(super) fn session_view(
        self: &Rc<Self>,
        context: &AdmissionContext,
        session_id: &SessionId,
    ) -> Result<SessionView, Fault> {
        let session = self.door(context).known_session(session_id)?;
        let latest = self.store.newest_turn()?;
        let live = match session.live_turn {
            Some(ordinal) => Some(self.summary(&session, &self.store.turn_at(ordinal)?)?),
            None => None,
        };
        Ok(SessionView {
            session_id: session.session_id.clone(),
            mode_display_name: display_name(context, &session),
            agent_context_id: session.agent_context.clone(),
            conversation_context_id: session.conversation_context.clone(),
            created_at: timestamp(session.created_at),
            updated_at: timestamp(session.updated_at),
            turn_count: latest.as_ref().map_or(0, |turn| turn.ordinal),
            latest_turn: latest.map(|turn| self.summary(&session, &turn)).transpose()?,
            live_turn: live,
        })
    }

    pub(super) fn turn_view(
        self: &Rc<Self>,
        context: &AdmissionContext,
        session_id: &SessionId,
        turn_id: &TurnId,
    ) -> Result<TurnView, Fault> {
        let (session, turn) = self.door(context).known_turn(session_id, turn_id)?;
        let answer = self.store.outcome(turn.ordinal)?;
        let updated_at = timestamp(turn.updated_at);
        let outcome = answer.map(|answer| RawValue::from_string(answer.body)).transpose();
        Ok(TurnView {
            session_id: session.session_id.clone(),
            turn_id: turn.turn_id.clone(),
            status: turn.status,
            streaming: turn.progress.streaming,
            started_at: timestamp(turn.started_at),
            ended_at: (!turn.status.is_live()).then(|| updated_at.clone()),
            updated_at,
            attempts: turn.attempts,
            model_calls: turn.progress.model_calls,
            usage: turn.progress.usage,
            tool_calls: pending_calls(&self.store, &session, &turn)?,
            text_so_far: turn.progress.text_so_far.clone(),
            outcome: outcome.map_err(|_| unreadable_answer())?,
        })
    }

    pub(super) fn turns_view(
        self: &Rc<Self>,
        context: &AdmissionContext,
        session_id: &SessionId,
        page: &TurnPage,
    ) -> Result<TurnsView, Fault> {
        let session = self.door(context).known_session(session_id)?;
        let after = match &page.after {
            None => None,
            Some(turn_id) => {
                let (_, turn) = self.door(context).known_turn(session_id, turn_id)?;
                Some(turn.ordinal)
            }
        };
        // One more than is shown says whether there is more.
        let mut turns = self.store.turns_after(after, page.limit.saturating_add(1))?;
        let more = turns.len() > page.limit as usize;
        turns.truncate(page.limit as usize);
        let turns: Result<Vec<TurnEntry>, Fault> = turns
            .into_iter()
            .map(|turn| {
                Ok(TurnEntry {
                    status: turn.status,
                    started_at: timestamp(turn.started_at),
                    updated_at: timestamp(turn.updated_at),
                    usage: turn.progress.usage,
                    turn_id: turn.turn_id,
                })
            })
            .collect();
        Ok(TurnsView { session_id: session.session_id, turns: turns?, more })
    }

    pub(super) fn trace_view(
        self: &Rc<Self>,
        context: &AdmissionContext,
        session_id: &SessionId,
        turn_id: &TurnId,
    ) -> Result<TraceView, Fault> {
        let (session, turn) = self.door(context).known_turn(session_id, turn_id)?;
        let history = self.store.mode_history()?;
        Ok(TraceView {
            session_id: session.session_id,
            status: turn.status,
            attempts: turn.attempts,
            composition: self.store.composition(turn.ordinal)?,
            model_calls: self.store.model_calls(turn.ordinal)?,
            tool_calls: self.store.turn_calls(turn.ordinal)?.into_iter().map(traced).collect(),
            mode_changes: history
                .into_iter()
                .filter(|change| change.turn_id == turn.turn_id)
                .collect(),
            turn_id: turn.turn_id,
        })
    }

    pub(super) fn modes_view(
        self: &Rc<Self>,
        context: &AdmissionContext,
        session_id: &SessionId,
    ) -> Result<ModesView, Fault> {
        let session = self.door(context).known_session(session_id)?;
        Ok(ModesView {
            mode_display_name: display_name(context, &session),
            session_id: session.session_id,
            history: self.store.mode_history()?,
        })
    }

    fn summary(&self, session: &Session, turn: &Turn) -> Result<TurnSummary, Fault> {
        Ok(TurnSummary {
            turn_id: turn.turn_id.clone(),
            status: turn.status,
            tool_calls: pending_calls(&self.store, session, turn)?,
        })
    }
}

/// The mode's name; its key where there is no catalog to say it.
fn display_name(context: &AdmissionContext, session: &Session) -> String {
    let catalog = context.catalog.as_ref();
    catalog.map_or(session.mode.as_str(), |catalog| catalog.display_name(&session.mode)).to_owned()
}

fn traced(call: Call) -> TracedCall {
    TracedCall {
        model_call: call.model_call,
        tool_call_id: call.tool_call_id,
        name: call.name,
        runs_on: call.runs_on.as_str(),
        execution_ms: call.result.as_ref().map(|answer| answer.execution_ms),
        successful: call
            .result
            .as_ref()
            .map(|answer| matches!(answer.outcome, ToolOutcome::Result(_))),
    }
}
