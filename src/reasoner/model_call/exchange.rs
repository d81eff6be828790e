//! One model call with its retries (interface §3; AGN-027 §3.1.3): the request is composed, sent, and
//! sent again while the failure may be temporary and no text of the answer went out to a client.
//!
//! Two retries for 408, 409, 429, 5xx, connections that failed or broke, and failures inside the stream
//! that pass; the service's `Retry-After` up to a minute, else a backoff with jitter, as the service's own
//! clients do. A longer `Retry-After` ends the turn: its client is told when to come back.

use super::budget::permit;
use super::conversation_input::Input;
use super::live_segment::{Learns, LiveSegment};
use super::streamed_request::{ReadRequest, StreamedRequest};
use super::transcript::Transcript;
use crate::catalog::{AgentContext, Compaction, CompactionBy};
use crate::composition::{CallParameters, ModelRequest, SummaryRequest, compose_request};
use crate::contract::{Fault, Progress};
use crate::llm_call::{self, CallFailure, Endpoint, UsableOutput};
use crate::outbound::SecretHeaders;
use crate::persistence::Session;
use crate::ports::{Database, Deployment, Platform, RequestBody};
use crate::reasoner::running_turn::{Reasoner, RunningTurn};
use crate::responses_api::Reported;

/// The most calls for one request, the first included.
const MAX_CALLS: u32 = 3;

/// The longest wait that a service can ask for, in milliseconds.
const MAX_RETRY_AFTER_MS: u64 = 60_000;

/// What a model call is made for.
#[derive(Clone, Copy)]
pub(in crate::reasoner) enum Asked<'a> {
    /// The next output of the conversation.
    Output(&'a Input),
    /// A summary of earlier turns.
    Summary(&'a SummaryRequest),
}

impl<'a> Asked<'a> {
    /// Whether the service is asked to store the response.
    fn is_stored(self, running: &RunningTurn<'_>) -> bool {
        self.input().is_some() && running.is_chained()
    }

    fn input(self) -> Option<&'a Input> {
        match self {
            Self::Output(input) => Some(input),
            Self::Summary(_) => None,
        }
    }
}

/// A model call that has succeeded, or failed for good.
pub(in crate::reasoner) struct Exchange {
    pub(in crate::reasoner) transcript: Transcript,
    pub(in crate::reasoner) ending: Result<UsableOutput, CallFailure>,
    /// The live text holds text of it.
    shown: bool,
    /// The live text holds the welcome message before it.
    pub(in crate::reasoner) welcomed: bool,
}

impl<P: Platform, D: Database> Reasoner<P, D> {
    /// Composes the request and makes the call, with retries.
    pub(in crate::reasoner) async fn exchange(
        &self,
        running: &RunningTurn<'_>,
        asked: Asked<'_>,
    ) -> Result<Exchange, Fault> {
        permit(running, 0)?;
        let composed = self.compose(running, asked).await?;
        let platform = self.platform.as_ref();
        let endpoint = endpoint(platform, &self.deployment, running.agent)?;
        let segment = running.turn.progress.next_segment;
        let started_at = platform.now_ms();
        let input = asked.input();
        let summarised = match asked {
            Asked::Output(_) => None,
            Asked::Summary(request) => Some(self.store.keep_text(request.input.get())?),
        };
        let request = self.request(running, asked);
        self.under_way.replace(Some(Transcript {
            summary: input.is_none(),
            number: self.next_number(&running.session),
            mode: running.session.mode.clone(),
            segment,
            started_at,
            duration_ms: 0,
            body_sha256: composed.sha256,
            body_bytes: composed.body.length(),
            template: self.store.keep_template(&composed.template)?,
            tools_sent: request.tools.is_some_and(|tools| !tools.0.is_empty()),
            tool_choice: request.tool_choice.map(str::to_owned),
            previous_response_id: request.previous_response_id.map(str::to_owned),
            input: input.map(Input::sent).unwrap_or_default(),
            summarised,
            rebuilt: input.is_some_and(|input| input.rebuilt),
            unchained: running.session.state.chain.ended,
            withheld: input.map(|input| input.withheld.clone()).unwrap_or_default(),
            composition: composed.trace,
            stored: asked.is_stored(running),
            hosted_calls: Vec::new(),
            retries: Vec::new(),
            response_id: None,
            usage: None,
            fault: None,
        }));
        let ledger = Ledger { reasoner: self, running, is_stored: asked.is_stored(running) };
        let mut live = match asked {
            Asked::Output(_) => {
                LiveSegment::new(running.live_text, segment, self.welcome(running), &ledger)
            }
            Asked::Summary(_) => LiveSegment::mute(running.live_text, segment, &ledger),
        };
        // The body can be long, so nobody keeps it while the response is read.
        let mut body = composed.body;
        let mut attempts = 0;
        let ending = loop {
            attempts += 1;
            let ending = llm_call::call(platform, &endpoint, body, &mut live).await;
            let Err(failure) = &ending else { break ending };
            let wait = wait_ms(failure, attempts, platform.random())
                // A wait past the turn's deadline would replace the real failure by a timeout.
                .filter(|wait| platform.now_ms().saturating_add(*wait) < running.deadline_ms)
                .filter(|_| permit(running, self.spent_under_way()).is_ok());
            let Some(waited_ms) = wait.filter(|_| live.take_back()) else { break ending };
            if let Some(transcript) = self.under_way.borrow_mut().as_mut() {
                transcript.repeat(failure.http_status(), waited_ms);
            }
            self.step(running, Progress::Retry { after_ms: waited_ms });
            platform.sleep(waited_ms).await;
            body = self.compose(running, asked).await?.body;
        };
        ledger.fault()?;
        let mut transcript = self.cut_off(None).ok_or_else(lost_transcript)?;
        transcript.segment = live.segment;
        let mut report = self.report.borrow_mut();
        report.timings.model += transcript.duration_ms;
        report.retries += attempts - 1;
        drop(report);
        Ok(Exchange { transcript, ending, shown: live.shown, welcomed: live.welcomed })
    }

