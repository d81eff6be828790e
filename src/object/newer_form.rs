//! Tables that a newer version wrote, which this one cannot read: the object says so once, and its alarm waits for that
//! version.

use std::cell::Cell;

use serde_json::json;

use crate::ports::Platform;

/// What an instance does about tables of a newer form.
#[derive(Debug, Default)]
pub struct NewerForm {
    is_said: Cell<bool>,
}

impl NewerForm {
    /// How long the alarm of such an object waits, in milliseconds. Nothing is lost by that: with the newer version whatever
    /// is due goes on when it rings, or with the next request.
    pub const WAIT_MS: u64 = 600_000;

    /// Says in the log that the tables have the form `found`, unless this instance has said it. Returns whether they are of
    /// a newer form.
    pub fn say<P: Platform>(&self, platform: &P, found: Option<usize>) -> bool {
        if let (Some(form), false) = (found, self.is_said.replace(found.is_some())) {
            let message = "A newer version of the service wrote what is stored here. Deploy that version again.";
            platform.log(json!({
                "event": "newer_form", "level": "error", "form": form, "message": message,
            }));
        }
        found.is_some()
    }
}
