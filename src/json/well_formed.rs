//! Whether a text is JSON at all. No JSON Pointer exists at this stage, so messages give line and
//! column; they never repeat content.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::de::IgnoredAny;

use super::string_text::text_of;

/// How deep arrays and objects may nest, the outermost included.
pub const DEPTH_LIMIT: usize = 128;

/// Why a text cannot be read as JSON.
#[derive(Debug)]
pub enum Malformed {
    /// It nests more than [`DEPTH_LIMIT`] levels deep.
    TooDeep {
        /// The line of the first bracket too many, from 1.
        line: usize,
        /// Its column in bytes, from 1.
        column: usize,
    },
    /// It is not one JSON value. [`not_json`] gives the reason without content.
    NotJson(serde_json::Error),
}

/// Checks that a text is one JSON value and does not nest too deeply.
pub fn check(text: &str) -> Result<(), Malformed> {
    // The scan takes any text. It comes before the parser, so that depth is reported as depth.
    if let Some(offset) = too_deep_at(text) {
        let above = text.as_bytes().get(..offset).unwrap_or_default();
        let (line, column) = position_after(above);
        return Err(Malformed::TooDeep { line, column });
    }
    serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(Malformed::NotJson)
}

/// Whether a text is one JSON value.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether two readers may take a JSON text for different values: an object, at any depth, names a member
/// twice, of which some take the first and some the last, or by a name that is no valid Unicode, or objects
/// nest deeper than [`DEPTH_LIMIT`].
pub fn is_ambiguous(json: &str) -> bool {
    let mut objects: Vec<BTreeSet<Cow<'_, str>>> = Vec::new();
    let mut rest = json;
    while let Some((_, found)) = rest.find(['{', '}', '"']).and_then(|at| rest.split_at_checked(at))
    {
        let length = if found.starts_with('"') { string_length(found) } else { 1 };
        let Some((token, after)) = found.split_at_checked(length) else { return true };
        rest = after;
        match token {
            "{" => objects.push(BTreeSet::new()),
            "}" => drop(objects.pop()),
            name if after.trim_ascii_start().starts_with(':') => {
                let names = objects.last_mut();
                if !names.zip(text_of(name)).is_some_and(|(names, name)| names.insert(name)) {
                    return true;
                }
            }
            _ => {}
        }
        if objects.len() > DEPTH_LIMIT {
            return true;
        }
    }
    false
}

/// The bytes of the string that a text begins with, its quotes included.
fn string_length(text: &str) -> usize {
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return at + 1,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    text.len()
}

/// Where and why a text is not JSON, without repeating any of it.
pub fn not_json(error: &serde_json::Error) -> String {
    let shown = error.to_string();
    // Syntax errors have fixed texts; a data error may quote a value.
    let reason = if error.is_data() {
        "not as expected"
    } else {
        shown.split_once(" at line ").map_or(shown.as_str(), |(reason, _)| reason)
    };
    format!("not valid JSON at line {}, column {} ({reason})", error.line(), error.column())
}

/// Line and column, from 1, of the byte that follows these.
pub fn position_after(bytes: &[u8]) -> (usize, usize) {
    let line = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = bytes.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    (line, column)
}

/// The offset of the first bracket that nests deeper than [`DEPTH_LIMIT`].
fn too_deep_at(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut bytes = text.bytes().enumerate();
    while let Some((offset, byte)) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > DEPTH_LIMIT {
                    return Some(offset);
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some((_, byte)) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => {
                            bytes.next();
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_ambiguous_where_an_object_names_a_member_twice() {
        for json in [
            r#"{"a":1,"b":{"a":1},"c":[{"a":"{\"a\":1,\"a\":2}"},{"a":2}],"d":"a"}"#,
            r#"{"a\\":1,"a\"":2,"a":["a","a"],"":{}}"#,
            "[1]",
            "",
        ] {
            assert!(!is_ambiguous(json), "{json}");
        }
        for json in [
            r#"{"a":1,"a":1}"#,
            "[{\"b\":{},\"a\":[{\"c\" : 1 , \"d\":\"}\", \"c\"\n:2}]}]",
            r#"{"a":{"b":1},"\u0061":2}"#,
            r#"{"\ud800":1}"#,
            &"{\"a\":".repeat(DEPTH_LIMIT + 1),
        ] {
            assert!(is_ambiguous(json), "{json}");
        }
    }
}
