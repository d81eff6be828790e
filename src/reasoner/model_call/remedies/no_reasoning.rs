//! The service keeps no reasoning, and gives out none that could be sent back. The session asks for it no
//! more: a model that thinks anew after each call is better than a failed turn.

use crate::llm_call::CallFailure;
use crate::reasoner::running_turn::RunningTurn;

/// Whether this remedy applies; if so, no later call of the session asks for reasoning.
pub(super) fn applies(running: &mut RunningTurn<'_>, failure: &CallFailure) -> bool {
    let applies = running.wants_reasoning() && failure.refused_reasoning();
    running.session.state.reasoning_refused |= applies;
    applies
}
