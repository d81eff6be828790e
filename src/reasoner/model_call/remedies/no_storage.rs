//! The service stores no responses, and says so: for an organization with zero data retention, or because
//! it never does. The session goes on as with `"Continuation": "replay"`.

use crate::contract::Fault;
use crate::llm_call::CallFailure;
use crate::persistence::{ChainEnd, SessionStore};
use crate::ports::Database;
use crate::reasoner::model_call::conversation_input::Input;
use crate::reasoner::running_turn::RunningTurn;

pub(super) fn new_input<D: Database>(
    store: &SessionStore<D>,
    running: &mut RunningTurn<'_>,
    failure: &CallFailure,
) -> Result<Option<Input>, Fault> {
    if !running.is_chained() || !failure.refused_storage() {
        return Ok(None);
    }
    running.session.end_chain(ChainEnd::StoreRefused);
    Input::rebuild(store, &running.session.state.window).map(Some)
}
