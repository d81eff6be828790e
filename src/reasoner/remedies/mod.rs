//! Remedies for a model call that the service refused: each makes the call once more with another input.
//! They are tried in the order of [`IN_ORDER`], each at most once for a call of the loop.
//!
//! | remedy | meant for | changes | ends because |
//! |---|---|---|---|
//! | [`lost_chain`] | a chain that the service does not know | sends the whole conversation | there is no chain in that input |
//! | [`refused_outputs`] | stand-ins for refused outputs, refused too | calls and outputs leave the conversation | no stand-in is left |
//! | [`refused_input`] | any other refused input | what was refused leaves the conversation | the last attempt withholds all that can be refused |
//!
//! A new remedy is a file here, a variant of [`Remedy`] and a place in [`IN_ORDER`].

mod lost_chain;
mod refused_input;
mod refused_outputs;

use super::conversation_input::Input;
use super::exchange::Exchange;
use super::turn_loop::{Reasoner, RunningTurn};
use crate::contract::Fault;
use crate::llm_call::CallFailure;
use crate::ports::{Database, Platform};

/// A call and its input.
pub(super) struct Attempt {
    pub(super) input: Input,
    pub(super) exchange: Exchange,
}

/// A remedy by the name of its file.
#[derive(Clone, Copy)]
enum Remedy {
    LostChain,
    RefusedOutputs,
    RefusedInput,
}

/// The order in which remedies are tried. The last one judges the input itself, so whatever can be
/// wrong besides comes before it.
const IN_ORDER: [Remedy; 3] = [Remedy::LostChain, Remedy::RefusedOutputs, Remedy::RefusedInput];

impl Remedy {
    fn is_meant_for(self, failure: &CallFailure, input: &Input) -> bool {
        match self {
            Self::LostChain => lost_chain::is_meant_for(failure, input),
            Self::RefusedOutputs => refused_outputs::is_meant_for(failure, input),
            Self::RefusedInput => refused_input::is_meant_for(failure),
        }
    }
}

/// Tries the remedies that a failed attempt needs, and gives the last attempt.
///
/// # Errors
/// `internal` when the storage fails, or an input cannot be composed.
pub(super) async fn remedy<P: Platform, D: Database>(
    reasoner: &Reasoner<P, D>,
    running: &mut RunningTurn<'_>,
    mut attempt: Attempt,
) -> Result<Exchange, Fault> {
    for remedy in IN_ORDER {
        let Err(failure) = &attempt.exchange.ending else { break };
        if !remedy.is_meant_for(failure, &attempt.input) {
            continue;
        }
        attempt = match remedy {
            Remedy::LostChain => lost_chain::apply(reasoner, running, &attempt).await?,
            Remedy::RefusedOutputs => refused_outputs::apply(reasoner, running, &attempt).await?,
            Remedy::RefusedInput => refused_input::apply(reasoner, running, attempt).await?,
        };
    }
    Ok(attempt.exchange)
}
