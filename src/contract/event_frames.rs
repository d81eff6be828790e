//! The server-sent events of a turn's stream (interface §2, Delivery): each function gives the text of
//! one frame.

use serde::Serialize;

use super::progress::Progress;

/// `output_text.delta`: text that is appended to a segment. `end` is the segment's length in bytes
/// after it; the event's id contains it.
pub fn delta(segment: u32, end: usize, text: &str) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "PascalCase")]
    struct Delta<'a> {
        segment: u32,
        delta: &'a str,
    }
    // Serializing two plain members cannot fail.
    let data = serde_json::to_string(&Delta { segment, delta: text }).unwrap_or_default();
    format!("event: output_text.delta\nid: {segment}.{end}\ndata: {data}\n\n")
}

/// `output_text.discard`: the client drops all text of a segment.
pub fn discard(segment: u32) -> String {
    format!("event: output_text.discard\ndata: {{\"Segment\":{segment}}}\n\n")
}

/// `progress`: the turn's step. It has no id, because it is no position in the text.
pub fn progress(progress: &Progress<'_>) -> String {
    // Serializing plain members cannot fail.
    let data = serde_json::to_string(progress).unwrap_or_default();
    format!("event: progress\ndata: {data}\n\n")
}

/// The id of the `result` event.
pub const END: &str = "end";

/// `result`: the `InvokeResult` as JSON text. Nothing follows it.
pub fn result(invoke_result: &str) -> String {
    // `concat` allocates the whole length at once: a long result is copied once.
    ["event: result\nid: ", END, "\ndata: ", invoke_result, "\n\n"].concat()
}
