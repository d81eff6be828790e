//! One step of the loop: it calls the model with the entries that the model has not got yet, and stores
//! the output.

use std::collections::BTreeSet;

use futures_util::FutureExt;

use super::approval::{is_made_again, question};
use super::model_call::{Exchange, Input, Transcript, can_fall_back};
use super::run_ending::warn_of_contents;
use super::running_turn::{Reasoner, RunningTurn, SEGMENTS_OF_AN_ATTEMPT};
use super::settlement::missing_result;
use super::sources::sources;
use super::tool_step::warn_of_mode_changes;
use crate::catalog::BuiltInTool;
use crate::composition::NoResult;
use crate::contract::{ErrorCode, Fault, Progress, Result, UserWarning, json_text};
use crate::json::{is_ambiguous, is_json};
use crate::llm_call::UsableOutput;
use crate::persistence::{
    Call, ModelOutputRecord, PendingResponse, RunsOn, StoredOutcome, TurnProgress, question_id,
};
use crate::ports::{Database, Platform};
use crate::responses_api::{FunctionCall, HostedCall, ModelOutput, holds_unanswered_call};

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Calls the model and stores its output. `None` when the output holds calls, which run next.
    pub(super) async fn call_model(
        &self,
        running: &mut RunningTurn<'_>,
    ) -> Result<Option<StoredOutcome>> {
        self.note_trace(&mut running.turn);
        running.refused_bodies.clear();
        let pending = self.pending_response(running)?;
        let (called, calling) = match pending {
            Some(pending) => {
                let iteration = running.turn.progress.iterations + 1;
                self.show_activity(running, Progress::ModelCall { iteration });
                let calling = self.interruption.go_on();
                (self.resume_call(running, pending).boxed_local().await?, calling)
            }
            None => {
                let Some(input) = self.next_input(running).await? else { return Ok(None) };
                let calling = self.interruption.begin();
                let exchange = self.call_for_output(running, &input).await?;
                (Some((input, exchange)), calling)
            }
        };
        let Some((input, exchange)) = called else { return Ok(None) };
        let exchange = match exchange.ending {
            Ok(_) => exchange,
            Err(_) => self.mended(running, input, exchange).boxed_local().await?,
        };
        drop(calling);
        let Exchange { transcript, ending, welcomed, shown } = exchange;
        match ending {
            Ok(usable) => {
                self.keep_pictures(running, &usable.output).await;
                self.store_output(running, transcript, usable, welcomed).await
            }
            Err(failure) if failure.is_interrupt() => {
                self.drop_call(running, transcript, shown).map(|()| None)
            }
            Err(failure) => {
                self.return_to_service(running)?;
                Err(self.record_failure(running, transcript, failure)?)
            }
        }
    }

    /// Repeats a failed call with the remedies for it, then at other services, and returns the last call.
    async fn mended(
        &self,
        running: &mut RunningTurn<'_>,
        input: Input,
        exchange: Exchange,
    ) -> Result<Exchange> {
        let mut exchange = self.remedied(running, input, exchange).await?;
        while can_fall_back(running, &exchange) {
            self.fall_back(running, exchange)?;
            let input = Input::unsent(&self.store, running)?;
            exchange = self.call_for_output(running, &input).await?;
            exchange = self.remedied(running, input, exchange).await?;
        }
        Ok(exchange)
    }

    /// The background response that the turn reads on. One of a service that the catalog no longer names is given up.
    fn pending_response(&self, running: &mut RunningTurn<'_>) -> Result<Option<PendingResponse>> {
        let Some(pending) = &running.turn.progress.pending else { return Ok(None) };
        if running.services.go_to(pending.service.as_deref()) {
            self.go_to_service(running)?;
            return Ok(running.turn.progress.pending.take());
        }
        let (session, turn) = (&running.session, &mut running.turn);
        // Watchers may have text of it, which that of another response must not grow behind.
        turn.progress.next_segment += SEGMENTS_OF_AN_ATTEMPT;
        let now = self.platform.now_ms();
        self.store.durable_step(|| {
            self.store.give_up_pending(session, turn, now)?;
            self.store.save_progress(turn)
        })?;
        Ok(None)
    }

    /// The input of the next model call, behind the boundary that takes the steers; `None` when others have come
    /// meanwhile.
    async fn next_input(&self, running: &mut RunningTurn<'_>) -> Result<Option<Input>> {
        self.deliver_steers(running).await?;
        let limit = running.agent.max_iterations.unwrap_or(self.deployment.max_iterations);
        if running.turn.progress.iterations_of_latest_words() >= limit {
            let message = format!(
                "The turn was not done after {limit} model calls. Send the same request again to go on with as many, or ask for less at once."
            );
            return Err(Fault::new(ErrorCode::IterationLimitExceeded, message));
        }
        let iteration = running.turn.progress.iterations + 1;
        self.show_activity(running, Progress::ModelCall { iteration });
        self.choose_service(running)?;
        let input = Input::unsent(&self.store, running)?;
        let input = self.within_threshold(running, input).await?;
        self.take_lease(running).await?;
        if self.store.owes_steers(&running.turn) {
            // They came during a compaction or the question for a lease, and this call can still take them.
            return Ok(None);
        }
        Ok(Some(input))
    }

    /// Stores an output: a final text ends the turn unless steers have come, calls become open.
    async fn store_output(
        &self,
        running: &mut RunningTurn<'_>,
        mut transcript: Transcript,
        usable: UsableOutput,
        welcomed: bool,
    ) -> Result<Option<StoredOutcome>> {
        let UsableOutput { output, cut_off } = usable;
        let segment = transcript.segment;
        transcript.hosted_calls =
            output.items.iter().filter_map(|item| HostedCall::read(item)).collect();
        let compaction = self.compaction_in(running, &output.items).await?;
        let calls = self.calls_of(running, &output)?;
        let change_mode = BuiltInTool::ChangeMode.as_str();
        let mode_changes = calls.iter().filter(|call| call.name == change_mode).count();

        let now = self.platform.now_ms();
        running.session.hold_rung(now);
        self.stay_with_service(running);
        running.comes_anew = false;
        transcript.unanswered = holds_unanswered_call(&output.items);
        if running.is_chained() {
            let goes_on = running.continues_chain() && !transcript.unanswered;
            running.session.chain_head = output.response_id.clone().filter(|_| goes_on);
            let chain = &mut running.session.state.chain;
            chain.grown_at = now;
            if transcript.previous_response_id.is_some() {
                chain.lost_early = 0;
            }
        } else {
            // The catalog may ask for a chain again, and none holds this output.
            running.session.drop_chain();
        }
        running.session.tools_sent = running.whole_tools().cloned();
        latch_tools(running);
        transcript.count(&mut running.session, &mut running.turn);
        let progress = &mut running.turn.progress;
        progress.spent = self.run.report.borrow().spent;
        progress.model_calls += 1;
        progress.iterations += 1;
        progress.next_segment = segment + 1;
        progress.tool_choice = None;
        if mode_changes > 1 {
            warn_of_mode_changes(progress);
        }
        let items = json_text("The model output", &output.items)?;
        let record = ModelOutputRecord {
            items: &items,
            calls: &calls,
            record: &transcript.to_json()?,
            compaction,
        };
        if calls.is_empty() {
            let flaws = flaws_of(progress, &output, cut_off.as_deref());
            let text = self.final_text(running, segment, &output);
            let ended = self.complete(running, segment, text, flaws, &record).await?;
            self.note_recorded(transcript.number);
            return Ok(ended);
        }
        let waits = calls.iter().any(Call::is_pending);
        progress.text_with_calls = None;
        let is_shown = waits && !output.text.is_empty();
        // The welcome belongs to the final text, and the segment lacks the commentary.
        let differs = welcomed || output.text_with_commentary.is_some();
        if differs || !is_shown {
            running.live_text.discard(segment);
        }
        if is_shown {
            let text = output.text_with_commentary.unwrap_or(output.text);
            warn_of_contents(&text, &mut progress.user_warnings);
            let mut segment = segment;
            if differs {
                segment += 1;
                running.live_text.append(segment, &text);
                progress.next_segment = segment + 1;
            }
            progress.text_with_calls = Some((segment, text));
        }
        self.store.record_output(&mut running.session, &mut running.turn, &record, now)?;
        self.note_recorded(transcript.number);
        Ok(None)
    }

    /// The calls of an output, and who runs each. A call that nobody can run gets a result that says why.
    fn calls_of(&self, running: &RunningTurn<'_>, output: &ModelOutput) -> Result<Vec<Call>> {
        if output.calls.is_empty() {
            return Ok(Vec::new());
        }
        let mut taken = self.store.call_ids(running.turn.ordinal)?;
        let asks = running.tools.0.iter().any(|tool| tool.approval.is_some());
        let refused =
            if asks { self.store.refused_calls(running.turn.ordinal)? } else { Vec::new() };
        let model_call = running.turn.progress.model_calls;
        let calls = output.calls.iter().zip(0..).map(|(made, position): (&FunctionCall, u32)| {
            let tool = running.tools.get(&made.name);
            let asked = tool.and_then(|tool| tool.approval.as_ref());
            let (runs_on, why) = match tool {
                None => (RunsOn::Nobody, Some(NoResult::UnknownTool(&made.name))),
                Some(tool) if tool.on_server && asked.is_none() => (RunsOn::Server, None),
                Some(_) if !are_readable(&made.arguments, asked.is_some()) => {
                    (RunsOn::Nobody, Some(NoResult::MalformedArguments))
                }
                Some(_) if refused.iter().any(|call| is_made_again(call, made)) => {
                    (RunsOn::Nobody, Some(NoResult::RefusedByUser("")))
                }
                Some(tool) if tool.on_server => (RunsOn::Server, None),
                Some(_) => (RunsOn::Client, None),
            };
            let approval = asked.filter(|_| why.is_none()).map(question);
            let numbered = format!("{}.{model_call}.{position}", made.call_id);
            let mut call = Call {
                model_call,
                position,
                call_id: made.call_id.clone(),
                tool_call_id: free_id(&taken, &made.call_id, &numbered, approval.is_some()),
                name: made.name.clone(),
                arguments: made.arguments.clone(),
                runs_on,
                approval,
                result: None,
            };
            taken.extend(call.ids());
            call.result = why.map(|why| missing_result(&call.tool_call_id, why));
            call
        });
        Ok(calls.collect())
    }

    /// The final text, behind the welcome message of a mode that was entered in this turn, and before the
    /// pages that it cites and does not name.
    fn final_text(&self, running: &RunningTurn<'_>, segment: u32, output: &ModelOutput) -> String {
        let mut text = output.text.clone();
        if !self.parameters(running).text_is_json
            && let Some(sources) = sources(&text, &output.citations)
        {
            running.live_text.append(segment, &sources);
            text.push_str(&sources);
        }
        match self.welcome(running) {
            None => text,
            Some(welcome) if text.is_empty() => {
                running.live_text.append(segment, welcome);
                welcome.to_owned()
            }
            // The live text has shown it before any other text.
            Some(welcome) => format!("{welcome}\n\n{text}"),
        }
    }
}

