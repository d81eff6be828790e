//! Whether a text is JSON at all. No JSON Pointer exists at this stage, so messages give line and
//! column; they never repeat content.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::de::IgnoredAny;
use serde_json::Value;

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
    if let Some(offset) = too_deep_at(text, DEPTH_LIMIT) {
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

/// Whether two readers may take a JSON text for different values: it [repeats a member](repeats_a_member), or a number
/// is one that a double cannot hold (RFC 7493 §2.2).
pub fn is_ambiguous(json: &str) -> bool {
    is_ambiguous_or(json, |number| !is_held_by_a_double(number))
}

/// Whether an object of a JSON text, at any depth, names a member twice, of which some readers take the first and some
/// the last, or by a name that is no valid Unicode; or objects nest deeper than [`DEPTH_LIMIT`].
pub fn repeats_a_member(json: &str) -> bool {
    is_ambiguous_or(json, |_| false)
}

/// Whether arrays and objects of a text nest deeper than this, the outermost included. The text may be any.
pub fn nests_deeper_than(text: &str, levels: usize) -> bool {
    too_deep_at(text, levels).is_some()
}

fn is_ambiguous_or(json: &str, is_wrong_number: fn(&str) -> bool) -> bool {
    let begins_token = |c: char| matches!(c, '{' | '}' | '"' | '-' | '0'..='9');
    let mut objects: Vec<BTreeSet<Cow<'_, str>>> = Vec::new();
    let mut rest = json;
    while let Some((_, found)) = rest.find(begins_token).and_then(|at| rest.split_at_checked(at)) {
        let length = match found.as_bytes().first() {
            Some(b'"') => {
                end_of_string(&mut found.bytes().enumerate().skip(1)).unwrap_or(found.len())
            }
            Some(b'{' | b'}') => 1,
            _ => found.find(|c| !is_of_number(c)).unwrap_or(found.len()),
        };
        let Some((token, after)) = found.split_at_checked(length) else { return true };
        rest = after;
        match token {
            "{" => objects.push(BTreeSet::new()),
            "}" => drop(objects.pop()),
            number if number.starts_with(is_of_number) && is_wrong_number(number) => return true,
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

/// Takes the rest of a string, whose first quote was taken, and returns the place behind it; `None` where it has no end.
fn end_of_string(bytes: &mut impl Iterator<Item = (usize, u8)>) -> Option<usize> {
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return Some(at + 1),
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    None
}

fn is_of_number(c: char) -> bool {
    matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')
}

/// Whether a JSON number is the same one after a reader has taken it for a double and has written it again, as
/// JavaScript and many others do.
fn is_held_by_a_double(number: &str) -> bool {
    // Not serde_json's reader, which may miss the nearest double by one.
    let double = number.parse::<f64>().ok().filter(|double| double.is_finite());
    // The shortest digits that read back as the double.
    double.is_some_and(|double| decimal(&Value::from(double).to_string()) == decimal(number))
}

/// The value of a decimal number without its sign: its digits, with no zero at either end, and the power of ten
/// that the last one counts.
fn decimal(number: &str) -> (String, i64) {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let written = [whole.trim_start_matches('-'), fraction].concat();
    let digits = written.trim_end_matches('0');
    // An exponent beyond this type makes the double infinite, or 0 where the digits are not.
    let exponent: i64 = exponent.parse().unwrap_or_default();
    let power = exponent.saturating_add((written.len() - digits.len()) as i64);
    let power = power.saturating_sub(fraction.len() as i64);
    match digits.trim_start_matches('0') {
        "" => (String::new(), 0),
        digits => (digits.to_owned(), power),
    }
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

/// The offset of the first bracket that nests deeper than `levels`.
fn too_deep_at(text: &str, levels: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut bytes = text.bytes().enumerate();
    while let Some((offset, byte)) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > levels {
                    return Some(offset);
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => drop(end_of_string(&mut bytes)),
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
            r#"{"a-1":"1e400","b":"12345678901234567890"}"#,
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
            assert!(is_ambiguous(json) && repeats_a_member(json), "{json}");
        }
    }

    #[test]
    fn the_depth_of_any_text_is_counted_outside_of_strings() {
        assert!(!nests_deeper_than(r#"{"a":["[[[",{"b\"[[":1}]}"#, 3));
        assert!(nests_deeper_than(r#"{"a":["[[[",{"b\"[[":1}]}"#, 2));
        assert!(nests_deeper_than(&"[".repeat(2_500), 64));
    }

    #[test]
    fn a_text_is_ambiguous_where_a_double_cannot_hold_a_number() {
        for held in [
            "0",
            "-0",
            "0.0",
            "-0e9",
            "0e99999999999999999999",
            "0e9223372036854775807",
            "1",
            "-1.50",
            "1e2",
            "1E+2",
            "1.0e-2",
            "100000000000000000000",
            "123e18",
            "9007199254740992",
            "-9007199254740991",
            "0.1",
            "0.30000000000000004",
            "0.30000000000000000",
            "2.2250738585072014e-308",
            "5e-324",
            "1.7976931348623157e308",
            "1e23",
            "9007199254740992.0",
        ] {
            assert!(!is_ambiguous(held), "{held}");
            assert!(!is_ambiguous(&format!("{{\"a\": [{held} ],\"b\":{held}}}")), "{held}");
        }
        for lost in [
            "12345678901234567890",
            "9007199254740993",
            "-9007199254740993",
            "9007199254740993.0",
            "18446744073709551616",
            "1e400",
            "-1e400",
            "1e99999999999999999999",
            "1e-400",
            "1.5e-9223372036854775808",
            "0.1234567890123456789",
            "0.300000000000000041",
            "3e-324",
            "90071992547409930e-1",
            "1.7976931348623159e308",
        ] {
            assert!(is_ambiguous(lost) && !repeats_a_member(lost), "{lost}");
            assert!(is_ambiguous(&format!("{{\"a\":[1,{{\"b\":\n{lost}}}]}}")), "{lost}");
        }
    }
}
