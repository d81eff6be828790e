//! The service refuses the input. The refused entries leave the conversation, so that they never stand
//! in the way of another turn, and nothing else does. When earlier turns have a part in the input, the
//! call is made once more without that part, to see whose part was refused.
//!
//! It cannot be tried for ever: it makes one call at most, and withheld entries are never sent again.

use crate::contract::Fault;
use crate::llm_call::CallFailure;
use crate::ports::{Database, Platform};
use crate::reasoner::conversation_input::Input;
use crate::reasoner::exchange::Exchange;
use crate::reasoner::turn_loop::{Reasoner, RunningTurn};

pub(super) fn is_meant_for(failure: &CallFailure) -> bool {
    failure.refused_input()
}

impl<P: Platform, D: Database> Reasoner<P, D> {
    pub(super) async fn find_refused(
        &self,
        running: &mut RunningTurn<'_>,
        input: Input,
        refused: Exchange,
    ) -> Result<Exchange, Fault> {
        let (own, others) = input.refusable(running);
        let mut exchange = refused;
        if !others.is_empty() {
            exchange = self.exchange_again(running, &exchange, &input.without(&others)).await?;
        }
        match &exchange.ending {
            Ok(_) => self.store.withhold(&mut running.session, &others)?,
            Err(failure) if failure.refused_input() => {
                self.store.withhold(&mut running.session, &own)?;
            }
            Err(_) => {}
        }
        Ok(exchange)
    }
}
