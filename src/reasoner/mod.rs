//! Layer 4, Reasoner: the only loop (AGN-027 §4, layer 4). Composition, model call, server tools,
//! and again, until there is an answer, or calls that only the client can run.
//!
//! What comes next is decided from what is stored, so a turn goes on after any cut exactly where
//! its last durable step left it. What happened outside since then happens again: a model call is
//! made again, and a server tool whose answer was not stored yet runs again, with the same
//! `ToolCallId`.
//!
//! Architecture Invariant: only this layer calls the layers before it, repeats a call, or applies a
//! mode change.

mod cancellation;
mod erasure;
mod model_step;
mod retry;
mod run_report;
mod settlement;
mod tool_step;
mod turn_stream;

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, select};

use crate::catalog::{AgentContext, BUILT_IN_TOOLS, Catalog, ConversationContext};
use crate::composition::ToolList;
use crate::contract::{
    AgentExecuteResponse, ErrorCode, Fault, FinalResponse, InvokeResult, ToolCall, ToolCalls,
    ToolContinuationResponse, ToolOutcome, ToolResult, TurnStatus,
};
use crate::files::embeds_contents;
use crate::llm_call::Endpoint;
use crate::persistence::{
    Call, ModelOutputRecord, OpenCalls, RunsOn, Session, SessionStore, StoredOutcome, Turn,
};
use crate::ports::{Database, Deployment, Platform};

pub use cancellation::Cancellation;
pub use erasure::delete_responses;
pub use run_report::{RunReport, Timings};
pub use settlement::{abort, outputs_of, settle_open_calls};
pub use turn_stream::{Outcome, Position, StreamCursor, TurnStream};

/// The most segments that an attempt shows between two durable steps: the text of a model call, what
/// replaces it, and what was said beside the calls without a mode's welcome.
pub const SEGMENTS_OF_AN_ATTEMPT: u32 = 3;

/// AGN-033 §6.1.
const EMBEDDED_CONTENTS: &str = "The answer carries the contents of a file in its text. They may be cut or changed; ask for the file itself.";

/// What a turn runs with.
#[derive(Debug)]
pub struct Reasoner<P, D> {
    /// The machine.
    pub platform: Rc<P>,
    /// The session's storage.
    pub store: Rc<SessionStore<D>>,
    /// The catalog as it was when the submission was accepted.
    pub catalog: Rc<Catalog>,
    /// The deployment's settings.
    pub deployment: Rc<Deployment>,
    /// What the operator will hear of this run.
    pub report: RefCell<RunReport>,
}

/// The working copy of a running turn.
#[derive(Debug)]
struct Work<'a> {
    session: Session,
    turn: Turn,
    tools: ToolList,
    agent: &'a AgentContext,
    conversation: &'a ConversationContext,
    /// When the run ends at the latest, in milliseconds since the epoch.
    deadline_ms: u64,
    stream: &'a TurnStream,
}

impl Work<'_> {
    fn open_calls(&self) -> Option<OpenCalls> {
        self.session.open_calls_of(self.turn.ordinal)
    }
}

impl<P: Platform, D: Database> Reasoner<P, D> {
    /// Runs the turn until it ends or waits for its client, stores how, and gives the answer. Text
    /// goes to `stream` as it comes. The turn must be stored as `running`.
    pub async fn run(
        &self,
        ordinal: u64,
        stream: &TurnStream,
        cancellation: &Cancellation,
    ) -> Outcome {
        let stored = self
            .run_in_time(ordinal, stream, cancellation)
            .await
            .unwrap_or_else(|fault| self.fail(ordinal, fault, stream));
        let timings = self.report.borrow().timings;
        Outcome { http_status: stored.http_status, body: stored.body.into(), timings }
    }

