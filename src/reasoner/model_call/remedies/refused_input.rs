//! The service refuses the input. The refused entries leave the conversation, so that they never block
//! another turn; all others stay. When the input holds entries of earlier turns, one more call without
//! them shows whether theirs or the turn's own were refused.

use crate::contract::Fault;
use crate::ports::{Database, Platform};
use crate::reasoner::model_call::conversation_input::Input;
use crate::reasoner::model_call::exchange::Exchange;
use crate::reasoner::running_turn::{Reasoner, RunningTurn};

impl<P: Platform, D: Database> Reasoner<P, D> {
    pub(super) async fn withhold_refused(
        &self,
        running: &mut RunningTurn<'_>,
        input: Input,
        mut exchange: Exchange,
    ) -> Result<Exchange, Fault> {
        let (own, others) = input.refusable(running);
        if !others.is_empty() {
            exchange = self.call_again(running, exchange, &input.without(&others)).await?;
        }
        let session = &mut running.session;
        match &exchange.ending {
            Ok(_) => self.store.withhold(session, &others)?,
            Err(failure) if failure.refused_input() => self.store.withhold(session, &own)?,
            Err(_) => {}
        }
        Ok(exchange)
    }
}
