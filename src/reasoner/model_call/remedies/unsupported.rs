//! What the service does not do or take back, and says so. The session goes on without it: a model that thinks anew after
//! each call, or a call that a crash repeats, is better than a failed turn.

use crate::llm_call::CallFailure;
use crate::persistence::ChainEnd;
use crate::reasoner::running_turn::RunningTurn;

/// No responses in the background: whether the failure says so. No later call of the session asks for one then.
pub(super) fn background(running: &mut RunningTurn<'_>, failure: &CallFailure) -> bool {
    let is_refused = running.asks_background() && failure.refused_background();
    running.session.state.background_refused |= is_refused;
    is_refused
}

/// No reasoning that could be sent back, the same.
pub(super) fn reasoning(running: &mut RunningTurn<'_>, failure: &CallFailure) -> bool {
    let is_refused = running.wants_reasoning() && failure.refused_reasoning();
    running.session.state.reasoning_refused |= is_refused;
    is_refused
}

/// No storage of responses, for an organization with zero data retention, or ever: the session goes on as with
/// `"Continuation": "replay"`.
pub(super) fn storage(running: &mut RunningTurn<'_>, failure: &CallFailure) -> bool {
    let is_refused = running.is_chained() && failure.refused_storage();
    if is_refused {
        running.session.end_chain(ChainEnd::StoreRefused);
    }
    is_refused
}

/// Reasoning that the service gave out, and does not take back: it misses the item that belongs to it, or cannot
/// read it any more, as after a change of the model. Every later call that sends the whole conversation leaves the
/// reasoning so far out: what was refused once is not paid for again.
pub(super) fn sent_reasoning(running: &mut RunningTurn<'_>, failure: &CallFailure) -> bool {
    let session = &mut running.session;
    // The newest output of the model is the last entry that the service has received.
    let newest = session.acknowledged;
    if !failure.refused_sent_reasoning() || session.state.window.without_reasoning >= newest {
        return false;
    }
    session.state.window.without_reasoning = newest;
    // A service that misses something in its own chain would miss it again.
    session.drop_chain();
    true
}
