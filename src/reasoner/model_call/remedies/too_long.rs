//! The input does not fit into the model's context window. The conversation is compacted, step by step, until
//! it does (interface §10). What does not fit even alone leaves the conversation, so that it never blocks
//! another turn.

use crate::catalog::CompactionBy;
use crate::contract::Fault;
use crate::llm_call::CallFailure;
use crate::persistence::CompactionReason;
use crate::ports::{Database, Platform};
use crate::reasoner::compaction::REDUCTIONS;
use crate::reasoner::model_call::conversation_input::Input;
use crate::reasoner::model_call::exchange::Exchange;
use crate::reasoner::running_turn::{Reasoner, RunningTurn};

impl<P: Platform, D: Database> Reasoner<P, D> {
    /// Returns the last call with its input.
    pub(super) async fn compact_until_it_fits(
        &self,
        running: &mut RunningTurn<'_>,
        mut input: Input,
        mut exchange: Exchange,
    ) -> Result<(Input, Exchange), Fault> {
        let too_long =
            |exchange: &Exchange| exchange.ending.as_ref().is_err_and(CallFailure::too_long);
        if running.agent.compaction.by != CompactionBy::None {
            let bytes = Input::whole(&self.store, &running.session.state.window)?.stored_bytes();
            let reason = CompactionReason::Refused;
            for reduction in REDUCTIONS {
                if !too_long(&exchange) {
                    break;
                }
                if self.compact(running, reduction, bytes, reason).await? {
                    input = Input::whole(&self.store, &running.session.state.window)?;
                    exchange = self.call_again(running, exchange, &input).await?;
                }
            }
        }
        if too_long(&exchange) {
            self.store.leave_out_turn(&mut running.session, &mut running.turn)?;
        }
        Ok((input, exchange))
    }
}