    /// Records a failed call and makes it again with another input. The text that the failed call has
    /// shown is discarded.
    pub(in crate::reasoner) async fn exchange_again(
        &self,
        running: &mut RunningTurn<'_>,
        failed: Exchange,
        input: &Input,
    ) -> Result<Exchange, Fault> {
        let Exchange { transcript, ending, shown, .. } = failed;
        if shown {
            running.live_text.discard(transcript.segment);
            running.turn.progress.next_segment = transcript.segment + 1;
        }
        if let Err(failure) = ending {
            self.record_failure(running, transcript, failure)?;
        }
        self.exchange(running, Asked::Output(input)).await
    }

    /// Records a call that failed, with what it has cost, and returns its fault.
    pub(in crate::reasoner) fn record_failure(
        &self,
        running: &mut RunningTurn<'_>,
        mut transcript: Transcript,
        failure: CallFailure,
    ) -> Result<Fault, Fault> {
        let fault = failure.into_fault(transcript.attempts());
        transcript.fault = Some(fault.clone());
        self.record_attempt(running, &transcript)?;
        Ok(fault)
    }

    /// Records a call that adds nothing to the conversation, with what it has cost.
    pub(in crate::reasoner) fn record_attempt(
        &self,
        running: &mut RunningTurn<'_>,
        transcript: &Transcript,
    ) -> Result<(), Fault> {
        let (session, turn) = (&mut running.session, &mut running.turn);
        transcript.count(session, turn);
        self.store.record_attempt(session, turn, &transcript.to_json()?)
    }

    /// Takes the transcript of the call that is under way, as far as it has come.
    pub(in crate::reasoner) fn cut_off(&self, fault: Option<Fault>) -> Option<Transcript> {
        let mut transcript = self.under_way.take()?;
        transcript.duration_ms = self.since(transcript.started_at);
        transcript.fault = fault;
        Some(transcript)
    }

    /// The number of a call that is made now. One that failed is recorded only after the summary that it led to.
    fn next_number(&self, session: &Session) -> u64 {
        let number = self.newest_call.get().max(session.state.model_calls) + 1;
        self.newest_call.set(number);
        number
    }

    fn spent_under_way(&self) -> u64 {
        self.under_way.borrow().as_ref().map_or(0, Transcript::total_tokens)
    }

    /// The welcome message of a mode that was entered in this turn. None stands before JSON, which it
    /// would spoil.
    pub(in crate::reasoner) fn welcome(&self, running: &RunningTurn<'_>) -> Option<&str> {
        let mode = self.catalog.mode(running.turn.progress.welcome.as_ref()?)?;
        Some(mode.welcome_message.as_str())
            .filter(|text| !text.is_empty() && !self.parameters(running).text_is_json)
    }

