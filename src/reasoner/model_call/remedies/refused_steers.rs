//! The service refuses what a steer brought, or the input is too long with it. Then the steer leaves the conversation,
//! and only that: the call is made again without it, and the turn goes on with a user warning. Where the service
//! refuses the input without it, too, the steer was not to blame, and stays. Where the input is too long all the same,
//! or nothing explains why even the turn alone is refused, its steers leave before the turn does.

use super::{blames, remediable};
use crate::contract::Result;
use crate::persistence::EntrySeq;
use crate::ports::{Database, Platform};
use crate::reasoner::model_call::conversation_input::Input;
use crate::reasoner::model_call::exchange::Exchange;
use crate::reasoner::running_turn::{Reasoner, RunningTurn};

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Makes a refused call again without the steers that the service has not received, first without one of them.
    /// Returns the last call. `is_refused` says whether a call still is.
    pub(super) async fn call_without_steers(
        &self,
        running: &mut RunningTurn<'_>,
        input: &Input,
        mut exchange: Exchange,
        is_refused: impl Fn(&Exchange) -> bool,
    ) -> Result<Exchange> {
        let steers = input.unsent_steers(running);
        for blamed in blames(steers.into_iter().map(|steer| vec![steer]).collect()) {
            if !is_refused(&exchange) {
                break;
            }
            let rest = input.sent_within(&running.session.state.window).without(&blamed);
            if rest.stored_bytes_after(running.session.acknowledged) == 0 {
                // A call needs an input: the turn's message is sent in the place of the steers.
                let warnings = running.turn.progress.user_warnings.clone();
                let rest = self.refuse_steers(running, input, &blamed)?;
                exchange = self.call_again(running, exchange, &rest).await?;
                // A response that may still come was made without them.
                let may_come = exchange.transcript.goes_on.is_some();
                let failed = exchange.ending.as_ref().err();
                if failed.is_some_and(|failure| failure.is_interrupt() || !may_come) {
                    let (session, turn) = (&running.session, &mut running.turn);
                    self.store.readmit_steers(session, turn, &blamed, warnings)?;
                }
                return Ok(exchange);
            }
            exchange = self.call_again(running, exchange, &rest).await?;
            if exchange.ending.is_ok() {
                self.store.refuse_steers(&running.session, &mut running.turn, &blamed)?;
            }
        }
        Ok(exchange)
    }

    /// Behind the ladder: the turn is refused even alone, so what was added to it goes before the turn does.
    pub(super) async fn climb_without_steers(
        &self,
        running: &mut RunningTurn<'_>,
        exchange: Exchange,
    ) -> Result<Exchange> {
        let is_refused = remediable(running, &exchange)
            .is_some_and(|failure| !failure.too_long() && self.leads_up(running, failure));
        let input =
            if is_refused { Input::unsent(&self.store, running)? } else { Input::default() };
        let steers = input.unsent_steers(running);
        if steers.is_empty() {
            return Ok(exchange);
        }
        let rest = self.refuse_steers(running, &input, &steers)?;
        let exchange = self.call_again(running, exchange, &rest).await?;
        self.climb(running, exchange).await
    }

    /// Takes steers out of the conversation, and returns the input that is left.
    pub(super) fn refuse_steers(
        &self,
        running: &mut RunningTurn<'_>,
        refused: &Input,
        steers: &[EntrySeq],
    ) -> Result<Input> {
        self.store.refuse_steers(&running.session, &mut running.turn, steers)?;
        match refused.previous_response_id.is_some() && running.session.chain_head.is_some() {
            true => Input::unsent(&self.store, running),
            false => Input::rebuild(&self.store, &running.session.state.window),
        }
    }
}
