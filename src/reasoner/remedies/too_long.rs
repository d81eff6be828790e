//! The input does not fit into the model's context window. The turn's own words leave the conversation, so
//! that they never block another turn.

use crate::contract::Fault;
use crate::persistence::SessionStore;
use crate::ports::Database;
use crate::reasoner::conversation_input::Input;
use crate::reasoner::turn_loop::RunningTurn;

pub(super) fn withhold_own<D: Database>(
    store: &SessionStore<D>,
    running: &mut RunningTurn<'_>,
    input: &Input,
) -> Result<(), Fault> {
    let (own, _) = input.refusable(running);
    store.withhold(&mut running.session, &own)
}
