//! The catalog document as it was written: members in their order, repeated members kept.
//!
//! `serde_json::Value` sorts members and silently keeps the last of two equal ones, and a check that
//! names every fault in document order needs neither. This file only reads JSON; what a catalog may
//! say is for [`super::check`].

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// One JSON value. Nesting is bounded by the parser (128 levels), so recursion over it is safe.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Null,
    Boolean(bool),
    Number(Number),
    Text(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    /// Reads a whole document. The error is the parser's own, with line and column.
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The first member of that name, when this is an object that has one.
    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        self.members().iter().find_map(|(member, node)| (member == name).then_some(node))
    }

    /// The members of an object, else none.
    pub(super) fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Object(members) => members,
            _ => &[],
        }
    }

    /// The items of an array, else none.
    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::Array(items) => items,
            _ => &[],
        }
    }

    /// The text of a string.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What a person would call it, with its article, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// The same value without order and repeats: what goes to the model service.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Boolean(flag) => Value::Bool(*flag),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone()),
            Self::Array(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Self::Object(members) => Value::Object(to_map(members)),
        }
    }
}

/// An object's members as `serde_json` keeps them.
pub(super) fn to_map(members: &[(String, Node)]) -> Map<String, Value> {
    members.iter().map(|(name, node)| (name.clone(), node.to_value())).collect()
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Node, E> {
        Ok(Node::Boolean(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Number(number.into()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Node, E> {
        Number::from_f64(number).map(Node::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Node, E> {
        Ok(Node::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Node::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = access.next_entry()? {
            members.push(member);
        }
        Ok(Node::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_keep_their_order_and_their_repeats() {
        let node = Node::parse(r#"{"b": 1, "a": [null, true, -2, 0.5, "x"], "b": {}}"#).unwrap();
        let expected = Node::Object(vec![
            ("b".into(), Node::Number(1.into())),
            (
                "a".into(),
                Node::Array(vec![
                    Node::Null,
                    Node::Boolean(true),
                    Node::Number((-2).into()),
                    Node::Number(Number::from_f64(0.5).unwrap()),
                    Node::Text("x".into()),
                ]),
            ),
            ("b".into(), Node::Object(vec![])),
        ]);
        assert_eq!(node, expected);
        assert_eq!(node.to_value(), json!({"a": [null, true, -2, 0.5, "x"], "b": {}}));
    }

    #[test]
    fn nesting_without_end_is_an_error_and_not_a_stack_overflow() {
        let error = Node::parse(&"[".repeat(100_000)).unwrap_err();
        assert_eq!(error.to_string(), "recursion limit exceeded at line 1 column 128");
    }
}
