//! Revocation where no session is asked (interface §13): at workspaces, which belong to the tenant, and when a ticket is
//! minted. A user's sessions and the user's own object know by themselves what is void.

use crate::contract::Fault;
use crate::entry::response::{credential_expired, object_failed};
use crate::identity::Caller;
use crate::ports::{Gateway, ObjectQuestion};
use crate::users::Revocation;

/// Asks the user's object whether the caller's credential is void; a key is not asked about.
///
/// # Errors
/// `credential_expired`, and `internal` where the user's object does not answer.
pub(super) async fn refuse_void<G: Gateway>(gateway: &G, caller: &Caller) -> Result<(), Fault> {
    let issued_at = caller.grants.issued_at;
    let (Some(user), true) = (caller.own_name(), issued_at.is_some()) else { return Ok(()) };
    let reply = gateway.ask_object(&user, ObjectQuestion::Revoked, String::new()).await;
    let revoked = reply.ok().and_then(|reply| serde_json::from_str(&reply).ok());
    let revoked: Revocation = revoked.ok_or_else(object_failed)?;
    if revoked.voids(issued_at) { Err(credential_expired()) } else { Ok(()) }
}
