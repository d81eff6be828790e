//! Whether a text is JSON at all. No JSON Pointer exists at this stage, so messages give line and
//! column; they never repeat content.

use serde::de::IgnoredAny;

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
