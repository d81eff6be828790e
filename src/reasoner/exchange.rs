//! One model call with its retries: the request is composed, sent, and sent again while the failure can
//! pass.

use serde::Serialize;

use super::conversation_input::Input;
use super::endpoint::endpoint;
use super::live_segment::LiveSegment;
use super::retry;
use super::turn_loop::{Reasoner, RunningTurn};
use crate::catalog::Continuation;
use crate::composition::{Block, ComposedRequest, ModelRequest, compose_request};
use crate::contract::{ErrorCode, Fault, Usage};
use crate::encoding::sha256_hex;
use crate::llm_call::{self, CallFailure, UsableOutput};
use crate::persistence::EntrySeq;
use crate::ports::{Database, Platform};

/// The transcript of one model call: its input by place in the conversation, how it went, and what it
/// cost. The content itself stands in the conversation, once.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Transcript {
    pub(super) segment: u32,
    started_at: u64,
    duration_ms: u64,
    body_sha256: String,
    body_bytes: usize,
    previous_response_id: Option<String>,
    first_entry: Option<EntrySeq>,
    last_entry: Option<EntrySeq>,
    rebuilt: bool,
    withheld: Vec<EntrySeq>,
    composition: Vec<Block>,
    pub(super) retries: Vec<Retry>,
    pub(super) response_id: Option<String>,
    pub(super) usage: Option<Usage>,
    pub(super) fault: Option<Fault>,
}

/// An attempt that failed and was followed by another.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Retry {
    http_status: Option<u16>,
    waited_ms: u64,
}

/// A model call that has ended, one way or the other.
pub(super) struct Exchange {
    pub(super) transcript: Transcript,
    pub(super) ending: Result<UsableOutput, CallFailure>,
    /// Text of it has been shown.
    shown: bool,
    /// The welcome message stands before the text already.
    pub(super) welcomed: bool,
}

impl Transcript {
    /// The transcript of a call that begins now, in the turn's next segment.
    fn of(running: &RunningTurn<'_>, input: &Input, composed: &ComposedRequest, now: u64) -> Self {
        Self {
            segment: running.turn.progress.next_segment,
            started_at: now,
            duration_ms: 0,
            body_sha256: sha256_hex(composed.body.as_bytes()),
            body_bytes: composed.body.len(),
            previous_response_id: input.previous_response_id.clone(),
            first_entry: input.entries.first().map(|entry| entry.seq),
            last_entry: input.entries.last().map(|entry| entry.seq),
            rebuilt: input.rebuilt,
            withheld: input.withheld.clone(),
            composition: composed.trace.clone(),
            retries: Vec::new(),
            response_id: None,
            usage: None,
            fault: None,
        }
    }

    /// The text that is stored.
    pub(super) fn to_json(&self) -> Result<String, Fault> {
        serde_json::to_string(self).map_err(|_| {
            Fault::new(ErrorCode::Internal, "The transcript could not be written as JSON.")
        })
    }
}

impl<P: Platform, D: Database> Reasoner<P, D> {
    /// Composes the request and makes the call, with retries.
    pub(super) async fn exchange(
        &self,
        running: &RunningTurn<'_>,
        input: &Input,
    ) -> Result<Exchange, Fault> {
        let composing_since = self.platform.now_ms();
        let composed = self.compose(running, input)?;
        self.report.borrow_mut().timings.compose += self.since(composing_since);
        let started_at = self.platform.now_ms();
        let mut transcript = Transcript::of(running, input, &composed, started_at);
        let endpoint = endpoint(self.platform.as_ref(), &self.deployment, running.agent);
        let welcome = self.welcome(running);
        let mut live = LiveSegment::new(running.live_text, transcript.segment, welcome);
        let mut attempts = 0;
        let ending = loop {
            attempts += 1;
            let ending =
                llm_call::call(self.platform.as_ref(), &endpoint, composed.body.clone(), &mut live)
                    .await;
            let Err(failure) = &ending else { break ending };
            let wait = retry::wait_ms(failure, attempts, self.platform.random())
                // A wait that outlasts the turn would only hide why it failed.
                .filter(|wait| self.platform.now_ms().saturating_add(*wait) < running.deadline_ms);
            let Some(wait) = wait else { break ending };
            transcript.retries.push(Retry { http_status: failure.http_status(), waited_ms: wait });
            self.platform.sleep(wait).await;
        };
        transcript.segment = live.segment;
        transcript.duration_ms = self.since(started_at);
        let mut report = self.report.borrow_mut();
        report.timings.model += transcript.duration_ms;
        report.retries += attempts - 1;
        drop(report);
        Ok(Exchange { transcript, ending, shown: live.shown, welcomed: live.welcomed })
    }

    /// Makes a failed call again with another input. Text that the failed call has shown is taken back.
    pub(super) async fn exchange_again(
        &self,
        running: &mut RunningTurn<'_>,
        failed: &Exchange,
        input: &Input,
    ) -> Result<Exchange, Fault> {
        if failed.shown {
            running.live_text.discard(failed.transcript.segment);
            running.turn.progress.next_segment = failed.transcript.segment + 1;
        }
        self.exchange(running, input).await
    }

    /// The welcome message of a mode that was entered in this turn.
    pub(super) fn welcome(&self, running: &RunningTurn<'_>) -> Option<&str> {
        let key = running.turn.progress.welcome.as_ref()?;
        self.catalog
            .mode(key)
            .map(|mode| mode.welcome_message.as_str())
            .filter(|text| !text.is_empty())
    }

    fn compose(&self, running: &RunningTurn<'_>, input: &Input) -> Result<ComposedRequest, Fault> {
        let items = input.items()?;
        let mode = self.catalog.mode(&running.session.mode);
        let resend = running.agent.resend_tools
            || input.previous_response_id.is_none()
            || running.session.tools_sent.as_ref() != Some(&running.turn.tools)
            // The service refuses a choice among tools that the request does not hold.
            || running.turn.progress.tool_choice.is_some();
        compose_request(&ModelRequest {
            model: running
                .conversation
                .model
                .as_deref()
                .or(running.agent.model.as_deref())
                .unwrap_or(&self.deployment.model),
            instructions: mode.map_or("", |mode| &mode.instructions),
            input: items.iter().map(AsRef::as_ref).collect(),
            tools: resend.then_some(&running.tools),
            tool_choice: running.turn.progress.tool_choice.as_deref(),
            previous_response_id: input.previous_response_id.as_deref(),
            store: running.agent.continuation == Continuation::Stored,
        })
    }
}
