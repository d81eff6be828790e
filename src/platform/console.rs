//! Workers Logs: each event is one line of JSON.

use serde_json::Value;
use worker::{console_error, console_log, console_warn};

/// Writes a line at the level that its `level` names.
pub(super) fn write_line(line: &Value) {
    match line.get("level").and_then(Value::as_str) {
        Some("error") => console_error!("{line}"),
        Some("warn") => console_warn!("{line}"),
        _ => console_log!("{line}"),
    }
}