    async fn run_in_time(
        &self,
        ordinal: u64,
        stream: &TurnStream,
        cancellation: &Cancellation,
    ) -> Result<StoredOutcome, Fault> {
        // Dropping the loop at an await aborts what it waits for; every durable step is complete.
        // The stop is looked at first, so that a cancelled turn calls nobody any more.
        let cancelled = pin!(cancellation.requested());
        let timed_out = pin!(self.platform.sleep(self.deployment.turn_timeout_ms));
        let stopped = select(cancelled, timed_out);
        match select(stopped, pin!(self.advance(ordinal, stream))).await {
            Either::Left((Either::Left(_), _)) => {
                Err(Fault::new(ErrorCode::TurnAborted, "The turn was cancelled."))
            }
            Either::Left((Either::Right(_), _)) => Err(Fault::new(
                ErrorCode::UpstreamTimeout,
                format!("The turn did not end within {} ms.", self.deployment.turn_timeout_ms),
            )),
            Either::Right((answer, _)) => answer,
        }
    }

    async fn advance(&self, ordinal: u64, stream: &TurnStream) -> Result<StoredOutcome, Fault> {
        let mut work = self.load(ordinal, stream)?;
        loop {
            if let Some(open) = work.open_calls() {
                if let Some(answer) = self.answer_calls(&mut work, open).await? {
                    return Ok(answer);
                }
            } else if let Some(answer) = self.call_model(&mut work).await? {
                return Ok(answer);
            }
        }
    }

    fn load<'a>(&'a self, ordinal: u64, stream: &'a TurnStream) -> Result<Work<'a>, Fault> {
        let session = self.stored_session()?;
        let turn = self.store.turn_at(ordinal)?;
        let tools = serde_json::from_str(&self.store.text(&turn.tools)?)
            .map_err(|_| Fault::new(ErrorCode::Internal, "The turn's tool list is unreadable."))?;
        let agent = self
            .catalog
            .agent_context(&session.agent_context)
            .ok_or_else(|| context_gone("AgentContext", &session.agent_context))?;
        let conversation = self
            .catalog
            .conversation_context(&session.conversation_context)
            .ok_or_else(|| context_gone("ConversationContext", &session.conversation_context))?;
        let deadline_ms = self.platform.now_ms().saturating_add(self.deployment.turn_timeout_ms);
        Ok(Work { session, turn, tools, agent, conversation, deadline_ms, stream })
    }

    fn stored_session(&self) -> Result<Session, Fault> {
        self.store.session()?.ok_or_else(|| {
            Fault::new(ErrorCode::Internal, "The session's storage lost the session.")
        })
    }

    /// Ends the turn with its final answer. `last` is recorded in the same step.
    fn complete(
        &self,
        work: &mut Work<'_>,
        segment: u32,
        text: String,
        last: &ModelOutputRecord<'_>,
    ) -> Result<StoredOutcome, Fault> {
        let progress = &work.turn.progress;
        let mut user_warnings = progress.user_warnings.clone();
        if embeds_contents(&text) {
            user_warnings.push(EMBEDDED_CONTENTS.to_owned());
        }
        let response = AgentExecuteResponse::Final(FinalResponse {
            session_id: work.session.session_id.clone(),
            turn_id: work.turn.turn_id.clone(),
            mode_display_name: self.catalog.display_name(&work.session.mode).to_owned(),
            primary_output_text: text,
            files: progress.files.iter().map(|file| file.reference.clone()).collect(),
            tool_results: if progress.model_calls > 1 || progress.submission > 0 {
                self.shown_results(work.turn.ordinal)?
            } else {
                Vec::new()
            },
            user_warnings,
            usage: progress.usage,
        });
        let result = InvokeResult::success(&response, progress.warnings.clone());
        let stored = StoredOutcome::of(&result, Some(segment));
        work.turn.status = TurnStatus::Completed;
        work.turn.progress.welcome = None;
        let now = self.platform.now_ms();
        self.store.end(&mut work.session, &mut work.turn, Some(last), &stored, now)?;
        self.ended(&work.turn);
        Ok(stored)
    }

