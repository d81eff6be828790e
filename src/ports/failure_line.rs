//! The line of the log for work that has failed beside any request, and is done again later.

use serde_json::{Value, json};

use crate::contract::Fault;

/// A line of that event and level, with the fault.
pub fn failure_line(event: &str, level: &str, fault: &Fault) -> Value {
    json!({
        "event": event, "level": level, "code": fault.code.as_str(), "message": fault.message,
    })
}
