//! The service refuses an input that holds replacements of tool outputs that it refused before. The calls
//! leave the conversation together with their outputs, the chain that waits for the outputs ends, and
//! the call sends the rest of the conversation.

use crate::contract::Result;
use crate::llm_call::CallFailure;
use crate::persistence::{Session, SessionStore};
use crate::ports::Database;
use crate::reasoner::model_call::conversation_input::Input;

/// Whether the failure says so.
pub(super) fn applies<D: Database>(
    store: &SessionStore<D>,
    session: &mut Session,
    failure: &CallFailure,
    input: &Input,
) -> Result<bool> {
    let is_refused = failure.refused_input() && input.holds_replacements();
    if is_refused {
        store.forget_refused_calls(session)?;
    }
    Ok(is_refused)
}