    /// Stops for the client's tools: everything that a continuation needs is stored by now.
    fn pause(&self, work: &mut Work<'_>, calls: &[Call]) -> Result<StoredOutcome, Fault> {
        let waiting = calls.iter().filter(|call| call.is_pending());
        let tool_calls = ToolCalls::new(waiting.map(tool_call).collect())
            .ok_or_else(|| Fault::new(ErrorCode::Internal, "There is no call to wait for."))?;
        let said = work.turn.progress.said_with_calls.clone();
        if let Some((segment, text)) = &said
            && !work.stream.holds(*segment)
        {
            // It was said in an earlier attempt, whose watchers are gone.
            work.stream.append(*segment, text);
        }
        let response = AgentExecuteResponse::ClientToolContinuation(ToolContinuationResponse {
            session_id: work.session.session_id.clone(),
            turn_id: work.turn.turn_id.clone(),
            mode_display_name: self.catalog.display_name(&work.session.mode).to_owned(),
            tool_calls,
            tool_continuation_message: said.as_ref().map(|(_, text)| text.clone()),
        });
        let result = InvokeResult::success(&response, work.turn.progress.warnings.clone());
        let stored = StoredOutcome::of(&result, said.map(|(segment, _)| segment));
        work.turn.status = TurnStatus::AwaitingTools;
        let now = self.platform.now_ms();
        self.store.end(&mut work.session, &mut work.turn, None, &stored, now)?;
        self.ended(&work.turn);
        Ok(stored)
    }

    /// Fails (or aborts) the turn from its last durable step; the session stays usable.
    fn fail(&self, ordinal: u64, fault: Fault, stream: &TurnStream) -> StoredOutcome {
        let aborted = fault.code == ErrorCode::TurnAborted;
        self.report.borrow_mut().code = Some(fault.code);
        let stored = StoredOutcome::of(&fault.into(), None);
        let kept = self.stored_session().and_then(|mut session| {
            let mut turn = self.store.turn_at(ordinal)?;
            let now = self.platform.now_ms();
            if aborted {
                turn.progress.text_so_far = Some(stream.text()).filter(|text| !text.is_empty());
                abort(&self.store, &mut session, &mut turn, &stored, now)?;
            } else {
                turn.status = TurnStatus::Failed;
                self.store.end(&mut session, &mut turn, None, &stored, now)?;
            }
            self.ended(&turn);
            Ok(())
        });
        match kept {
            Ok(()) => stored,
            // The turn stays `running` in storage and is taken up again; the client is told.
            Err(fault) => StoredOutcome::of(&fault.into(), None),
        }
    }

    fn ended(&self, turn: &Turn) {
        let mut report = self.report.borrow_mut();
        report.status = Some(turn.status);
        report.submission = turn.progress.submission;
        report.attempts = turn.attempts;
        report.model_calls = turn.progress.iterations;
        report.usage = turn.progress.usage;
    }

    /// Milliseconds since `earlier`.
    fn since(&self, earlier: u64) -> u64 {
        self.platform.now_ms().saturating_sub(earlier)
    }

    /// What server tools answered. The mode tools speak in mode keys, which no client sees; what
    /// they did shows as `ModeDisplayName`.
    fn shown_results(&self, turn: u64) -> Result<Vec<ToolResult>, Fault> {
        let shown = self.store.turn_calls(turn)?.into_iter().filter(|call| {
            call.runs_on == RunsOn::Server && !BUILT_IN_TOOLS.contains(&call.name.as_str())
        });
        Ok(shown.filter_map(|call| call.result).collect())
    }
}

/// Where and how the model service of an agent context is called.
fn endpoint<P: Platform>(platform: &P, deployment: &Deployment, agent: &AgentContext) -> Endpoint {
    Endpoint {
        base_url: agent.base_url.clone().unwrap_or_else(|| deployment.base_url.clone()),
        api_key: agent.api_key_secret.as_deref().and_then(|name| platform.secret(name)),
        idle_timeout_ms: deployment.upstream_idle_timeout_ms,
    }
}

/// A call as the client sees it.
pub fn tool_call(call: &Call) -> ToolCall {
    ToolCall {
        tool_call_id: call.tool_call_id.clone(),
        name: call.name.clone(),
        // Some services write nothing for a call without arguments.
        arguments_json: match call.arguments.trim() {
            "" => "{}".to_owned(),
            _ => call.arguments.clone(),
        },
    }
}

fn without_result(tool_call_id: &str, why: &str) -> ToolResult {
    ToolResult {
        tool_call_id: tool_call_id.to_owned(),
        execution_ms: 0,
        outcome: ToolOutcome::Error(why.to_owned()),
    }
}

fn context_gone(kind: &str, id: &str) -> Fault {
    Fault::new(
        ErrorCode::ContextNotFound,
        format!("The session is bound to the {kind} {id}, which is no longer in the catalog."),
    )
}
