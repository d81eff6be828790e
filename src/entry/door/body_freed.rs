//! Why the room for bodies takes nothing more of a body, and what its client is told (interface §3).

use crate::contract::{ErrorCode, Fault};

/// Why a body has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freed {
    /// There is none, or the body's time was over.
    Full,
    /// It hardly came, and another one needed the room.
    Slow,
    /// Its owner holds more than a share, and another one needed the room.
    Share,
}

impl Freed {
    /// `overloaded`, with what helps.
    pub(super) fn fault(self) -> Fault {
        let message = match self {
            Self::Full => {
                "Too many long bodies are being received. Wait as Retry-After says, and send the request again."
            }
            Self::Slow => {
                "Less than 16 KiB of the body came in 5 s, and its room went to a request that waited. Send the request again, and the body faster."
            }
            Self::Share => {
                "The caller's bodies filled more than a share of the room, and others waited. Wait as Retry-After says, and send fewer at once."
            }
        };
        Fault::new(ErrorCode::Overloaded, message)
    }
}
