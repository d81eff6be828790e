//! The service does not know, or does not support, the response that the call continues. The session
//! holds the whole conversation itself: the call sends it, and begins a new chain.
//!
//! It cannot be tried for ever: the new input continues no chain, so none can be lost.

use super::Attempt;
use crate::contract::Fault;
use crate::llm_call::CallFailure;
use crate::ports::{Database, Platform};
use crate::reasoner::conversation_input::Input;
use crate::reasoner::turn_loop::{Reasoner, RunningTurn};

pub(super) fn is_meant_for(failure: &CallFailure, input: &Input) -> bool {
    input.previous_response_id.is_some() && failure.lost_chain()
}

pub(super) async fn apply<P: Platform, D: Database>(
    reasoner: &Reasoner<P, D>,
    running: &mut RunningTurn<'_>,
    failed: &Attempt,
) -> Result<Attempt, Fault> {
    let input = reasoner.whole_conversation(true)?;
    let exchange = reasoner.exchange_again(running, &failed.exchange, &input).await?;
    Ok(Attempt { input, exchange })
}
