//! The service keeps no reasoning, and gives out none that could be sent back. The session asks for it no
//! more: the model thinks anew after each call, which is better than no answer.

use crate::llm_call::CallFailure;
use crate::reasoner::running_turn::RunningTurn;

/// Whether this remedy is meant; if so, no later call of the session asks for reasoning.
pub(super) fn is_meant(running: &mut RunningTurn<'_>, failure: &CallFailure) -> bool {
    let is_meant = running.wants_reasoning() && failure.refused_reasoning();
    running.session.state.reasoning_refused |= is_meant;
    is_meant
}
