//! The turn loop: the pending retrieval, then the open calls, else a model call, until the turn ends or pauses.
//!
//! What a plain turn does not come to is boxed, here and on the rest of a turn's way: the code of a future becomes part of
//! the function that awaits it, and the runtime compiles a function whole when it is first called.

use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

use futures_util::FutureExt;
use futures_util::future::{AbortRegistration, Abortable, Aborted, Either, select};

use super::model_call::{Service, Services};
use super::running_turn::{Reasoner, RunningTurn, StartedTurn, tools_of};
use crate::composition::OutputFormat;
use crate::contract::{ErrorCode, Fault, Result};
use crate::live_text::{LiveText, Outcome};
use crate::persistence::{StoredOutcome, StoredSchema};
use crate::ports::{Database, Platform};

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Runs a turn until it ends or waits for its client, and stores the
    /// outcome. `live_text` receives the text while it arrives.
    pub(crate) async fn run(
        &self,
        started: StartedTurn,
        live_text: &LiveText,
        cancellation: AbortRegistration,
    ) -> Outcome {
        let ordinal = started.turn.ordinal;
        self.run.report.borrow_mut().begin(&started.turn, self.platform.now_ms());
        let stored = self
            .run_in_time(started, live_text, cancellation)
            .await
            .unwrap_or_else(|fault| self.fail(ordinal, fault, live_text));
        let timings = self.run.report.borrow().timings;
        Outcome { http_status: stored.http_status, body: stored.body.into(), timings }
    }

    async fn run_in_time(
        &self,
        started: StartedTurn,
        live_text: &LiveText,
        cancellation: AbortRegistration,
    ) -> Result<StoredOutcome> {
        // Dropping the loop at an await aborts what it waits for, and never cuts a durable step.
        let mut advancing = pin!(self.advance(started, live_text));
        let stopped = pin!(self.stopped(cancellation));
        match select(stopped, advancing.as_mut()).await {
            Either::Right((outcome, _)) => outcome,
            Either::Left((fault, _)) => {
                self.run.stopped_by.set(Some(fault.code));
                // A stopped run is polled for nothing else, so it sends no further request.
                self.wait_for_id(advancing).boxed_local().await;
                Err(fault)
            }
        }
    }

    /// Completes when the run has to end before its time, with the fault of that.
    async fn stopped(&self, cancellation: AbortRegistration) -> Fault {
        let timed_out = pin!(self.platform.sleep(self.deployment.turn_timeout_ms));
        match Abortable::new(timed_out, cancellation).await {
            Err(Aborted) => Fault::new(ErrorCode::TurnAborted, "The turn was cancelled."),
            Ok(()) => Fault::new(
                ErrorCode::UpstreamTimeout,
                format!("The turn did not end within {} ms.", self.deployment.turn_timeout_ms),
            ),
        }
    }

    /// Goes on with work whose result nobody needs, until the model service has named the response of the call under
    /// way; where the service is neither to cancel nor to delete that response, not at all.
    pub(super) async fn wait_for_id<T>(&self, mut work: Pin<&mut impl Future<Output = T>>) {
        if !self.awaits_id() {
            return;
        }
        let heard = poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Pending if self.awaits_id() => Poll::Pending,
            Poll::Pending | Poll::Ready(_) => Poll::Ready(()),
        });
        let patience = pin!(self.platform.sleep(self.deployment.response_id_wait_ms));
        select(heard, patience).await;
    }

    /// Never completes in a run that has been stopped.
    pub(super) async fn hold_if_stopped(&self) {
        if self.run.stopped_by.get().is_some() {
            pending().await
        }
    }

    fn awaits_id(&self) -> bool {
        let under_way = self.run.under_way.borrow();
        under_way.as_ref().is_some_and(|call| call.awaits_id && call.uses_id)
    }

    async fn advance(&self, started: StartedTurn, live_text: &LiveText) -> Result<StoredOutcome> {
        let mut running = self.load(started, live_text)?;
        if let Some(pending) = running.turn.progress.retrieval.take() {
            self.retrieve(&mut running, &pending).boxed_local().await?;
        }
        loop {
            if let Some(open) = running.session.open_calls_of(running.turn.ordinal) {
                let calls = self.run_calls(&mut running, open).boxed_local();
                if let Some(outcome) = calls.await? {
                    return Ok(outcome);
                }
            } else if let Some(outcome) = self.call_model(&mut running).await? {
                return Ok(outcome);
            }
        }
    }

    fn load<'a>(
        &'a self,
        started: StartedTurn,
        live_text: &'a LiveText,
    ) -> Result<RunningTurn<'a>> {
        let mut session = self.store.session_of_turn()?;
        let mut turn = self.store.turn_at(started.turn.ordinal)?;
        if session.state.ladder.is_some() {
            session.state.window.turn = Some(turn.ordinal);
        }
        self.note_trace(&mut turn);
        let tools = started.tools.map_or_else(|| tools_of(&self.store, &turn), Ok)?;
        let output_format = match &turn.progress.output_schema {
            Some(StoredSchema { name, schema }) => {
                Some(OutputFormat::of_schema(name, self.store.text(schema)?)?)
            }
            None => None,
        };
        // Admission and recovery let no turn run without its contexts.
        let gone = || Fault::internal("The turn's contexts are not in its catalog.");
        let conversation = self.catalog.conversation_context(&session.conversation_context);
        let conversation = conversation.ok_or_else(gone)?;
        let listed = self.catalog.services(&session.agent_context);
        let mut listed = listed.into_iter().map(|(id, agent)| Service { id, agent });
        let own = listed.next().ok_or_else(gone)?;
        let services = Services::of(own, listed, turn.progress.service.as_deref());
        let began_at = self.run.report.borrow().began_at;
        let deadline_ms = began_at.saturating_add(self.deployment.turn_timeout_ms);
        let result_bytes = (turn.progress.model_calls == 0).then_some(0);
        Ok(RunningTurn {
            session,
            turn,
            tools: Rc::new(tools),
            agent: own.agent,
            services,
            failed_services: None,
            comes_anew: false,
            own_tools: None,
            conversation,
            output_format,
            result_bytes,
            deadline_ms,
            live_text,
            refused_bodies: Vec::new(),
            tries_rung: false,
        })
    }
}
