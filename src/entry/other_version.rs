//! What a request is refused with while a deploy takes hold: two versions do not understand each other, or an object begins
//! again with the new one.

use crate::contract::{ErrorCode, Fault};
use crate::ports::{HttpFault, OTHER_VERSION_MS};

/// `overloaded`: the door and the object, or two objects, are of versions that do not understand each other.
pub(super) fn other_version() -> Fault {
    let message = "A new version of the service is taking hold, and not everywhere yet. Nothing was done: wait as Retry-After says, and send the same request again.";
    Fault::new(ErrorCode::Overloaded, message).with("RetryAfterMs", OTHER_VERSION_MS)
}

/// `overloaded`: an object was moved or began again before it had answered.
fn began_again() -> Fault {
    let message = "The object behind this address began again before it had answered. Wait as Retry-After says, and send the same request again: nothing is done twice.";
    Fault::new(ErrorCode::Overloaded, message)
}

/// What a request is refused with to which an object gave no reply: `otherwise`, unless that one is of another version, or
/// replies when it is asked again.
pub(super) fn unanswered(fault: &HttpFault, otherwise: Fault) -> Fault {
    match fault {
        HttpFault::OtherVersion => other_version(),
        HttpFault::Passing(_) => began_again(),
        HttpFault::Lost(_) => otherwise,
    }
}
