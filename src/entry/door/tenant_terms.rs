//! What the operator says of a request's tenant (`TENANTS`; interface §6), looked at before any object is asked.

use crate::contract::{Fault, Result};
use crate::entry::route::Route;
use crate::identity::{Caller, Tenants};
use crate::ports::Gateway;

/// Where authorization servers look for a client's document. It is no endpoint yet, and is of no tenant.
const CLIENT_DOCUMENT: &str = "/oauth/client.json";

/// Whether an address shows nothing of a tenant, and answers whatever the variables hold.
pub(super) fn concerns_no_tenant(target: &str) -> bool {
    let is_document = target.split('?').next() == Some(CLIENT_DOCUMENT);
    is_document
        || matches!(Route::find("GET", target), Ok(Route::Health | Route::Errors | Route::OpenApi))
}

/// Holds a caller to what the operator permits its tenant.
///
/// # Errors
/// `internal`: the runtime does not offer the tenant's jurisdiction. There is no second try in another place.
pub(super) fn hold_to_terms<G: Gateway>(
    gateway: &G,
    tenants: &Tenants,
    caller: &mut Caller,
) -> Result<()> {
    let needed = tenants.needed_jurisdiction(&caller.tenant);
    if needed.is_some_and(|jurisdiction| !gateway.offers(jurisdiction)) {
        return Err(Fault::internal("TENANTS: this runtime has no jurisdictions"));
    }
    if let Some(contexts) = &tenants.of(&caller.tenant).contexts {
        caller.grants.hold_to_contexts(contexts);
    }
    Ok(())
}
