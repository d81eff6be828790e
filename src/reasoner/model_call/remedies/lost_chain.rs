//! The service does not know, or does not support, the response that the call continues. The session itself
//! holds the whole conversation, so the call sends all of it and begins a new chain. After two chains in a row
//! that were lost within minutes, the session begins no new one: the service keeps none. A chain that is lost
//! later was kept until then, and has expired: those before it and behind it are not in a row.

use crate::llm_call::CallFailure;
use crate::persistence::{ChainEnd, Session};
use crate::reasoner::model_call::conversation_input::Input;

/// The number of chains in a row that must be lost early before a service counts as keeping none. A single one
/// can be lost to a restart.
const LOST_IN_A_ROW: u32 = 2;

/// The age up to which a chain is lost early, in milliseconds.
const EARLY_MS: u64 = 300_000;

/// Whether the failure says so.
pub(super) fn applies(
    session: &mut Session,
    failure: &CallFailure,
    input: &Input,
    now_ms: u64,
) -> bool {
    let continued = input.previous_response_id.as_deref();
    if !continued.is_some_and(|id| failure.lost_chain(id)) {
        return false;
    }
    // It counts once, whatever becomes of the call that begins another.
    session.drop_chain();
    let chain = &mut session.state.chain;
    let is_early = now_ms.saturating_sub(chain.grown_at) <= EARLY_MS;
    chain.lost_early = if is_early { chain.lost_early + 1 } else { 0 };
    if chain.lost_early >= LOST_IN_A_ROW {
        session.end_chain(ChainEnd::ChainsLost);
    }
    true
}
