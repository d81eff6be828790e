//! Workers Logs: one line of JSON for each event.

use serde_json::Value;
use worker::{console_error, console_log, console_warn};

/// Writes a line; its `level` is the log's.
pub(super) fn write_line(line: &Value) {
    match line.get("level").and_then(Value::as_str) {
        Some("error") => console_error!("{line}"),
        Some("warn") => console_warn!("{line}"),
        _ => console_log!("{line}"),
    }
}
