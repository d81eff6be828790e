//! The service refuses the input. When it holds entries of earlier turns that the model has not got, some more calls
//! without them, first without those of one turn, show which were refused: those leave the conversation, so that they
//! never block another turn. When it brings steers, some more calls are made without those; and when it brings the solution
//! context, one more without it. The turn's own words are blamed behind the ladder.

use super::{blames, refused_context};
use crate::contract::Result;
use crate::llm_call::CallFailure;
use crate::ports::{Database, Platform};
use crate::reasoner::model_call::conversation_input::Input;
use crate::reasoner::model_call::exchange::Exchange;
use crate::reasoner::running_turn::{Reasoner, RunningTurn};

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    pub(super) async fn call_without_unsent(
        &self,
        running: &mut RunningTurn<'_>,
        input: Input,
        mut exchange: Exchange,
    ) -> Result<Exchange> {
        // Where the service has refused the reading of a response, that one may still come.
        let refused = |exchange: &Exchange| {
            exchange.transcript.goes_on.is_none()
                && exchange.ending.as_ref().is_err_and(CallFailure::refused_input)
        };
        exchange =
            self.call_without_others(running, &input, exchange, |_, last| refused(last)).await?;
        if exchange.ending.is_ok() {
            return Ok(exchange);
        }
        exchange = self.call_without_steers(running, &input, exchange, refused).await?;
        if refused(&exchange)
            && let Some(left_out) = refused_context::leave_out(&self.store, running, &input)?
        {
            let next = input.sent_within(&running.session.state.window);
            exchange = self.call_again(running, exchange, &next).await?;
            left_out.conclude(running, &exchange);
        }
        Ok(exchange)
    }

    /// Makes a refused call again without the entries of earlier turns that the model has not got, first without those of
    /// one turn. Those without which it is taken leave the conversation. `is_refused` says whether a call still is.
    pub(super) async fn call_without_others(
        &self,
        running: &mut RunningTurn<'_>,
        input: &Input,
        mut exchange: Exchange,
        is_refused: impl Fn(&RunningTurn<'_>, &Exchange) -> bool,
    ) -> Result<Exchange> {
        for blamed in blames(input.refusable_of_others(running)) {
            if !is_refused(running, &exchange) {
                break;
            }
            let next = input.sent_within(&running.session.state.window).without(&blamed);
            exchange = self.call_on_rung(running, exchange, &next).await?;
            if exchange.ending.is_ok() {
                self.store.withhold(&mut running.session, &blamed)?;
            }
        }
        Ok(exchange)
    }
}
