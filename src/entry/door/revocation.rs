//! Revocation where no session is asked (interface §13): at workspaces, which belong to the tenant, and when a ticket is
//! minted. A user's sessions and the user's own object know by themselves what is revoked.

use crate::contract::Result;
use crate::entry::other_version::unanswered;
use crate::entry::response::{credential_expired, object_failed};
use crate::identity::Caller;
use crate::object::ask;
use crate::ports::Gateway;
use crate::users::RevokedQuestion;

/// Asks the user's object whether the caller's credential is revoked; a key is not asked about.
///
/// # Errors
/// `credential_expired`, `internal` where the user's object does not answer, and `overloaded` where it is of another version.
pub(super) async fn refuse_revoked<G: Gateway>(gateway: &G, caller: &Caller) -> Result<()> {
    let issued_at = caller.grants.issued_at;
    let (Some(user), true) = (caller.own_name(), issued_at.is_some()) else { return Ok(()) };
    let revoked = ask(gateway, &user, &RevokedQuestion {}).await;
    let revoked = revoked.map_err(|fault| unanswered(&fault, object_failed()))?;
    if revoked.revokes(issued_at) { Err(credential_expired()) } else { Ok(()) }
}
