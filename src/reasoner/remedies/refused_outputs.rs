//! The service refuses an input that holds stand-ins for tool outputs that it refused before. The calls
//! leave the conversation together with their outputs, the chain that waits for them is given up, and
//! the call sends what remains.
//!
//! It cannot be tried for ever: no stand-in remains in the conversation.

use crate::contract::Fault;
use crate::llm_call::CallFailure;
use crate::persistence::{Session, SessionStore};
use crate::ports::Database;
use crate::reasoner::conversation_input::Input;

pub(super) fn is_meant_for(failure: &CallFailure, input: &Input) -> bool {
    failure.refused_input() && input.stands_in()
}

pub(super) fn input<D: Database>(
    store: &SessionStore<D>,
    session: &mut Session,
) -> Result<Input, Fault> {
    store.forget_refused_calls(session)?;
    Input::whole_conversation(store, true)
}
