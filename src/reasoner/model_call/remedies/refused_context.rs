//! The service does not take a message with the session's solution context, and takes it without. Then the context is
//! to blame, and not the turn: the session keeps it (AGN-034 §4.5), remembers that it was refused, and sends it no more
//! until another one comes.

use super::remediable;
use crate::contract::{Result, UserWarning};
use crate::persistence::{EntrySeq, SessionStore};
use crate::ports::{Database, Platform};
use crate::reasoner::model_call::conversation_input::Input;
use crate::reasoner::model_call::exchange::Exchange;
use crate::reasoner::running_turn::{Reasoner, RunningTurn};

/// What a turn did before it left the solution context out.
pub(super) struct LeftOut {
    /// The last entry without it.
    through: EntrySeq,
}

/// Leaves the solution context out of a refused input; `None` where the input does not bring it.
pub(super) fn leave_out<D: Database>(
    store: &SessionStore<D>,
    running: &mut RunningTurn<'_>,
    refused: &Input,
) -> Result<Option<LeftOut>> {
    let session = &mut running.session;
    let newest = refused.entries.iter().map(|sent| sent.entry.seq).max();
    let Some(newest) = newest.filter(|_| session.solution_context.is_some()) else {
        return Ok(None);
    };
    if !refused.brings_solution_context(store, session.acknowledged)? {
        return Ok(None);
    }
    let through = std::mem::replace(&mut session.state.window.without_solution_context, newest);
    session.state.refused_solution_context.clone_from(&session.solution_context);
    session.solution_context_sent = None;
    Ok(Some(LeftOut { through }))
}

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Behind the ladder, for a refusal that nothing explains: the turn is refused even alone, so the call is made once
    /// more without the context that it brings.
    pub(super) async fn climb_without_context(
        &self,
        running: &mut RunningTurn<'_>,
        exchange: Exchange,
    ) -> Result<Exchange> {
        let is_refused = remediable(running, &exchange).is_some_and(|failure| {
            let was_tried = failure.too_long() || failure.refused_input();
            !was_tried && self.leads_up(running, failure)
        });
        if !is_refused {
            return Ok(exchange);
        }
        let input = Input::unsent(&self.store, running)?;
        let Some(left_out) = leave_out(&self.store, running, &input)? else {
            return Ok(exchange);
        };
        let next = input.sent_within(&running.session.state.window);
        let exchange = self.call_on_rung(running, exchange, &next).await?;
        left_out.conclude(running, &exchange);
        Ok(exchange)
    }
}

impl LeftOut {
    /// Remembers whom to blame, by the call without the solution context.
    pub(super) fn conclude(self, running: &mut RunningTurn<'_>, exchange: &Exchange) {
        if exchange.ending.is_ok() {
            UserWarning::SolutionContextLeftOut.add_once(&mut running.turn.progress.user_warnings);
        } else {
            running.session.state.refused_solution_context = None;
            running.session.state.window.without_solution_context = self.through;
        }
    }
}