/// Latches the client tools that the turn's request brought, now that the model service has taken them. A turn that was
/// run again after others takes nothing from the others.
fn latch_tools(running: &mut RunningTurn<'_>) {
    let (session, turn) = (&mut running.session, &running.turn);
    if turn.progress.received_tools.is_some() && session.state.client_tools_turn <= turn.ordinal {
        session.client_tools.clone_from(&turn.progress.received_tools);
        session.state.client_tools_turn = turn.ordinal;
        if session.state.untaken_tools_turn <= turn.ordinal {
            session.state.untaken_tools_turn = 0;
        }
    }
}

/// The id of a new call: the model's, or else `numbered`, or that with a further number. No call of the turn has
/// the id, and no question; where a human is asked about the new call, neither has any the question's id.
///
/// Some services number the calls of each response from the start.
fn free_id(taken: &BTreeSet<String>, made: &str, numbered: &str, is_asked: bool) -> String {
    let is_taken = |id: &String| taken.contains(id) || is_asked && taken.contains(&question_id(id));
    let further = (1..).map(|number| format!("{numbered}.{number}"));
    let mut ids = [made.to_owned(), numbered.to_owned()].into_iter().chain(further);
    ids.find(|id| !is_taken(id)).unwrap_or_default()
}

/// Whether a client can read the arguments: JSON, or none at all. Where a human is asked, who must see what the
/// tool will take them for, they have one reading.
fn are_readable(arguments: &str, is_asked: bool) -> bool {
    arguments.trim().is_empty() || is_json(arguments) && !(is_asked && is_ambiguous(arguments))
}

/// The warnings about a final text.
fn flaws_of(progress: &TurnProgress, output: &ModelOutput, cut_off: Option<&str>) -> Vec<String> {
    let incomplete = cut_off.map(|reason| UserWarning::AnswerIncomplete { reason });
    let is_empty = output.text.is_empty() && progress.files.is_empty();
    let flaw = match (output.refusal, is_empty) {
        (true, _) => Some(UserWarning::AnswerRefused),
        (false, true) => Some(UserWarning::AnswerEmpty),
        (false, false) => None,
    };
    incomplete.into_iter().chain(flaw).map(|warning| warning.to_string()).collect()
}
