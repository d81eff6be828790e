//! What a credential must permit for a new turn (interface §13), as far as the request and its context say it.

use crate::catalog::{ConversationContext, DEFAULT_CONTEXT};
use crate::contract::{Fault, Operation, UserTurn};
use crate::entry::context::AdmissionContext;
use crate::entry::response::no_turn;
use crate::identity::Grants;

/// `forbidden` for a turn that the credential does not permit, or for its workspace; `turn_not_found` for a turn that the
/// credential does not name.
pub(super) fn permit_turn(request: &UserTurn, grants: &Grants) -> Result<(), Vec<Fault>> {
    grants.permit_any(&[Operation::Execute])?;
    if !grants.name_turn(&request.turn_id) {
        return Err(no_turn(&request.turn_id).into());
    }
    match &request.workspace_id {
        Some(workspace) => {
            let permitted = grants.permit_workspace(workspace);
            permitted.map_err(|fault| fault.at("/WorkspaceId").into())
        }
        None => Ok(()),
    }
}

/// Whether a credential may name an agent context, which decides the model and the budget: where it is a ticket or a
/// token, or where its conversation contexts are limited, only `own`, that of the conversation context.
pub(super) fn permits_agent(grants: &Grants, named: Option<&String>, own: &str) -> bool {
    grants.permit_any_agent() || named.is_none_or(|named| named == own)
}

/// The conversation context under which a session's first turn would begin; `None` where admission refuses it for the
/// contexts that it names. Of an agent context that the catalog lacks, admission tells beside other faults.
pub(super) fn first_context<'c>(
    context: &'c AdmissionContext,
    turn: &UserTurn,
    grants: &Grants,
) -> Option<&'c ConversationContext> {
    let named = turn.conversation_context_id.as_deref().unwrap_or(DEFAULT_CONTEXT);
    let catalog = context.catalog.as_ref().ok()?;
    let known = catalog.conversation_context(named).filter(|_| grants.permit_context(named))?;
    let (named, own) = (turn.agent_context_id.as_ref(), &known.agent_context_id);
    let agent = catalog.agent_context(named.unwrap_or(own));
    let is_permitted = permits_agent(grants, named, own)
        && agent.is_none_or(|agent| context.permit_residence(agent).is_ok());
    is_permitted.then_some(known)
}
