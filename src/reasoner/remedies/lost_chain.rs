//! The service does not know, or does not support, the response that the call continues. The session
//! itself holds the whole conversation, so the call sends all of it and begins a new chain.

use crate::contract::Fault;
use crate::llm_call::CallFailure;
use crate::persistence::{SessionStore, Window};
use crate::ports::Database;
use crate::reasoner::conversation_input::Input;

pub(super) fn new_input<D: Database>(
    store: &SessionStore<D>,
    window: &Window,
    failure: &CallFailure,
    input: &Input,
) -> Result<Option<Input>, Fault> {
    let continued = input.previous_response_id.as_deref();
    let applies = continued.is_some_and(|id| failure.lost_chain(id));
    applies.then(|| Input::rebuilt(store, window)).transpose()
}
