//! The service refuses an input that holds stand-ins for tool outputs that it refused before. The calls
//! leave the conversation together with their outputs, the chain that waits for them is given up, and
//! the call sends what remains.
//!
//! It cannot be tried for ever: no stand-in remains in the conversation.

use super::Attempt;
use crate::contract::Fault;
use crate::llm_call::CallFailure;
use crate::ports::{Database, Platform};
use crate::reasoner::conversation_input::Input;
use crate::reasoner::turn_loop::{Reasoner, RunningTurn};

pub(super) fn is_meant_for(failure: &CallFailure, input: &Input) -> bool {
    failure.refused_input() && input.stands_in()
}

pub(super) async fn apply<P: Platform, D: Database>(
    reasoner: &Reasoner<P, D>,
    running: &mut RunningTurn<'_>,
    failed: &Attempt,
) -> Result<Attempt, Fault> {
    reasoner.store.forget_refused_calls(&mut running.session)?;
    let input = reasoner.whole_conversation(true)?;
    let exchange = reasoner.exchange_again(running, &failed.exchange, &input).await?;
    Ok(Attempt { input, exchange })
}
