//! Another model service takes over from one that is down, out of quota or too busy (interface §4, Fall-backs): between
//! two model calls as before the first, with the whole conversation from storage, and without running a tool again.
//!
//! The call stays one call: its transcript begins with the attempts at the services before.

use serde_json::json;

use super::call_recorder::CallRecorder;
use super::exchange::Exchange;
use super::services::FailedServices;
use super::transcript::Transcript;
use crate::composition::ToolList;
use crate::contract::{Fault, Progress, Result, Warning};
use crate::llm_call::{CallFailure, Endpoint};
use crate::ports::{Database, Platform};
use crate::reasoner::running_turn::{Reasoner, RunningTurn};

/// The longest time until a response begins where another service is left, in milliseconds.
const FIRST_EVENT_MS: u64 = 20_000;

/// The code of the warning of a turn that another service has answered.
const FALLBACK_USED: &str = "fallback_used";

/// Whether another service can take a call over that has failed.
pub(crate) fn can_fall_back(running: &RunningTurn<'_>, failed: &Exchange) -> bool {
    failed.ending.is_err() && failed.transcript.moves_on && running.services.is_another_left()
}

impl RunningTurn<'_> {
    /// Where another service is left, this one is waited for a shorter time.
    pub(super) fn less_patient(&self, endpoint: Endpoint) -> Endpoint {
        let first_event_ms = self.services.is_another_left().then_some(FIRST_EVENT_MS);
        Endpoint { first_event_ms, ..endpoint }
    }

    /// What a client is told of a call that has failed, after so many attempts at the present service.
    pub(super) fn told(&self, fault: Fault, attempts: u32, moves_on: bool) -> Fault {
        match &self.failed_services {
            Some(failed) => failed.told(fault, attempts, moves_on),
            None => fault,
        }
    }
}

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Chooses the model service that a call begins with.
    pub(crate) fn choose_service(&self, running: &mut RunningTurn<'_>) -> Result<()> {
        running.failed_services = None;
        if running.services.has_fallbacks() {
            running.services.begin_call(&self.resting, self.platform.now_ms());
        }
        self.go_to_service(running)
    }

    /// Has the session's calls go to the service that was chosen.
    pub(crate) fn go_to_service(&self, running: &mut RunningTurn<'_>) -> Result<()> {
        if running.session.turn_to(running.services.fallback()) {
            let (stored, turn) = (self.store.session_of_turn()?, running.turn.ordinal);
            running.comes_anew = !running.session.know_again(&stored, turn);
            running.refused_bodies.clear();
        }
        running.own_tools = (!running.service().offer_hosted_tools).then(|| {
            let offered = running.tools.0.iter().filter(|tool| !tool.hosted);
            ToolList(offered.cloned().collect())
        });
        self.begin_on_rung(running);
        Ok(())
    }

    /// Has the session know the service again that has answered last, where a turn fails after calls that came to nothing at
    /// another one, or a call there is interrupted.
    pub(crate) fn return_to_service(&self, running: &mut RunningTurn<'_>) -> Result<()> {
        if running.comes_anew {
            let (stored, session) = (self.store.session_of_turn()?, &mut running.session);
            if session.turn_to(stored.state.window.service.as_deref()) {
                session.know_again(&stored, running.turn.ordinal);
                running.comes_anew = false;
            }
        }
        Ok(())
    }

    /// Judges by the end of a call's attempts at a service whether that service rests, and whether another one can take
    /// the call over: not where some of it went out to a client, or where the id of its background response is known.
    /// `continued` is the response that the call continues.
    pub(super) fn judge_service(
        &self,
        running: &RunningTurn<'_>,
        failure: Option<&CallFailure>,
        continued: Option<&str>,
        recorder: &mut CallRecorder<'_, P, D>,
    ) {
        let Some(failure) = failure.filter(|_| running.services.has_fallbacks()) else { return };
        let is_mended = continued.is_some_and(|id| failure.lost_chain(id))
            || recorder.live.is_some() && running.refuses_schema(failure);
        if is_mended || !failure.moves_on() {
            return;
        }
        let (service, now) = (running.services.present().id, self.platform.now_ms());
        let rest_ms = self.deployment.fallback_rest_ms;
        self.resting.rest(service, rest_ms, failure.retry_after_ms(), now);
        let mut under_way = self.run.under_way.borrow_mut();
        if let Some(transcript) = under_way.as_mut() {
            let is_known = transcript.background
                && (transcript.response_id.is_some() || transcript.goes_on.is_some());
            transcript.moves_on = !is_known && recorder.take_back();
        }
    }

    /// Has another service take over a call that has failed so ([`can_fall_back`]).
    pub(crate) fn fall_back(&self, running: &mut RunningTurn<'_>, failed: Exchange) -> Result<()> {
        let Exchange { mut transcript, ending, .. } = failed;
        let Err(failure) = ending else { return Ok(()) };
        let (from, now) = (running.services.present().id, self.platform.now_ms());
        let (status, attempts) = (failure.http_status(), transcript.attempts_at_service());
        let fault = failure.into_fault(attempts);
        let code = fault.code;
        FailedServices::add(&mut running.failed_services, fault, attempts);
        transcript.repeat(status, 0);
        self.run.taken_over.replace(Some(transcript));
        running.services.move_on(&self.resting, now);
        self.run.report.borrow_mut().fallbacks += 1;
        if self.resting.is_news(from, now) {
            self.platform.log(json!({
                "event": "fallback",
                "level": "warn",
                "agent_context": from,
                "to": running.services.present().id,
                "code": code.as_str(),
            }));
        }
        self.show_activity(running, Progress::Retry { after_ms: 0, resumed: None, fallback: true });
        self.go_to_service(running)
    }

    /// The call that the present one takes over. It is recorded with that.
    pub(super) fn take_over(&self) -> Option<Transcript> {
        let before = self.run.taken_over.take()?;
        self.note_recorded(before.number);
        Some(before)
    }

    /// Has the turn stay with a service that a call of it is about to be stored of, and warns where that is not the
    /// first one. The step that stores the call saves the turn.
    pub(crate) fn stay_with_service(&self, running: &mut RunningTurn<'_>) {
        let Some(service) = running.services.fallback() else { return };
        running.services.stay();
        let progress = &mut running.turn.progress;
        progress.service = Some(service.to_owned());
        if progress.warnings.iter().all(|warning| warning.code != FALLBACK_USED) {
            let message =
                "The model service that the agent uses first did not answer, so another one did.";
            progress.warnings.push(Warning::new(FALLBACK_USED, message));
        }
    }
}
