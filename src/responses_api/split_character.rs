//! Characters that a service cut in two. Some services count text in UTF-16: one delta ends with the
//! escape of the first half (`\ud83d`) and the next delta begins with that of the second.
//!
//! JSON readers refuse half a character, so the stream calls this only for events that it could not
//! read. Nothing but the delta is changed: services do not cut whole texts, and whole texts replace
//! the deltas in the end.

use crate::encoding::SseEvent;
use crate::json::first_member;

/// The first half of a character, with which the last delta ended, as its escape.
#[derive(Debug, Default)]
pub(super) struct SplitCharacter {
    high: String,
}

impl SplitCharacter {
    /// The event with whole characters only. The held half is put before its delta, and a half at the
    /// delta's end is held for the next one. Other halves become U+FFFD. `None` when the event has no
    /// delta that is a string.
    pub(super) fn join(&mut self, event: &SseEvent) -> Option<SseEvent> {
        let delta = first_member(&event.data, "delta")?;
        let (before, after) = event.data.split_once(delta)?;
        let text = delta.strip_prefix('"')?.strip_suffix('"')?;
        let text = std::mem::take(&mut self.high) + text;
        let mut data = format!("{before}\"");
        let mut rest = text.as_str();
        while let Some((plain, escapes)) = rest.find('\\').and_then(|at| rest.split_at_checked(at))
        {
            data += plain;
            let (escape, below) = first_escape(escapes);
            rest = below;
            match (half(escape), half(first_escape(below).0)) {
                (Some(Half::High), Some(Half::Low)) => {
                    let (low, below) = first_escape(below);
                    data += escape;
                    data += low;
                    rest = below;
                }
                (Some(Half::High), _) if below.is_empty() => escape.clone_into(&mut self.high),
                (Some(_), _) => data += "\\ufffd",
                (None, _) => data += escape,
            }
        }
        data = data + rest + "\"" + after;
        Some(SseEvent { event: event.event.clone(), data })
    }

    /// Drops the held half: a delta has come that does not begin with the second.
    pub(super) fn give_up(&mut self) {
        self.high.clear();
    }
}

enum Half {
    High,
    Low,
}

/// The escape that a text begins with, and the text behind it.
fn first_escape(text: &str) -> (&str, &str) {
    let length = if text.starts_with("\\u") { 6 } else { 2 };
    text.split_at_checked(length).unwrap_or((text, ""))
}

/// The half of a character that an escape stands for, if it stands for one.
fn half(escape: &str) -> Option<Half> {
    match u16::from_str_radix(escape.strip_prefix("\\u")?, 16).ok()? {
        0xd800..=0xdbff => Some(Half::High),
        0xdc00..=0xdfff => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the deltas of a text's parts are, once they were joined.
    fn joined(parts: &[&str]) -> Vec<String> {
        let mut split = SplitCharacter::default();
        let delta = |part: &&str| {
            let data = format!(r#"{{"a":1,"delta":"{part}","z":"{part}x"}}"#);
            let event = split.join(&SseEvent { event: None, data }).unwrap();
            let value: serde_json::Value =
                serde_json::from_str(&event.data.replace(&format!(r#""{part}x""#), "2")).unwrap();
            assert_eq!((&value["a"], &value["z"]), (&1.into(), &2.into()));
            value["delta"].as_str().unwrap().to_owned()
        };
        parts.iter().map(delta).collect()
    }

    #[test]
    fn a_character_that_was_cut_in_two_is_whole_in_the_second_delta() {
        assert_eq!(joined(&[r"a\ud83d", r"\ude00b"]), ["a", "😀b"]);
        assert_eq!(joined(&[r"\uD83D", r"\uDE00\ud83d", r"\ude00"]), ["", "😀", "😀"]);
        assert_eq!(joined(&[r"\\\ud83d\ude00\n\ud83d", r"\ude00\u0041"]), ["\\😀\n", "😀A"]);
    }

    #[test]
    fn half_a_character_without_the_other_is_the_replacement_character() {
        assert_eq!(
            joined(&[r"a\ude00b", r"\ud83db", r"\ud83d\ud83d"]),
            ["a\u{fffd}b", "\u{fffd}b", "\u{fffd}"]
        );
    }

    #[test]
    fn what_has_no_delta_that_is_text_is_left_as_it_is() {
        for data in ["", "{}", "[1]", r#"{"delta":7}"#, r#"{"delta":"a"#] {
            let event = SseEvent { event: None, data: data.to_owned() };
            assert_eq!(SplitCharacter::default().join(&event), None, "{data}");
        }
    }
}
