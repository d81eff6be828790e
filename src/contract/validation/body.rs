//! The check that a body is one JSON object.
//!
//! It owns `malformed_json`. Its messages give line and column and never repeat content. A leading
//! byte order mark is skipped, as RFC 8259 permits.

use crate::contract::{ErrorCode, Fault, Result};
use crate::json::{DEPTH_LIMIT, Malformed, check, not_json, position_after};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The body as the text of one JSON object. `malformed_json` when it is empty, not UTF-8, not JSON,
/// more than one value, nested too deeply, or not an object.
pub fn object_text(body: &[u8]) -> Result<&str> {
    let body = without_byte_order_mark(body);
    let text = std::str::from_utf8(body).map_err(|error| {
        let (line, column) = position_after(body.get(..error.valid_up_to()).unwrap_or(body));
        malformed(&format!(
            "is not UTF-8 at line {line}, column {column}; send JSON encoded as UTF-8"
        ))
    })?;
    if text.trim_ascii().is_empty() {
        return Err(malformed("is empty; send one JSON object"));
    }
    check(text).map_err(|error| match error {
        Malformed::TooDeep { line, column } => malformed(&format!(
            "is nested more than {DEPTH_LIMIT} levels deep at line {line}, column {column}"
        )),
        Malformed::NotJson(error) => {
            malformed(&format!("is {}; send one JSON object", not_json(&error)))
        }
    })?;
    if text.trim_ascii_start().starts_with('{') {
        Ok(text)
    } else {
        Err(malformed("is JSON, but not an object; send one JSON object"))
    }
}

/// The body without the mark that some clients write before UTF-8.
pub(super) fn without_byte_order_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body)
}

fn malformed(problem: &str) -> Fault {
    Fault::new(ErrorCode::MalformedJson, format!("The body {problem}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(body: &[u8]) -> String {
        let fault = object_text(body).unwrap_err();
        assert_eq!(fault.code, ErrorCode::MalformedJson);
        assert_eq!((fault.path, fault.details), (None, None));
        fault.message
    }

    #[test]
    fn what_is_not_one_json_object_is_named_with_its_position_and_without_its_content() {
        let empty = "The body is empty; send one JSON object.";
        let array = "The body is JSON, but not an object; send one JSON object.";
        for (body, message) in [
            (&b""[..], empty),
            (b" \r\n\t", empty),
            (b"\xEF\xBB\xBF", empty),
            (b"[]", array),
            (b"\"secret\"", array),
            (b"null", array),
            (
                b"{\n  \"secret\": \xff}",
                "The body is not UTF-8 at line 2, column 13; send JSON encoded as UTF-8.",
            ),
            (
                b"{\"secret\":",
                "The body is not valid JSON at line 1, column 10 (EOF while parsing a value); send one JSON object.",
            ),
            (
                b"{\"a\":1,}",
                "The body is not valid JSON at line 1, column 8 (key must be a string); send one JSON object.",
            ),
            (
                b"{}\n{}",
                "The body is not valid JSON at line 2, column 1 (trailing characters); send one JSON object.",
            ),
            (
                b"{'secret':1}",
                "The body is not valid JSON at line 1, column 2 (key must be a string); send one JSON object.",
            ),
            (
                b"{\"a\":\"line\nbreak\"}",
                "The body is not valid JSON at line 1, column 10 (control character (\\u0000-\\u001F) found while parsing a string); send one JSON object.",
            ),
        ] {
            assert_eq!(problem(body), message);
        }
    }

    #[test]
    fn a_byte_order_mark_in_front_is_skipped() {
        assert_eq!(object_text(b"\xEF\xBB\xBF {} "), Ok(" {} "));
    }

    #[test]
    fn nesting_is_accepted_to_the_limit_and_refused_below_it() {
        let nested =
            |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        assert!(object_text(nested(DEPTH_LIMIT).as_bytes()).is_ok());
        assert_eq!(
            problem(nested(DEPTH_LIMIT + 1).as_bytes()),
            "The body is nested more than 128 levels deep at line 1, column 133."
        );
        assert_eq!(
            problem("[".repeat(1_000_000).as_bytes()),
            "The body is nested more than 128 levels deep at line 1, column 129."
        );
        let in_a_string = format!("{{\"a\":\"\\\"{}\"}}", "[".repeat(500));
        assert!(object_text(in_a_string.as_bytes()).is_ok());
    }
}
