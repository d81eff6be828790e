//! Tool outputs that are shortened to head and tail, because the conversation had become too long for the
//! model (interface §10).

use serde_json::value::RawValue;

use super::tool_output::call_id_of;
use crate::contract::{Fault, Result};
use crate::responses_api::{ReadableItem, ReadablePart, ToolOutput, function_call_output};

/// What the note about the missing middle takes at most, in bytes.
const NOTE_BYTES: usize = 100;

/// A tool output of which about `bytes` bytes of text stay; `None` when it is hardly longer than that. Pictures
/// and files of a shortened output are left out.
pub(crate) fn shortened_output(item: &RawValue, bytes: usize) -> Result<Option<Box<RawValue>>> {
    if item.get().len() <= bytes.saturating_add(NOTE_BYTES) {
        return Ok(None);
    }
    let ReadableItem::Output(parts) = ReadableItem::read(item) else { return Ok(None) };
    let text = parts_as_text(parts);
    let call_id = call_id_of(item)?;
    let shortened = function_call_output(&call_id, ToolOutput::Text(&head_and_tail(&text, bytes)))
        .map_err(|_| Fault::unwritable("A tool output"))?;
    Ok(Some(shortened).filter(|shortened| shortened.get().len() < item.get().len()))
}

/// A text's beginning and end with a note between them, about `bytes` bytes in all; the text itself when it
/// is hardly longer.
pub(super) fn head_and_tail(text: &str, bytes: usize) -> String {
    if text.len() <= bytes.saturating_add(NOTE_BYTES) {
        return text.to_owned();
    }
    let head_end = text.floor_char_boundary(bytes / 2);
    let tail_begin = text.ceil_char_boundary(text.len() - bytes / 2);
    let (head, tail) = (text.get(..head_end), text.get(tail_begin..));
    let left_out = tail_begin - head_end;
    format!(
        "{}\n[… {left_out} bytes were left out here: the conversation had become too long …]\n{}",
        head.unwrap_or_default(),
        tail.unwrap_or_default()
    )
}

/// The words of an output, part by part.
pub(super) fn parts_as_text(parts: Vec<ReadablePart>) -> String {
    parts.into_iter().map(part_as_text).collect::<Vec<_>>().join("\n")
}

/// The words of a part; a part without text becomes a note of its kind.
pub(super) fn part_as_text(part: ReadablePart) -> String {
    match part {
        ReadablePart::Text(text) => text,
        ReadablePart::Image => "[a picture]".to_owned(),
        ReadablePart::File(name) => format!("[the file {name}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(text: &str) -> Box<RawValue> {
        function_call_output("call_1", ToolOutput::Text(text)).unwrap()
    }

    #[test]
    fn a_long_output_keeps_its_head_and_its_tail_and_says_what_is_missing() {
        let long = format!("head{}täil", "ä".repeat(5_000));
        for bytes in [0, 1, 7, 100, 4_000] {
            let shortened = shortened_output(&output(&long), bytes).unwrap().unwrap();
            let item: serde_json::Value = serde_json::from_str(shortened.get()).unwrap();
            let text = item["output"].as_str().unwrap();
            let (head, rest) = text.split_once("\n[… ").unwrap();
            let (count, tail) = rest
                .split_once(" bytes were left out here: the conversation had become too long …]\n")
                .unwrap();
            assert!(long.starts_with(head) && long.ends_with(tail));
            assert_eq!(head.len() + count.parse::<usize>().unwrap() + tail.len(), long.len());
            assert!(head.len() + tail.len() <= bytes);
            assert_eq!(item["call_id"], "call_1");
        }
    }

    #[test]
    fn an_output_that_would_hardly_become_shorter_stays_as_it_is() {
        for (length, bytes) in [(10, 0), (1_000, 1_000), (1_050, 1_000), (1_000, usize::MAX)] {
            assert!(shortened_output(&output(&"a".repeat(length)), bytes).unwrap().is_none());
        }
        // Escapes count as they are sent.
        let escaped = shortened_output(&output(&"\u{1}".repeat(900)), 1_000).unwrap();
        assert!(escaped.is_none());
    }
}
