//! What a credential must permit for a new turn (interface §13), as far as the request and its context say it.

use crate::contract::{Fault, Operation, UserTurn};
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