    /// The parameters of the next call.
    pub(in crate::reasoner) fn parameters<'a>(
        &'a self,
        running: &RunningTurn<'a>,
    ) -> CallParameters<'a> {
        let mode = self.catalog.mode(&running.session.mode).map(|mode| &mode.model_parameters);
        let contexts = [&running.agent.model_parameters, &running.conversation.model_parameters];
        CallParameters::merged(contexts.into_iter().chain(mode))
    }

    async fn compose<'a>(
        &'a self,
        running: &RunningTurn<'_>,
        asked: Asked<'a>,
    ) -> Result<ReadRequest<'a, D>, Fault> {
        let since = self.platform.now_ms();
        let mut composed = compose_request(&self.request(running, asked))?;
        if let Asked::Summary(request) = asked {
            composed.head.push_str(request.input.get());
        }
        let parts = asked.input().map_or(&[][..], |input| &input.parts);
        let platform = self.platform.as_ref();
        let composed = StreamedRequest::read(platform, &self.store, composed, parts).await;
        self.report.borrow_mut().timings.compose += self.since(since);
        composed
    }

    /// What a body is composed from, besides its input.
    fn request<'a>(&'a self, running: &'a RunningTurn<'_>, asked: Asked<'a>) -> ModelRequest<'a> {
        let model = self.model(running);
        let input = match asked {
            Asked::Output(input) => input,
            Asked::Summary(request) => {
                return ModelRequest {
                    model,
                    instructions: &request.instructions,
                    tools: None,
                    tool_choice: None,
                    previous_response_id: None,
                    store: false,
                    // No later call sends that of a summary.
                    wants_reasoning: false,
                    prompt_cache_key: None,
                    compact_threshold: None,
                    parameters: CallParameters::default(),
                };
            }
        };
        let mode = self.catalog.mode(&running.session.mode);
        let resend = running.agent.resend_tools
            || input.previous_response_id.is_none()
            || running.session.tools_sent.as_ref() != Some(&running.turn.tools)
            // The service refuses a choice among tools that the request does not hold.
            || running.turn.progress.tool_choice.is_some();
        ModelRequest {
            model,
            instructions: mode.map_or("", |mode| &mode.instructions),
            tools: resend.then_some(&running.tools),
            tool_choice: running.turn.progress.tool_choice.as_deref(),
            previous_response_id: input.previous_response_id.as_deref(),
            store: running.is_chained(),
            wants_reasoning: running.wants_reasoning(),
            prompt_cache_key: running.prompt_cache_key.as_deref(),
            compact_threshold: match running.agent.compaction {
                Compaction { by: CompactionBy::Service, threshold, .. } => threshold,
                _ => None,
            },
            parameters: self.parameters(running),
        }
    }

    fn model<'a>(&'a self, running: &RunningTurn<'a>) -> &'a str {
        let model = running.conversation.model.as_deref().or(running.agent.model.as_deref());
        model.unwrap_or(&self.deployment.model)
    }
}

/// Notes what the service says about the responses of a call.
struct Ledger<'a, P, D> {
    reasoner: &'a Reasoner<P, D>,
    running: &'a RunningTurn<'a>,
    /// The service was asked to store the responses.
    is_stored: bool,
}

impl<P: Platform, D: Database> Ledger<'_, P, D> {
    /// The fault of a storage that did not keep an id.
    fn fault(&self) -> Result<(), Fault> {
        let under_way = self.reasoner.under_way.borrow();
        let fault = under_way.as_ref().and_then(|transcript| transcript.fault.clone());
        fault.map_or(Ok(()), Err)
    }
}

impl<P: Platform, D: Database> Learns for Ledger<'_, P, D> {
    fn learn(&self, reported: &Reported) {
        let mut under_way = self.reasoner.under_way.borrow_mut();
        let Some(transcript) = under_way.as_mut() else { return };
        transcript.learn(reported);
        if let Some(id) = reported.response_id.as_ref().filter(|_| self.keeps_ids()) {
            let kept = self.reasoner.store.keep_response(id, &self.running.session.agent_context);
            transcript.fault = kept.err().or(transcript.fault.take());
        }
    }

    fn keeps_ids(&self) -> bool {
        self.is_stored && self.running.agent.delete_stored
    }
}

fn lost_transcript() -> Fault {
    Fault::internal("The transcript of a model call was lost.")
}

