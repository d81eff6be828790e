//! Workers Logs: each event is one line of JSON.

use serde_json::Value;

use super::bindings::console::{console_error, console_log, console_warn};

/// Writes a line at the level that its `level` names.
pub(super) fn write_line(line: &Value) {
    let write = match line.get("level").and_then(Value::as_str) {
        Some("error") => console_error,
        Some("warn") => console_warn,
        _ => console_log,
    };
    write(&line.to_string());
}
