//! The service refuses the input. The refused entries leave the conversation, so that they never block
//! another turn; all others stay. When the input holds entries of earlier turns, one more call without
//! them shows whether theirs or the turn's own were refused; when it brings steers, some more without those; and when
//! it brings the solution context, one more without it.

use super::refused_context;
use crate::contract::Fault;
use crate::llm_call::CallFailure;
use crate::ports::{Database, Platform};
use crate::reasoner::model_call::conversation_input::Input;
use crate::reasoner::model_call::exchange::Exchange;
use crate::reasoner::running_turn::{Reasoner, RunningTurn};

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    pub(super) async fn withhold_refused(
        &self,
        running: &mut RunningTurn<'_>,
        input: Input,
        mut exchange: Exchange,
    ) -> Result<Exchange, Fault> {
        let (own, others) = input.refusable(running);
        if !others.is_empty() {
            let next = input.sent_within(&running.session.state.window).without(&others);
            exchange = self.call_again(running, exchange, &next).await?;
        }
        let refused =
            |exchange: &Exchange| exchange.ending.as_ref().is_err_and(CallFailure::refused_input);
        if exchange.ending.is_ok() {
            self.store.withhold(&mut running.session, &others)?;
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
        if refused(&exchange) {
            self.store.withhold(&mut running.session, &own)?;
        }
        Ok(exchange)
    }
}
