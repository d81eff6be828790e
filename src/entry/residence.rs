//! Where the services of an agent context are (interface §6): for a tenant with a jurisdiction no session runs, and no
//! workspace is filled or searched, by one of which a service is not declared to be there.

use crate::contract::{ErrorCode, Fault, Result};
use crate::encoding::Jurisdiction;

/// Refuses what is sent to services of which `reside` says that not all are in the tenant's jurisdiction.
///
/// # Errors
/// `context_not_found`, with the reason.
pub(super) fn refuse_elsewhere(
    jurisdiction: Option<Jurisdiction>,
    reside: impl FnOnce(Jurisdiction) -> bool,
) -> Result<()> {
    match jurisdiction {
        Some(needed) if !reside(needed) => {
            let message = format!(
                "The data of this tenant stays in {}, and the catalog does not say of every service of the agent context that it is there. Have the operator declare its Residence, or begin a session under another context.",
                needed.as_str()
            );
            Err(Fault::new(ErrorCode::ContextNotFound, message).with("Reason", "residence"))
        }
        Some(_) | None => Ok(()),
    }
}
