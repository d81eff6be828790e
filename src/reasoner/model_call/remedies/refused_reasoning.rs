//! The service does not take back reasoning that it gave out: it misses the item that belongs to it, or cannot read the
//! reasoning any more, as after a change of the model. The call sends the whole conversation without the reasoning so
//! far, and so does every later call that sends it: what was refused once is not paid for again.

use crate::llm_call::CallFailure;
use crate::persistence::Session;

/// Whether the failure says so.
pub(super) fn applies(session: &mut Session, failure: &CallFailure) -> bool {
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
