//! Where the services of an agent context are (interface §6): for a tenant with a jurisdiction no session runs, and no
//! workspace is filled or searched, by one of which a service is not declared to be there.

use crate::catalog::{AgentContext, Catalog};
use crate::contract::{ErrorCode, Fault};
use crate::encoding::Jurisdiction;

/// Whether a session of a tenant may run under an agent context.
///
/// # Errors
/// `context_not_found`, with the reason.
pub(super) fn permit_agent(
    catalog: &Catalog,
    agent: &AgentContext,
    jurisdiction: Option<Jurisdiction>,
) -> Result<(), Fault> {
    match jurisdiction {
        Some(needed) if !catalog.resides(agent, needed) => Err(elsewhere(needed)),
        Some(_) | None => Ok(()),
    }
}

/// The same for the `default` contexts, by which workspaces are filled and searched.
pub(super) fn permit_default(
    catalog: &Catalog,
    jurisdiction: Option<Jurisdiction>,
) -> Result<(), Fault> {
    match jurisdiction {
        Some(needed) if !catalog.default_resides(needed) => Err(elsewhere(needed)),
        Some(_) | None => Ok(()),
    }
}

fn elsewhere(needed: Jurisdiction) -> Fault {
    let message = format!(
        "The data of this tenant stays in {}, and the catalog does not say of every service of the agent context that it is there. Name another context, or have the operator declare its Residence.",
        needed.as_str()
    );
    Fault::new(ErrorCode::ContextNotFound, message).with("Reason", "residence")
}
