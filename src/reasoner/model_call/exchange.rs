//! One model call with its retries (interface §4; AGN-027 §3.1.3): the request is composed, sent, and
//! sent again while the failure may be temporary and no text of the output went out to a client. How often and after
//! which waits is in `patience.rs`.

use std::borrow::Cow;
use std::pin::pin;

use futures_util::FutureExt;
use serde_json::value::to_raw_value;

use super::budget::keep_to_budget;
use super::call_recorder::CallRecorder;
use super::conversation_input::Input;
use super::live_segment::LiveSegment;
use super::patience::wait_ms;
use super::refused_definition::{NamedTool, at_schema};
use super::streamed_request::{ReadRequest, StreamedRequest};
use super::transcript::Transcript;
use crate::composition::{ModelRequest, compose_request};
use crate::contract::{Fault, Progress, Result};
use crate::llm_call::{self, CallFailure, Cause, Endpoint, Reading, UsableOutput};
use crate::object::TaskKind;
use crate::persistence::Session;
use crate::ports::{Database, Platform, RequestBody};
use crate::reasoner::running_turn::{Reasoner, RunningTurn};
use crate::responses_api::{ResponseStream, StreamLimits};

/// A model call to make.
pub(crate) struct ModelCall<'a> {
    pub(crate) request: ModelRequest<'a>,
    /// What the call sends of the conversation; nothing if it asks for a summary.
    pub(crate) input: &'a Input,
    /// Where the call's text is shown; `None` for a summary, which no client sees.
    pub(crate) live: Option<LiveSegment<'a>>,
}

