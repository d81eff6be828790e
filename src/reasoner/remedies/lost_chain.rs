//! The service does not know, or does not support, the response that the call continues. The session
//! holds the whole conversation itself: the call sends it, and begins a new chain.
//!
//! It cannot be tried for ever: the new input continues no chain, so none can be lost.

use crate::contract::Fault;
use crate::llm_call::CallFailure;
use crate::persistence::SessionStore;
use crate::ports::Database;
use crate::reasoner::conversation_input::Input;

pub(super) fn is_meant_for(failure: &CallFailure, input: &Input) -> bool {
    input.previous_response_id.is_some() && failure.lost_chain()
}

pub(super) fn input<D: Database>(store: &SessionStore<D>) -> Result<Input, Fault> {
    Input::whole_conversation(store, true)
}
