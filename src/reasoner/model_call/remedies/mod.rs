//! Remedies for a model call that the service refused: each repeats the call with another input. They
//! apply in the order of [`IN_ORDER`], each at most once in a step of the loop. One stands there twice: a
//! conversation that was compacted is sent as a whole, with reasoning.
//!
//! | remedy | applies to | changes | cannot repeat because |
//! |---|---|---|---|
//! | [`unsupported::background`] | a service that makes no response in the background | asks without | that call asks without |
//! | [`unsupported::storage`] | a service that stores nothing, and says so | stores nothing, sends the whole conversation | that call asks for no storage |
//! | [`lost_chain`] | a chain that the service does not know | sends the whole conversation | that input continues no chain |
//! | [`unsupported::reasoning`] | a service that gives no reasoning to send back | asks for none | that call asks for none |
//! | [`unsupported::sent_reasoning`] | reasoning that the service does not take back | sends the whole conversation without reasoning | no reasoning is left |
//! | [`too_long`] | an input that does not fit into the context window | compacts the conversation step by step | each step sends less, and the steps have an end |
//! | [`Remedy::RefusedOutputs`] | refused replacements of tool outputs | their calls leave the conversation | no replacement is left |
//! | [`refused_input`] | any other refused input, or a refusal that nothing explains | entries of other turns that the model has not got leave the conversation | withheld entries are never sent again |
//!
//! Behind them stands the [`ladder`]: what is still refused is made again with less of the conversation, whatever the
//! service says. Where nothing explains the refusal, only then are the solution context and a turn's steers to blame,
//! and at last the turn itself.
//!
//! Before [`too_long`] and [`refused_input`] blame the turn itself, [`refused_context`] has the call made again without the session's solution context, where the input brings it; and before both, [`refused_steers`] without the steers that it brings.
//!
//! A new remedy is a file here, or a function of [`unsupported`], a variant of [`Remedy`], and a place in [`IN_ORDER`].

mod ladder;
mod lost_chain;
mod refused_context;
mod refused_input;
mod refused_steers;
mod too_long;
mod unsupported;

use super::conversation_input::Input;
use super::exchange::Exchange;
use super::fall_back::can_fall_back;
use crate::contract::Result;
use crate::llm_call::CallFailure;
use crate::persistence::EntrySeq;
use crate::ports::{Database, Platform};
use crate::reasoner::running_turn::{Reasoner, RunningTurn};

/// A remedy, named after its file, or after what the service does not do or has refused.
#[derive(Clone, Copy)]
enum Remedy {
    NoBackground,
    NoStorage,
    LostChain,
    NoReasoning,
    RefusedReasoning,
    TooLong,
    RefusedOutputs,
    RefusedInput,
}

/// The last remedy blames the entries themselves, so the others come first.
const IN_ORDER: [Remedy; 9] = [
    Remedy::NoBackground,
    Remedy::NoStorage,
    Remedy::LostChain,
    Remedy::NoReasoning,
    Remedy::RefusedReasoning,
    Remedy::TooLong,
    Remedy::RefusedReasoning,
    Remedy::RefusedOutputs,
    Remedy::RefusedInput,
];

/// The failure of a call that another input may help. It helps neither where the service has refused the reading of a
/// response and not the request for it, nor a schema that the service does not take, nor a service that another one takes
/// the call over from.
fn remediable<'e>(running: &RunningTurn<'_>, exchange: &'e Exchange) -> Option<&'e CallFailure> {
    let failure = exchange.ending.as_ref().err()?;
    let helps = exchange.transcript.goes_on.is_none()
        && !running.refuses_schema(failure)
        && !can_fall_back(running, exchange);
    helps.then_some(failure)
}

/// How many of the newest suspects are each blamed alone, before all of them are blamed together: each costs a call.
const BLAMED_ALONE: usize = 4;

/// What a refused call is made again without, one after the other; suspects come oldest first, and each is some entries.
fn blames(suspects: Vec<Vec<EntrySeq>>) -> Vec<Vec<EntrySeq>> {
    let alone = if suspects.len() > 1 { BLAMED_ALONE } else { 0 };
    let mut blames: Vec<_> = suspects.iter().rev().take(alone).cloned().collect();
    blames.extend((!suspects.is_empty()).then(|| suspects.concat()));
    blames
}

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Repeats a failed call with the remedies that apply to it, then with less of the conversation, and returns the last
    /// call. A turn that is refused even alone leaves the conversation, so that it never blocks another.
    pub(crate) async fn remedied(
        &self,
        running: &mut RunningTurn<'_>,
        input: Input,
        exchange: Exchange,
    ) -> Result<Exchange> {
        let exchange = self.remedied_by_words(running, input, exchange).await?;
        let exchange = self.climb(running, exchange).await?;
        let exchange = self.climb_without_context(running, exchange).await?;
        let exchange = self.climb_without_steers(running, exchange).await?;
        if let Some(failure) = remediable(running, &exchange) {
            if failure.too_long() {
                self.store.leave_out_turn(&mut running.session, &mut running.turn)?;
            } else if failure.refused_input() {
                let (own, _) = Input::unsent(&self.store, running)?.refusable(running);
                self.store.withhold(&mut running.session, &own)?;
            }
        }
        Ok(exchange)
    }

    /// Repeats a failed call with the remedies that its words name, and returns the last call.
    async fn remedied_by_words(
        &self,
        running: &mut RunningTurn<'_>,
        mut input: Input,
        mut exchange: Exchange,
    ) -> Result<Exchange> {
        for remedy in IN_ORDER {
            let Some(failure) = remediable(running, &exchange) else { break };
            // Whether the remedy applies, and whether the session sends something else since.
            let (applies, changes_input) = match remedy {
                Remedy::NoBackground => (unsupported::background(running, failure), false),
                Remedy::NoStorage => (unsupported::storage(running, failure), true),
                Remedy::LostChain => {
                    let (session, now) = (&mut running.session, self.platform.now_ms());
                    (lost_chain::applies(session, failure, &input, now), true)
                }
                Remedy::NoReasoning => (unsupported::reasoning(running, failure), false),
                Remedy::RefusedReasoning => (unsupported::sent_reasoning(running, failure), true),
                Remedy::TooLong if failure.too_long() => {
                    (input, exchange) =
                        self.compact_until_it_fits(running, input, exchange).await?;
                    continue;
                }
                Remedy::TooLong => continue,
                Remedy::RefusedOutputs => {
                    let is_refused = failure.refused_input() && input.holds_replacements();
                    if is_refused {
                        // The chain that waits for the outputs ends, too.
                        self.store.forget_refused_calls(&mut running.session)?;
                    }
                    (is_refused, true)
                }
                Remedy::RefusedInput if failure.refused_input() => {
                    return self.call_without_unsent(running, input, exchange).await;
                }
                Remedy::RefusedInput if self.leads_up(running, failure) => {
                    let is_refused = |running: &RunningTurn<'_>, exchange: &Exchange| {
                        remediable(running, exchange)
                            .is_some_and(|failure| self.leads_up(running, failure))
                    };
                    return self.call_without_others(running, &input, exchange, is_refused).await;
                }
                Remedy::RefusedInput => continue,
            };
            if !applies {
                continue;
            }
            if changes_input {
                input = Input::rebuild(&self.store, &running.session.state.window)?;
            }
            exchange = self.call_again(running, exchange, &input).await?;
        }
        Ok(exchange)
    }
}
