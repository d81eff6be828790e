//! The service makes no responses in the background, and says so. The session asks for none any more: a call that a
//! crash repeats is better than a failed turn.

use crate::llm_call::CallFailure;
use crate::reasoner::running_turn::RunningTurn;

/// Whether this remedy applies; if so, no later call of the session asks for a response in the background.
pub(super) fn applies(running: &mut RunningTurn<'_>, failure: &CallFailure) -> bool {
    let applies = running.asks_background() && failure.refused_background();
    running.session.state.background_refused |= applies;
    applies
}