/// A model call that has succeeded, or failed for good.
pub(crate) struct Exchange {
    pub(crate) transcript: Transcript,
    pub(crate) ending: Result<UsableOutput, CallFailure>,
    /// The live text holds text of it.
    pub(crate) shown: bool,
    /// The live text holds the welcome message before it.
    pub(crate) welcomed: bool,
}

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Composes the request and makes the call, with retries.
    pub(super) async fn exchange_with_retries(
        &self,
        running: &RunningTurn<'_>,
        call: ModelCall<'_>,
    ) -> Result<Exchange> {
        keep_to_budget(running, self.uncounted_tokens())?;
        let ModelCall { request, input, live } = call;
        let Some(composed) = self.compose(&request, input).await? else {
            // The request is longer than one may be: there is no call, and nobody reads what it would have been.
            let (transcript, ending) = (Transcript::default(), Err(Cause::TooLarge.into()));
            return Ok(Exchange { transcript, ending, shown: false, welcomed: false });
        };
        let platform = self.platform.as_ref();
        let endpoint = Endpoint::of(platform, &self.deployment, running.service())?;
        let endpoint = running.less_patient(endpoint);
        let transcript = self.new_transcript(running, &request, input, &composed)?;
        let taken_over = transcript.retries.len() as u32;
        self.run.under_way.replace(Some(transcript));
        let stores_ids = request.store && running.service().delete_stored;
        let background = request.background;
        let mut recorder =
            CallRecorder { reasoner: self, running, stores_ids, named: 0, background, live };
        // The body can be long, so nobody keeps it while the response is read.
        let mut body = composed.body;
        let mut attempts = 0;
        let ending = loop {
            attempts += 1;
            recorder.begin_another()?;
            let is_for_output = recorder.live.is_some();
            let call = self.call_once(&endpoint, body, &mut recorder);
            let ending = self.unless_interrupted(is_for_output, call).await;
            if ending.as_ref().err().is_none_or(|failure| !failure.may_hide_response()) {
                self.note_under_way(|call| call.awaits_id = false);
            }
            self.hold_if_stopped().await;
            let Err(failure) = &ending else { break ending };
            if self.going_response().is_some() && failure.of_reading() != Reading::Ended {
                break ending;
            }
            let is_another_left = running.services.is_another_left();
            let wait = wait_ms(failure, attempts, platform.random(), is_another_left)
                // A wait past the turn's deadline would replace the real failure by a timeout.
                .filter(|wait| platform.now_ms().saturating_add(*wait) < running.deadline_ms)
                .filter(|_| !running.tries_rung || failure.http_status() != Some(409))
                .filter(|_| keep_to_budget(running, self.uncounted_tokens()).is_ok());
            let Some(waited_ms) = wait.filter(|_| recorder.take_back()) else { break ending };
            self.note_under_way(|call| call.repeat(failure.http_status(), waited_ms));
            self.show_activity(running, Progress::again(waited_ms));
            let waiting = platform.sleep(waited_ms);
            if !is_for_output {
                waiting.await;
            } else if self.interruption.unless_requested(waiting).await.is_none() {
                break Err(Cause::Interrupt.into());
            }
            let again = self.compose(&request, input).await?.map(|composed| composed.body);
            body = again.ok_or_else(|| Fault::internal("A request has grown by itself."))?;
        };
        let continued = request.previous_response_id;
        self.judge_service(running, ending.as_ref().err(), continued, &mut recorder);
        self.conclude(recorder, ending, taken_over + attempts)
    }

    /// The exchange of a call that has ended, after so many attempts.
    pub(super) fn conclude(
        &self,
        recorder: CallRecorder<'_, P, D>,
        ending: Result<UsableOutput, CallFailure>,
        attempts: u32,
    ) -> Result<Exchange> {
        recorder.storage_fault()?;
        let lost = || Fault::internal("The transcript of a model call was lost.");
        let mut transcript = self.take_transcript(None).ok_or_else(lost)?;
        let reading = ending.as_ref().err().map_or(Reading::Ended, CallFailure::of_reading);
        transcript.goes_on.take_if(|_| reading == Reading::Ended);
        let (mut shown, mut welcomed) = (false, false);
        if let Some(live) = recorder.live {
            transcript.segment = live.number;
            (shown, welcomed) = (live.shown, live.welcomed);
        }
        transcript.counted = true;
        // Another service takes the call over, which counts once.
        if !(transcript.moves_on && recorder.running.services.is_another_left()) {
            let mut report = self.run.report.borrow_mut();
            report.count_model_call(
                transcript.started_at,
                transcript.started_at + transcript.duration_ms,
            );
            report.retries += attempts - 1;
        }
        self.run.unrecorded.borrow_mut().push(transcript.clone());
        Ok(Exchange { transcript, ending, shown, welcomed })
    }

    /// Makes the call once; a background response is read on to its end.
    async fn call_once(
        &self,
        endpoint: &Endpoint,
        body: impl RequestBody,
        recorder: &mut CallRecorder<'_, P, D>,
    ) -> Result<UsableOutput, CallFailure> {
        self.note_under_way(|call| (call.awaits_id, call.in_flight) = (call.stored, true));
        let mut stream = match recorder.background {
            false => ResponseStream::new(StreamLimits::RESPONSE),
            true => ResponseStream::resumable(StreamLimits::RESPONSE),
        };
        let ending =
            llm_call::call(self.platform.as_ref(), endpoint, body, &mut stream, recorder).await;
        match recorder.background {
            false => ending,
            true => self.read_on(endpoint, &mut stream, ending, recorder).boxed_local().await,
        }
    }

    /// Waits for a call, and notes that it has ended by itself. An interrupt drops a call for an output, and none for a
    /// summary. Where the model service is to cancel the dropped response, or to delete it with the session, its id is
    /// waited for.
    pub(super) async fn unless_interrupted(
        &self,
        is_for_output: bool,
        call: impl Future<Output = Result<UsableOutput, CallFailure>>,
    ) -> Result<UsableOutput, CallFailure> {
        let mut call = pin!(call);
        let ended = match is_for_output {
            true => self.interruption.unless_requested(call.as_mut()).await,
            false => Some(call.as_mut().await),
        };
        let Some(ending) = ended else {
            self.wait_for_id(call).boxed_local().await;
            return Err(Cause::Interrupt.into());
        };
        self.note_under_way(|call| call.in_flight = false);
        ending
    }

    /// Records a call that failed, with what it has cost, and returns its fault.
    pub(crate) fn record_failure(
        &self,
        running: &mut RunningTurn<'_>,
        mut transcript: Transcript,
        failure: CallFailure,
    ) -> Result<Fault> {
        if failure.is_unsent() {
            return Ok(running.told(failure.into_fault(0), 0, false));
        }
        let refuses_schema = !transcript.summary && running.refuses_schema(&failure);
        let tool = match refuses_schema {
            true => None,
            false => NamedTool::of(&self.store, running, &failure)?,
        };
        self.keep_going_response(running, &mut transcript, &failure)?;
        let fault = failure.into_fault(transcript.attempts());
        let fault = match tool {
            Some(tool) => {
                tool.unlatch(running);
                tool.named_in(fault)
            }
            None if refuses_schema => at_schema(fault),
            None => fault,
        };
        let fault = running.told(fault, transcript.attempts_at_service(), transcript.moves_on);
        transcript.fault = Some(fault.clone());
        self.record_attempt(running, &transcript)?;
        Ok(fault)
    }

    /// Records a call that adds nothing to the conversation, with what it has cost.
    pub(crate) fn record_attempt(
        &self,
        running: &mut RunningTurn<'_>,
        transcript: &Transcript,
    ) -> Result<()> {
        let (session, turn) = (&mut running.session, &mut running.turn);
        transcript.count(session, turn);
        turn.progress.spent = self.run.report.borrow().spent;
        let record = transcript.to_json()?;
        self.store.durable_step(|| {
            self.cancel_response_of(session, transcript, self.platform.now_ms())?;
            self.store.record_attempt(session, turn, &record)
        })?;
        self.note_recorded(transcript.number);
        match transcript.goes_on {
            None => Ok(()),
            Some(_) => (self.start_tasks)(),
        }
    }

    /// Has the model service cancel the response of a call that is recorded and may go on, in the step that records the
    /// call.
    pub(crate) fn cancel_response_of(
        &self,
        session: &Session,
        transcript: &Transcript,
        now_ms: u64,
    ) -> Result<()> {
        match &transcript.goes_on {
            None => Ok(()),
            Some(going) => {
                let service = transcript.service.as_ref().unwrap_or(&session.agent_context);
                self.store.tasks().add(TaskKind::Cancel, &going.id, service, now_ms)
            }
        }
    }

    /// Leaves the response of a failed call pending that may go on at the service: the turn reads it on when it is
    /// repeated.
    fn keep_going_response(
        &self,
        running: &mut RunningTurn<'_>,
        transcript: &mut Transcript,
        failure: &CallFailure,
    ) -> Result<()> {
        let stays = !matches!(failure.of_reading(), Reading::GivenUp | Reading::Ended);
        if let Some(going) = transcript.goes_on.take_if(|_| stays) {
            // Its tokens are counted with its end, and the earlier attempts with this record.
            transcript.usage = None;
            let left =
                Transcript { retries: Vec::new(), unknown_responses: 0, ..transcript.clone() };
            let newest_entry = self.store.newest_entry()?;
            running.turn.progress.pending = Some(left.pending(&going, newest_entry)?);
        }
        Ok(())
    }

    /// Takes the transcript of the call that is under way, as far as it has come.
    pub(crate) fn take_transcript(&self, fault: Option<Fault>) -> Option<Transcript> {
        let mut transcript = self.run.under_way.take()?;
        transcript.duration_ms = self.since(transcript.started_at);
        transcript.fault = fault;
        Some(transcript)
    }

    pub(super) async fn compose<'a>(
        &'a self,
        request: &ModelRequest<'_>,
        input: &'a Input,
    ) -> Result<Option<ReadRequest<'a, D>>> {
        let since = self.platform.now_ms();
        let composed = compose_request(request)?;
        let composed =
            StreamedRequest::read(self.platform.as_ref(), &self.store, composed, &input.entries)
                .await;
        self.run.report.borrow_mut().timings.compose += self.since(since);
        composed
    }

    /// The transcript of a call that is about to be made.
    fn new_transcript(
        &self,
        running: &RunningTurn<'_>,
        request: &ModelRequest<'_>,
        input: &Input,
        composed: &ReadRequest<'_, D>,
    ) -> Result<Transcript> {
        let summarised =
            request.own_item.map(|item| self.store.keep_text(item.get())).transpose()?;
        let template = self.store.keep_template(composed.body.template())?;
        let Transcript { number, started_at, retries, unknown_responses, .. } =
            self.take_over().unwrap_or_else(|| Transcript {
                number: self.next_number(&running.session),
                started_at: self.platform.now_ms(),
                ..Transcript::default()
            });
        let present = running.services.present().id;
        Ok(Transcript {
            summary: summarised.is_some(),
            number,
            mode: running.session.mode.clone(),
            segment: running.turn.progress.next_segment,
            started_at,
            body_sha256: composed.sha256.clone(),
            body_bytes: composed.body.length(),
            template,
            service: running.services.has_fallbacks().then(|| present.to_owned()),
            tools_sent: request.tools.is_some_and(|tools| !tools.0.is_empty()),
            without_hosted_tools: running.own_tools.is_some(),
            tool_choice: request.tool_choice.map(str::to_owned),
            previous_response_id: request.previous_response_id.map(str::to_owned),
            input: input.sent(),
            summarised,
            rebuilt: input.rebuilt,
            unchained: running.session.state.chain.ended,
            reduced: running.session.state.window.rung.filter(|_| request.own_item.is_none()),
            withheld: input.withheld.clone(),
            composition: to_raw_value(&composed.trace)
                .map_err(|_| Fault::unwritable("The trace of a call"))?,
            stored: request.store,
            background: request.background,
            uses_id: request.background || running.service().delete_stored,
            unsupported: running.lacks_background().then_some(Cow::Borrowed("background")),
            unknown_responses,
            retries,
            ..Transcript::default()
        })
    }

    /// The number of a call that is made now. One that failed is recorded only after the summary that it led to.
    fn next_number(&self, session: &Session) -> u64 {
        let number = self.run.newest_call.get().max(session.state.model_calls) + 1;
        self.run.newest_call.set(number);
        number
    }

    /// Notes something of the call that is under way, in its transcript.
    pub(super) fn note_under_way(&self, note: impl FnOnce(&mut Transcript)) {
        if let Some(call) = self.run.under_way.borrow_mut().as_mut() {
            note(call);
        }
    }

    /// Notes that what a call has cost is counted, durably.
    pub(crate) fn note_recorded(&self, number: u64) {
        self.run.unrecorded.borrow_mut().retain(|transcript| transcript.number != number);
    }

    /// The tokens of calls that no record counts yet: of the one under way, and of those that have ended.
    fn uncounted_tokens(&self) -> u64 {
        let (under_way, ended) = (self.run.under_way.borrow(), self.run.unrecorded.borrow());
        let uncounted = under_way.iter().chain(ended.iter());
        uncounted.map(Transcript::total_tokens).fold(0, u64::saturating_add)
    }
}
