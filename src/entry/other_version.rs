//! What a request is refused with while a deploy takes hold, where two versions do not understand each other.

use crate::contract::{ErrorCode, Fault};
use crate::ports::HttpFault;

/// An object keeps the code of the version before for minutes, unless it rests: then it has the new one at once.
const OTHER_VERSION_MS: u64 = 5_000;

/// `overloaded`: the door and the object, or two objects, are of versions that do not understand each other.
pub(super) fn other_version() -> Fault {
    let message = "A new version of the service is taking hold, and not everywhere yet. Nothing was done: wait as Retry-After says, and send the same request again.";
    Fault::new(ErrorCode::Overloaded, message).with("RetryAfterMs", OTHER_VERSION_MS)
}

/// What a request is refused with whose object got no reply of another one: `otherwise`, unless that one is of another
/// version.
pub(super) fn unanswered(fault: &HttpFault, otherwise: Fault) -> Fault {
    if fault.is_of_other_version() { other_version() } else { otherwise }
}
