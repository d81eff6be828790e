//! The service refuses the input. The refused entries leave the conversation, so that they never stand
//! in the way of another turn, and nothing else does. When earlier turns have a part in the input, the
//! call is made once more without that part, to see whose part was refused.
//!
//! It cannot be tried for ever: it makes one call at most, and withheld entries are never sent again.

use super::Attempt;
use crate::contract::Fault;
use crate::llm_call::CallFailure;
use crate::ports::{Database, Platform};
use crate::reasoner::turn_loop::{Reasoner, RunningTurn};

pub(super) fn is_meant_for(failure: &CallFailure) -> bool {
    failure.refused_input()
}

pub(super) async fn apply<P: Platform, D: Database>(
    reasoner: &Reasoner<P, D>,
    running: &mut RunningTurn<'_>,
    failed: Attempt,
) -> Result<Attempt, Fault> {
    let Attempt { mut input, mut exchange } = failed;
    let (own, others) = input.refusable(running);
    if !others.is_empty() {
        input = input.without(&others);
        exchange = reasoner.exchange_again(running, &exchange, &input).await?;
    }
    if exchange.ending.is_ok() {
        reasoner.store.withhold(&mut running.session, &others)?;
    } else if exchange.input_was_refused() {
        reasoner.store.withhold(&mut running.session, &own)?;
    }
    Ok(Attempt { input, exchange })
}
