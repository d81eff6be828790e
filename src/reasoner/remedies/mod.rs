//! Remedies for a model call that the service refused: each makes the call once more with another input.
//! They are tried in the order of [`IN_ORDER`], each at most once in a step of the loop.
//!
//! | remedy | meant for | changes | ends because |
//! |---|---|---|---|
//! | [`lost_chain`] | a chain that the service does not know | sends the whole conversation | that input continues no chain |
//! | [`refused_outputs`] | refused stand-ins for outputs that were refused before | their calls leave the conversation | no stand-in is left |
//! | [`refused_input`] | any other refused input | what was refused leaves the conversation | withheld entries are never sent again |
//!
//! A new remedy is a file here, a variant of [`Remedy`], and a place in [`IN_ORDER`].

mod lost_chain;
mod refused_input;
mod refused_outputs;

use super::conversation_input::Input;
use super::exchange::Exchange;
use super::turn_loop::{Reasoner, RunningTurn};
use crate::contract::Fault;
use crate::ports::{Database, Platform};

/// A remedy by the name of its file.
#[derive(Clone, Copy)]
enum Remedy {
    LostChain,
    RefusedOutputs,
    RefusedInput,
}

/// The order in which remedies are tried. The last one judges the entries themselves, so every other
/// reason for a refusal comes before it.
const IN_ORDER: [Remedy; 3] = [Remedy::LostChain, Remedy::RefusedOutputs, Remedy::RefusedInput];

impl<P: Platform, D: Database> Reasoner<P, D> {
    /// Tries the remedies that a failed call needs, and gives the last call.
    pub(super) async fn remedied(
        &self,
        running: &mut RunningTurn<'_>,
        mut input: Input,
        mut exchange: Exchange,
    ) -> Result<Exchange, Fault> {
        for remedy in IN_ORDER {
            let Err(failure) = &exchange.ending else { break };
            let next = match remedy {
                Remedy::LostChain if lost_chain::is_meant_for(failure, &input) => {
                    lost_chain::input(&self.store)?
                }
                Remedy::RefusedOutputs if refused_outputs::is_meant_for(failure, &input) => {
                    refused_outputs::input(&self.store, &mut running.session)?
                }
                Remedy::RefusedInput if refused_input::is_meant_for(failure) => {
                    return self.find_refused(running, input, exchange).await;
                }
                _ => continue,
            };
            exchange = self.exchange_again(running, &exchange, &next).await?;
            input = next;
        }
        Ok(exchange)
    }
}
