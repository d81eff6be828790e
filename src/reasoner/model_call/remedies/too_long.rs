//! The input does not fit into the model's context window. The conversation is compacted, step by step, until
//! it does (interface §10). When the turn does not fit even alone and brings steers, the same begins anew without the
//! longest of them, then without all, and then without the solution context.

use super::refused_context;
use crate::catalog::CompactionBy;
use crate::contract::Result;
use crate::llm_call::CallFailure;
use crate::persistence::{CompactionReason, take_compactions_back};
use crate::ports::{Database, Platform};
use crate::reasoner::compaction::REDUCTIONS;
use crate::reasoner::model_call::conversation_input::Input;
use crate::reasoner::model_call::exchange::Exchange;
use crate::reasoner::running_turn::{Reasoner, RunningTurn};

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Returns the last call with its input.
    pub(super) async fn compact_until_it_fits(
        &self,
        running: &mut RunningTurn<'_>,
        mut input: Input,
        mut exchange: Exchange,
    ) -> Result<(Input, Exchange)> {
        let was_chained = input.previous_response_id.is_some();
        (input, exchange) = self.reduce_until_it_fits(running, input, exchange).await?;
        for blames_all in [false, true] {
            let steers = input.unsent_steers(running);
            if steers.is_empty() || !too_long(&exchange) {
                break;
            }
            let blamed = if blames_all { steers } else { input.longest_of(&steers) };
            take_compactions_back(&mut running.session, &mut running.turn);
            input = self.refuse_steers(running, &input, &blamed)?;
            exchange = self.call_again(running, exchange, &input).await?;
            (input, exchange) = self.reduce_until_it_fits(running, input, exchange).await?;
        }
        if too_long(&exchange)
            && let Some(left_out) = refused_context::leave_out(&self.store, running, &input)?
        {
            take_compactions_back(&mut running.session, &mut running.turn);
            input = match was_chained && running.session.chain_head.is_some() {
                true => input.sent_within(&running.session.state.window),
                false => Input::rebuild(&self.store, &running.session.state.window)?,
            };
            exchange = self.call_again(running, exchange, &input).await?;
            (input, exchange) = self.reduce_until_it_fits(running, input, exchange).await?;
            left_out.conclude(running, &exchange);
        }
        Ok((input, exchange))
    }

    async fn reduce_until_it_fits(
        &self,
        running: &mut RunningTurn<'_>,
        mut input: Input,
        mut exchange: Exchange,
    ) -> Result<(Input, Exchange)> {
        if running.agent.compaction.by == CompactionBy::None || !too_long(&exchange) {
            return Ok((input, exchange));
        }
        let bytes = Input::whole(&self.store, &running.session.state.window)?.stored_bytes();
        let is_unsent = exchange.ending.as_ref().is_err_and(CallFailure::is_unsent);
        let reason = match is_unsent {
            true => CompactionReason::Threshold,
            false => CompactionReason::Refused,
        };
        for reduction in REDUCTIONS {
            if !too_long(&exchange) {
                break;
            }
            if self.compact(running, reduction, bytes, reason).await? {
                input = Input::whole(&self.store, &running.session.state.window)?;
                exchange = self.call_again(running, exchange, &input).await?;
            }
        }
        Ok((input, exchange))
    }
}

fn too_long(exchange: &Exchange) -> bool {
    exchange.ending.as_ref().is_err_and(CallFailure::too_long)
}
