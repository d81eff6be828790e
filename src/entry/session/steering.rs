//! Steering (interface §14): a steer is accepted while its turn runs or waits, or refused, without an await.
//!
//! It decides and stores; the reasoner puts the steer into the conversation at the next boundary.

use super::erasure_memory::{Generation, Received, was_erased};
use super::session_host::{SessionHost, find_session, find_turn};
use crate::contract::{
    ErrorCode, Fault, Progress, Result, SessionId, SteerId, SteerRequest, SteerState, SteerStep,
    TurnId, TurnStatus, parse_steer, shown, steer_fingerprint,
};
use crate::entry::request::{ArrivingBody, RequestHead, received_at};
use crate::entry::request_context::RequestContext;
use crate::entry::response::{Response, object_failed};
use crate::identity::ForwardedCaller;
use crate::persistence::{NewSteer, Turn};
use crate::ports::{Database, Platform};

/// The most bytes of a turn's steers that no model call has taken yet. One model call takes them all.
const MAX_UNDELIVERED_BYTES: u64 = 8_000_000;

/// A steer on its way to its turn.
pub(super) struct ReceivedSteer {
    pub(super) session: SessionId,
    pub(super) turn: TurnId,
    pub(super) caller: ForwardedCaller,
    /// The generation of the session in which it came to the object.
    pub(super) generation: Generation,
}

shown! {
    /// A steer that was accepted, now or before.
    struct SteerResult {
        session_id: SessionId,
        turn_id: TurnId,
        steer_id: SteerId,
        state: SteerState,
    }
}

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// Reads a steer and takes it. A refusal writes nothing.
    pub(super) async fn receive_steer<S>(
        &self,
        context: &RequestContext,
        head: &RequestHead<'_>,
        body: impl ArrivingBody,
        steer: ReceivedSteer,
    ) -> Result<Response<S>, Vec<Fault>> {
        let body = body.await.map_err(|_| object_failed())?;
        self.yield_if_long(body.len()).await;
        let request = parse_steer(&body)?;
        self.yield_if_long(body.len()).await;
        let fingerprint = steer_fingerprint(&request);
        self.yield_if_long(body.len()).await;
        let at_ms = received_at(head, self.platform.as_ref());
        let received = Received { generation: steer.generation, at_ms };
        if self.erasures.has_ended_generation_of(received, self.platform.now_ms()) {
            return Err(was_erased().into());
        }
        Ok(self.steer(context, &request, &fingerprint, (&steer, body.len()))?)
    }

    /// Accepts a steer, or shows what has become of one that came before.
    fn steer<S>(
        &self,
        context: &RequestContext,
        request: &SteerRequest,
        fingerprint: &str,
        (steer, bytes): (&ReceivedSteer, usize),
    ) -> Result<Response<S>> {
        self.refuse_revoked(&steer.caller.grants)?;
        self.recover(context)?;
        let session = find_session(&self.store, &steer.session)?;
        let mut turn = find_turn(&self.store, &steer.turn)?;
        let accepted = |turn: &Turn, state, replayed| {
            let result = SteerResult {
                session_id: session.session_id.clone(),
                turn_id: turn.turn_id.clone(),
                steer_id: request.steer_id.clone(),
                state,
            };
            Response::accepted(if replayed { 200 } else { 202 }, &result, replayed)
        };
        if let Some(known) = self.store.steer(&turn, &request.steer_id)? {
            return match known.fingerprint == fingerprint {
                true => Ok(accepted(&turn, known.state, true)),
                false => Err(conflict(request)),
            };
        }
        keep_to_most_steers(&turn, context.deployment.max_steers)?;
        keep_to_most_bytes(&turn, bytes)?;
        let live = self.running.turn(&turn);
        turn.progress.trace.note_caller(context.trace.as_ref());
        let interruption =
            live.as_ref().filter(|_| request.interrupt).map(|live| &live.interruption);
        let new = NewSteer {
            request,
            fingerprint,
            caller: &steer.caller.caller,
            interrupts: interruption.is_some_and(|interruption| interruption.finds_a_call()),
            bytes,
            now_ms: self.platform.now_ms(),
        };
        self.store.accept_steer(&mut turn, new)?;
        if let Some(live) = &live {
            live.note_caller(context.trace.as_ref());
            let (steer_id, state) = (request.steer_id.as_str(), SteerStep::Accepted);
            live.text.progress(Progress::Steer { steer_id, state });
        }
        if let Some(interruption) = interruption {
            interruption.request();
        }
        Ok(accepted(&turn, SteerState::Pending, false))
    }
}

/// Whether the turn takes a further steer.
fn keep_to_most_steers(turn: &Turn, most: u32) -> Result<()> {
    match turn.status {
        TurnStatus::Running | TurnStatus::AwaitingTools => {}
        TurnStatus::Completed | TurnStatus::Failed | TurnStatus::Aborted => {
            let status = turn.status.as_str();
            let message = format!(
                "The turn is {status} and takes no further words. Nothing was kept: send them as a new turn."
            );
            return Err(Fault::new(ErrorCode::TurnEnded, message)
                .with("TurnId", turn.turn_id.as_str())
                .with("Status", status));
        }
    }
    if turn.progress.steers.accepted < most {
        return Ok(());
    }
    let message = "The turn has had as many steers as the deployment permits. Wait for its end, or cancel it.";
    Err(Fault::new(ErrorCode::Forbidden, message).with("MaxSteers", most))
}

/// Whether the steers that no model call has taken yet leave room for so many bytes more.
fn keep_to_most_bytes(turn: &Turn, bytes: usize) -> Result<()> {
    let waiting = turn.progress.steers.undelivered_bytes();
    if waiting.saturating_add(bytes as u64) <= MAX_UNDELIVERED_BYTES {
        return Ok(());
    }
    let message = format!(
        "The steers of a turn that its model has not got yet have at most {MAX_UNDELIVERED_BYTES} bytes. Send less, or send it again after the next model call."
    );
    Err(Fault::new(ErrorCode::BodyTooLarge, message)
        .with("MaxBytes", MAX_UNDELIVERED_BYTES)
        .with("WaitingBytes", waiting))
}

/// The fault of a request that uses a `SteerId` again with other content.
fn conflict(request: &SteerRequest) -> Fault {
    let message = "This SteerId was used in this turn with other content. Use a new SteerId, or repeat the request unchanged.";
    Fault::new(ErrorCode::SteerConflict, message).with("SteerId", request.steer_id.as_str())
}
