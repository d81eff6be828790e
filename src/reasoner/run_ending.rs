//! The ways in which a run ends: the final text, a pause for the client's tools, a failure or an abort.
//! Each stores the outcome of the submission.

use super::approval::tool_call;
use super::compaction;
use super::model_call::{Transcript, estimate_cost};
use super::running_turn::{Reasoner, RunningTurn};
use super::settlement::was_not_executed;
use super::turn_ending::{TurnEnd, end_turn};
use crate::catalog::BuiltInTool;
use crate::contract::{
    AgentExecuteResponse, ErrorCode, Fault, FinalResponse, InvokeResult, Result, ToolCalls,
    ToolContinuationResponse, ToolOutcome, ToolResult, TurnStatus, UserWarning,
};
use crate::files::{embeds_contents, embeds_contents_of_its_own, without_part_contents};
use crate::live_text::LiveText;
use crate::persistence::{Call, ModelOutputRecord, StoredOutcome, Turn};
use crate::ports::{CHUNK_BYTES, Database, Platform};

/// Warns where a text that a client shows holds what should be a file.
pub(super) fn warn_of_contents(text: &str, user_warnings: &mut Vec<String>) {
    if embeds_contents(text) {
        UserWarning::ContentsInText.add_once(user_warnings);
    }
}

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Ends the turn with its final text, and records `last` in the same durable step. `None` when steers came before
    /// that step: the text is recorded and taken back, and the model is called next. `flaws` are warnings about the text.
    pub(super) async fn complete(
        &self,
        running: &mut RunningTurn<'_>,
        segment: u32,
        text: String,
        flaws: Vec<String>,
        last: &ModelOutputRecord<'_>,
    ) -> Result<Option<StoredOutcome>> {
        let progress = &running.turn.progress;
        let mut user_warnings = [progress.user_warnings.as_slice(), &flaws].concat();
        let tool_results = match progress.model_calls > 1 || progress.submission > 0 {
            true => self.shown_results(&running.turn, &mut user_warnings).await?,
            false => Vec::new(),
        };
        let window = &running.session.state.window;
        let compacted = compaction::user_warning(progress, window, last.compaction.as_ref());
        user_warnings.extend(compacted.map(|warning| warning.to_string()));
        warn_of_contents(&text, &mut user_warnings);
        let response = AgentExecuteResponse::Final(FinalResponse {
            session_id: running.session.session_id.clone(),
            turn_id: running.turn.turn_id.clone(),
            mode_display_name: self.catalog.display_name(&running.session.mode).to_owned(),
            primary_output_text: text,
            files: progress.files.iter().map(|file| file.reference.clone()).collect(),
            tool_results,
            user_warnings,
            usage: progress.usage,
        });
        let ended = self.store.durable_step(|| {
            let RunningTurn { session, turn, .. } = &mut *running;
            if self.store.owes_steers(turn) {
                // Steers came before the turn's end, so it goes on. The text stays in the conversation.
                turn.progress.text_with_calls = None;
                self.store.record_output(session, turn, last, self.platform.now_ms())?;
                return Ok(None);
            }
            let progress = &mut turn.progress;
            progress.welcome = None;
            progress.user_warnings.extend(flaws);
            let (status, segment) = (TurnStatus::Completed, Some(segment));
            self.succeed(running, status, &response, segment, Some(last)).map(Some)
        })?;
        if ended.is_none() {
            running.live_text.discard(segment);
        }
        Ok(ended)
    }

    /// Pauses for the client's tools. The earlier steps have stored all that a continuation needs.
    pub(super) fn pause(
        &self,
        running: &mut RunningTurn<'_>,
        calls: &[Call],
    ) -> Result<StoredOutcome> {
        let waiting = calls.iter().filter(|call| call.is_pending());
        let tool_calls = ToolCalls::new(waiting.map(tool_call).collect())
            .ok_or_else(|| Fault::internal("There is no call to wait for."))?;
        let text_with_calls = running.turn.progress.text_with_calls.clone();
        if let Some((segment, text)) = &text_with_calls
            && !running.live_text.holds(*segment)
        {
            // The text comes from an earlier attempt, whose watchers are gone.
            running.live_text.append(*segment, text);
        }
        let response = AgentExecuteResponse::ClientToolContinuation(ToolContinuationResponse {
            session_id: running.session.session_id.clone(),
            turn_id: running.turn.turn_id.clone(),
            mode_display_name: self.catalog.display_name(&running.session.mode).to_owned(),
            tool_calls,
            tool_continuation_message: text_with_calls.as_ref().map(|(_, text)| text.clone()),
        });
        let kept_segment = text_with_calls.map(|(segment, _)| segment);
        self.succeed(running, TurnStatus::AwaitingTools, &response, kept_segment, None)
    }

    fn succeed(
        &self,
        running: &mut RunningTurn<'_>,
        status: TurnStatus,
        response: &AgentExecuteResponse,
        kept_segment: Option<u32>,
        last: Option<&ModelOutputRecord<'_>>,
    ) -> Result<StoredOutcome> {
        let RunningTurn { session, turn, .. } = running;
        let result = InvokeResult::success_with(response, turn.progress.warnings.clone());
        let stored = StoredOutcome::of(&result, kept_segment);
        let now_ms = self.platform.now_ms();
        let catalog = Some(self.catalog.as_ref());
        let end = TurnEnd { status, outcome: &stored, last, gives_up: false, catalog, now_ms };
        // The alarm of a run is set.
        end_turn(self.platform.as_ref(), &self.store, session, turn, end, || Ok(()))?;
        self.run.report.borrow_mut().end(turn);
        Ok(stored)
    }

    /// Ends the turn as failed or aborted after its last durable step. The session stays usable.
    pub(super) fn fail(&self, ordinal: u64, fault: Fault, live_text: &LiveText) -> StoredOutcome {
        let aborted = fault.code == ErrorCode::TurnAborted;
        self.count_cut();
        self.run.report.borrow_mut().fail(&fault);
        let kept = self.store.session_of_turn().and_then(|mut session| {
            let mut turn = self.store.turn_at(ordinal)?;
            let stored = StoredOutcome::of_failure(&fault, &turn);
            self.note_trace(&mut turn);
            turn.progress.spent = self.run.report.borrow().spent;
            // What is spent is spent out of it, though no step has stored it.
            session.state.lease = self.run.leased.get().or(session.state.lease);
            let now_ms = self.platform.now_ms();
            self.store.durable_step(|| {
                for mut transcript in self.take_uncounted(&fault) {
                    estimate_cost(&self.store, &session, &mut transcript)?;
                    transcript.count(&mut session, &mut turn);
                    self.store.give_up_pending(&session, &mut turn, now_ms)?;
                    self.cancel_response_of(&session, &transcript, now_ms)?;
                    self.store.record_attempt(&session, &mut turn, &transcript.to_json()?)?;
                }
                if aborted {
                    let text = live_text.text();
                    turn.progress.text_so_far = Some(text).filter(|text| !text.is_empty());
                }
                let status = if aborted { TurnStatus::Aborted } else { TurnStatus::Failed };
                let (last, catalog) = (None, Some(self.catalog.as_ref()));
                let end =
                    TurnEnd { status, outcome: &stored, last, gives_up: false, catalog, now_ms };
                end_turn(self.platform.as_ref(), &self.store, &mut session, &mut turn, end, || {
                    Ok(())
                })
            })?;
            self.run.report.borrow_mut().end(&turn);
            Ok(stored)
        });
        // Where the storage fails, it still says `running`, so the turn is resumed later. The client gets the failure.
        kept.unwrap_or_else(|fault| StoredOutcome::of(&fault.into(), None))
    }

    /// The transcripts of the calls that the end of the run has cut off before they were counted.
    fn take_uncounted(&self, fault: &Fault) -> Vec<Transcript> {
        let mut uncounted = self.run.unrecorded.take();
        for transcript in &mut uncounted {
            transcript.fault.get_or_insert_with(|| fault.clone());
        }
        uncounted.extend(self.take_transcript(Some(fault.clone())));
        uncounted
    }

    /// Counts what the end of the run has cut: the model call or the tools that were under way, and a call that was about
    /// to go on at another service.
    fn count_cut(&self) {
        let (now, mut report) = (self.platform.now_ms(), self.run.report.borrow_mut());
        if let Some(transcript) = self.run.under_way.borrow_mut().as_mut()
            && !std::mem::replace(&mut transcript.counted, true)
        {
            report.count_model_call(transcript.started_at, now);
        }
        // One that another service was to take over, and to which no call was made.
        if let Some(failed) = self.run.taken_over.take() {
            report.count_model_call(failed.started_at, failed.started_at + failed.duration_ms);
            report.retries += failed.retries.len().saturating_sub(1) as u32;
        }
        report.end_tools(u64::MAX, now);
    }

    /// The server tools' results, without the contents of files that are content parts. Contents under another name stay,
    /// with a warning. The mode tools' results name mode keys, which clients must not see; `ModeDisplayName` shows their
    /// effect.
    async fn shown_results(
        &self,
        turn: &Turn,
        user_warnings: &mut Vec<String>,
    ) -> Result<Vec<ToolResult>> {
        let mut shown = Vec::new();
        for (name, mut result) in self.store.server_results(turn.ordinal)? {
            if BuiltInTool::parse(&name).is_some() || was_not_executed(&result) {
                continue;
            }
            if let ToolOutcome::Result(json) = &mut result.outcome {
                if json.len() > CHUNK_BYTES {
                    self.platform.yield_to_others().await;
                }
                let files = &turn.progress.files;
                let without = without_part_contents(self.platform.as_ref(), files, json).await;
                *json = without.unwrap_or_else(|| std::mem::take(json));
                if embeds_contents_of_its_own(json) {
                    UserWarning::ContentsInResult { tool: &name }.add_once(user_warnings);
                }
            }
            shown.push(result);
        }
        Ok(shown)
    }
}
