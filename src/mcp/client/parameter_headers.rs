//! Headers that repeat parts of the body (protocol 2026-07-28, Streamable HTTP): the tool's name, and the arguments
//! that its schema marks with `x-mcp-header`.

use std::collections::BTreeMap;

use super::message::{number, string_member};
use crate::encoding::base64_of;
use crate::json::{Kind, Node, for_each_member};

const MARK: &str = "x-mcp-header";

/// The largest integer that every reader of JSON reads exactly.
const SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// A header and the JSON of the argument that it repeats, if the call has that argument.
type Marked<'d> = (String, Option<&'d str>);

/// The headers that repeat arguments; `None` when a mark in the schema breaks a rule. Such a tool must not be used.
pub(super) fn parameter_headers(schema: &str, arguments: &str) -> Option<Vec<(String, String)>> {
    let mut marked = Vec::new();
    if schema.contains(MARK) {
        collect(schema, Some(arguments), true, &mut marked)?;
    }
    let header = |(name, value): Marked<'_>| {
        Some((format!("Mcp-Param-{name}"), header_value(&header_text(value?)?)))
    };
    Some(marked.into_iter().filter_map(header).collect())
}

/// Collects the marks of a schema, and the parts of `value` that they mark. A property may have a mark, at any depth.
/// `tool_list` bounds the schema's length and depth, and lets no object of it name a member twice.
fn collect<'d>(
    schema: &str,
    value: Option<&'d str>,
    is_root: bool,
    marked: &mut Vec<Marked<'d>>,
) -> Option<()> {
    let mut fits = true;
    // Read once: a schema has thousands of properties, and an argument any length.
    let mut given = BTreeMap::new();
    if let Some(value) = value {
        // An argument that is no object has no parts.
        let _ = for_each_member(value, |name, json| {
            given.entry(name).or_insert(json);
        });
    }
    let walked = for_each_member(schema, |name, json| match name.as_ref() {
        MARK => {
            let name = Node::root(json).as_text().filter(|name| !is_root && is_token(name));
            let kind = string_member(schema, "type");
            let is_plain = matches!(kind.as_deref(), Some("string" | "integer" | "boolean"));
            match name.filter(|_| is_plain) {
                Some(name)
                    if marked.iter().all(|(other, _)| !other.eq_ignore_ascii_case(&name)) =>
                {
                    marked.push((name.into_owned(), value));
                }
                _ => fits = false,
            }
        }
        "properties" => {
            let walked = for_each_member(json, |name, property| {
                let value = given.get(&name).copied();
                let is_object = Node::root(property).is_object();
                fits &= !is_object || collect(property, value, false, marked).is_some();
            });
            fits &= walked.is_ok();
        }
        _ => fits &= !has_mark(json),
    });
    (walked.is_ok() && fits).then_some(())
}

/// Whether any member in the JSON has the mark's name.
fn has_mark(json: &str) -> bool {
    let mut pieces = json.split("\"x-mcp-header\"");
    pieces.next();
    pieces.any(|rest| rest.trim_ascii_start().starts_with(':'))
}

fn is_token(text: &str) -> bool {
    let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_of_token)
}

/// An argument as a header's text; `None` for an argument that no header repeats.
fn header_text(json: &str) -> Option<String> {
    let node = Node::root(json);
    match node.kind() {
        Kind::String => Some(node.as_text()?.into_owned()),
        Kind::Boolean => Some(json.to_owned()),
        Kind::Number => {
            let number = number(json)?;
            let is_safe = number.fract() == 0.0 && number.abs() <= SAFE_INTEGER;
            is_safe.then(|| (number as i64).to_string())
        }
        Kind::Object | Kind::Array | Kind::Null => None,
    }
}

/// A text as a header's value. It is encoded where a header cannot hold it, or where it looks like an encoded one.
pub(super) fn header_value(text: &str) -> String {
    let is_visible = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    if text.is_empty() || !is_visible || text.trim_ascii() != text || looks_encoded {
        return format!("=?base64?{}?=", base64_of(text.as_bytes()));
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_that_no_header_could_hold_is_encoded() {
        for (text, value) in [
            ("us-west1", "us-west1"),
            ("us west 1", "us west 1"),
            ("a\tb", "=?base64?YQli?="),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("=?base64?", "=?base64?"),
            ("", "=?base64??="),
        ] {
            assert_eq!(header_value(text), value, "{text}");
        }
    }

    #[test]
    fn marked_arguments_are_repeated_and_absent_ones_are_not() {
        let marked = |kind: &str, name: &str| json!({ "type": kind, "x-mcp-header": name });
        let schema = json!({ "type": "object", "properties": {
            "region": marked("string", "Region"),
            "count": marked("integer", "Count"),
            "dry": marked("boolean", "Dry"),
            "nested": { "type": "object", "properties": {
                "deep": marked("string", "Deep-1"), "x-mcp-header": { "type": "string" },
            } },
            "plain": { "type": "string", "description": "no \"x-mcp-header\": here" },
        } });
        let headers = |arguments: &str| {
            let headers = parameter_headers(&schema.to_string(), arguments).unwrap();
            headers.into_iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
        };
        let arguments = r#"{"region":"eu-\u00c4","count":-4.2e1,"dry":false,"nested":{"deep":"x","x-mcp-header":"y"},"plain":"p"}"#;
        assert_eq!(
            headers(arguments),
            [
                "Mcp-Param-Count: -42",
                "Mcp-Param-Dry: false",
                "Mcp-Param-Deep-1: x",
                "Mcp-Param-Region: =?base64?ZXUtw4Q=?=",
            ]
        );
        for absent in ["{}", r#"{"region":null,"nested":7}"#, r#"{"count":9007199254740992}"#] {
            assert_eq!(headers(absent), Vec::<String>::new(), "{absent}");
        }
    }

    #[test]
    fn a_mark_that_breaks_a_rule_spoils_its_tool() {
        let property = |property: serde_json::Value| json!({ "properties": { "a": property } });
        let marked = json!({ "type": "string", "x-mcp-header": "A" });
        for schema in [
            property(json!({ "type": "string", "x-mcp-header": "" })),
            property(json!({ "type": "string", "x-mcp-header": "A B" })),
            property(json!({ "type": "string", "x-mcp-header": "A\r\nB" })),
            property(json!({ "type": "string", "x-mcp-header": 7 })),
            property(json!({ "type": "number", "x-mcp-header": "A" })),
            property(json!({ "type": ["string"], "x-mcp-header": "A" })),
            property(json!({ "x-mcp-header": "A" })),
            property(json!({ "type": "array", "items": marked })),
            property(json!({ "anyOf": [marked] })),
            json!({ "type": "string", "x-mcp-header": "A" }),
            json!({ "$defs": { "a": marked } }),
            json!({ "properties": [marked] }),
            json!({ "properties": { "a": marked, "b": { "type": "string", "x-mcp-header": "a" } } }),
        ] {
            assert_eq!(parameter_headers(&schema.to_string(), "{}"), None, "{schema}");
        }
    }
}