/// The address, the key and the headers of an agent context's model service: the catalog's, or else the
/// deployment's. It fails with `internal` when a header names a secret that cannot be used.
pub(in crate::reasoner) fn endpoint<P: Platform>(
    platform: &P,
    deployment: &Deployment,
    agent: &AgentContext,
) -> Result<Endpoint, Fault> {
    let unusable = |problem| {
        Fault::internal(format!("A header of the model service cannot be sent: {problem}."))
    };
    let SecretHeaders { headers, secrets } = SecretHeaders::expand(platform, &agent.headers)
        .map_err(unusable)?
        .with_key(platform, agent.api_key_secret.as_deref());
    Ok(Endpoint {
        base_url: agent.base_url.clone().unwrap_or_else(|| deployment.base_url.clone()),
        idle_timeout_ms: deployment.upstream_idle_timeout_ms,
        delta_interval_ms: deployment.delta_interval_ms,
        headers,
        secrets,
        query: agent.query.clone(),
    })
}

/// The wait before the next attempt; `None` when there is none. `random` is in `[0, 1)`.
fn wait_ms(failure: &CallFailure, attempts_made: u32, random: f64) -> Option<u64> {
    if attempts_made >= MAX_CALLS || !failure.retryable() {
        return None;
    }
    if let Some(asked) = failure.retry_after_ms() {
        return (asked <= MAX_RETRY_AFTER_MS).then_some(asked);
    }
    let full = 500_u64 << attempts_made.saturating_sub(1).min(4);
    // 75 to 100 per cent of it, so that sessions that failed at the same moment retry at different ones.
    Some((full as f64 * (1.0 - 0.25 * random)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm_call::{Cause, Refusal};
    use crate::responses_api::{ErrorBody, StreamFault};

    fn failed(code: Option<&str>, kind: Option<&str>) -> CallFailure {
        let (code, kind) = (code.map(str::to_owned), kind.map(str::to_owned));
        Cause::Failed(Box::new(ErrorBody { code, kind, ..ErrorBody::default() })).into()
    }

    fn refused(status: u16, retry_after_ms: Option<u64>, code: Option<&str>) -> CallFailure {
        let body = ErrorBody { code: code.map(str::to_owned), ..ErrorBody::default() };
        Cause::Refused(Box::new(Refusal { status, body, retry_after_ms, is_final: false })).into()
    }

    #[test]
    fn what_can_pass_is_tried_twice_again_with_growing_waits() {
        for failure in [
            Cause::Unreachable.into(),
            refused(408, None, None),
            refused(409, None, None),
            refused(429, None, None),
            refused(500, None, None),
            refused(503, None, None),
            Cause::BrokenOff.into(),
            Cause::Unreadable(StreamFault::EndedEarly).into(),
            failed(Some("server_error"), None),
            failed(Some("rate_limit_exceeded"), Some("tokens")),
            failed(Some("server_is_overloaded"), None),
            failed(Some("529"), Some("overloaded_error")),
            failed(None, Some("overloaded_error")),
        ] {
            assert_eq!(wait_ms(&failure, 1, 0.0), Some(500));
            assert_eq!(wait_ms(&failure, 2, 0.0), Some(1000));
            assert_eq!(wait_ms(&failure, 2, 0.999), Some(750));
            assert_eq!(wait_ms(&failure, 3, 0.0), None);
        }
    }

    #[test]
    fn the_service_s_own_wait_is_honoured_up_to_a_minute() {
        assert_eq!(wait_ms(&refused(429, Some(60_000), None), 1, 0.0), Some(60_000));
        assert_eq!(wait_ms(&refused(429, Some(0), None), 1, 0.0), Some(0));
        assert_eq!(wait_ms(&refused(429, Some(60_001), None), 1, 0.0), None);
    }

    #[test]
    fn what_cannot_pass_is_not_tried_again() {
        for failure in [
            refused(400, None, None),
            refused(401, Some(1), None),
            refused(404, None, None),
            refused(429, Some(1), Some("insufficient_quota")),
            refused(500, None, Some("context_length_exceeded")),
            Cause::Silent { after_ms: 1 }.into(),
            Cause::Unreadable(StreamFault::Malformed("an event")).into(),
            failed(Some("invalid_prompt"), Some("server_error")),
            failed(Some("insufficient_quota"), None),
            failed(Some("429"), Some("insufficient_quota")),
            failed(Some("400"), Some("server_error")),
            failed(None, None),
            Cause::Incomplete { reason: None }.into(),
        ] {
            assert_eq!(wait_ms(&failure, 1, 0.0), None, "{failure:?}");
        }
    }
}
