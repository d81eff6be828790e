//! A tool's `Parameters`: a JSON Schema of an object, as the model service demands.
//!
//! It owns the few rules without which the service refuses every call: the root is a plain object
//! schema, arrays have a schema for their items, and a strict tool's object schemas are closed and
//! require every property. Nothing else of JSON Schema is checked.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::findings::{Findings, Seen};
use super::names::quoted;
use super::values::{choice, readable};
use crate::json::{Kind, Node, Problem, Problems, for_each_element, for_each_member};

/// Members of a schema that hold one schema or a list of them.
const HOLD_SCHEMAS: [&str; 6] = ["items", "prefixItems", "anyOf", "oneOf", "allOf", "not"];
/// Members of a schema that hold schemas by name.
const HOLD_NAMED_SCHEMAS: [&str; 3] = ["properties", "$defs", "definitions"];
/// What the service refuses at the root: "schema must have type 'object' and not have …".
const NOT_AT_THE_ROOT: [&str; 5] = ["oneOf", "anyOf", "allOf", "enum", "not"];
/// What the service refuses anywhere in a strict tool: "'allOf' is not permitted".
const NOT_WHEN_STRICT: [&str; 8] =
    ["oneOf", "allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"];

/// Reads the schema that a tool has as its `member`, or gives that of a tool that takes nothing. `type`
/// and `properties`, which the service requires, are added when absent.
pub(super) fn tool_parameters(
    tool: Node<'_, '_>,
    member: &str,
    strict: bool,
    findings: &mut Findings,
) -> Map<String, Value> {
    let mut schema = Map::new();
    match tool.find(member) {
        Some(node) => schema = read(node, strict, findings),
        None => drop(schema.insert("additionalProperties".to_owned(), json!(false))),
    }
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    schema
}

fn read(node: Node<'_, '_>, strict: bool, findings: &mut Findings) -> Map<String, Value> {
    if !node.is_object() {
        findings.add(node, Problem::WrongKind("a JSON Schema object"));
        return Map::new();
    }
    let root = Schema::of(node);
    if let Some(kind) = root.find("type") {
        choice(kind, [("object", ())], findings);
    }
    if let Some(properties) = root.find("properties") {
        properties.entries(findings, |_, property, findings| {
            if !matches!(property.kind(), Kind::Object | Kind::Boolean) {
                findings.add(property, Problem::WrongKind("a JSON Schema"));
            }
        });
    }
    if let Some(required) = root.find("required") {
        let mut names = Seen::new();
        required.elements(findings, |name, findings| {
            findings.unique(name, "name", &mut names);
            name.text(findings);
        });
    }
    for name in NOT_AT_THE_ROOT {
        if let Some(member) = root.find(name) {
            let problem = "must not stand at the root of a tool's schema; \
                           describe the alternatives in a property";
            findings.fault(member, problem);
        }
    }
    check_schema(&root, strict, true, findings);
    readable(node, findings).unwrap_or_default()
}

/// A schema with its members. A value other than an object has none.
struct Schema<'d, 'p> {
    node: Node<'d, 'p>,
    members: Vec<(Cow<'d, str>, &'d str)>,
}

impl<'d, 'p> Schema<'d, 'p> {
    fn of(node: Node<'d, 'p>) -> Self {
        let mut members = Vec::new();
        let _ = for_each_member(node.json, |name, json| members.push((name, json)));
        Self { node, members }
    }

    fn find<'n>(&'n self, name: &'n str) -> Option<Node<'d, 'n>> {
        let member = self.members.iter().find(|(member, _)| member == name);
        member.map(|(_, json)| self.node.member(name, json))
    }

    /// Whether its `type` is this one, or a list with it.
    fn is_of_type(&self, wanted: &str) -> bool {
        self.find("type").is_some_and(|kind| {
            kind.as_text().is_some_and(|kind| kind == wanted)
                || texts(kind).iter().any(|kind| kind == wanted)
        })
    }
}

/// Checks a schema and all schemas inside it.
fn check_schema(schema: &Schema<'_, '_>, strict: bool, is_root: bool, findings: &mut Findings) {
    if !is_root && schema.is_of_type("array") && schema.find("items").is_none() {
        findings.fault(schema.node, "an array schema needs \"items\", the schema of its elements");
    }
    if strict {
        if is_root || schema.is_of_type("object") || schema.find("properties").is_some() {
            check_closed(schema, findings);
        }
        // The root's reader has refused some of them already.
        let refused = |name: &&&str| is_root && NOT_AT_THE_ROOT.contains(*name);
        for name in NOT_WHEN_STRICT.iter().filter(|name| !refused(name)) {
            if let Some(member) = schema.find(name) {
                findings.fault(member, "is not taken in a strict tool's schema; anyOf is");
            }
        }
    }
    let below = |held: Node<'_, '_>, findings: &mut Findings| {
        check_schema(&Schema::of(held), strict, false, findings);
    };
    for held in HOLD_SCHEMAS.iter().filter_map(|name| schema.find(name)) {
        if held.kind() == Kind::Array {
            held.elements(findings, below);
        } else {
            below(held, findings);
        }
    }
    for held in HOLD_NAMED_SCHEMAS.iter().filter_map(|name| schema.find(name)) {
        if held.is_object() {
            held.entries(findings, |_, held, findings| below(held, findings));
        }
    }
}

/// A strict tool's object schema allows no other properties and requires all of its own.
fn check_closed(schema: &Schema<'_, '_>, findings: &mut Findings) {
    match schema.find("additionalProperties") {
        None => {
            let problem = "a strict tool's object schema needs \"additionalProperties\": false";
            findings.fault(schema.node, problem);
        }
        Some(member) if member.json != "false" => {
            findings.fault(member, "must be false in a strict tool");
        }
        Some(_) => {}
    }
    let required = schema.find("required").map(texts).unwrap_or_default();
    let properties = schema.find("properties").map(|held| Schema::of(held).members);
    let properties: Vec<_> = properties.into_iter().flatten().map(|(name, _)| name).collect();
    for property in properties.iter().filter(|property| !required.contains(property)) {
        let problem = format!(
            "a strict tool requires every property; add {} to \"required\" \
             (an optional one may allow null)",
            quoted(property)
        );
        findings.fault(schema.node, problem);
    }
    for name in required.iter().filter(|name| !properties.contains(name)) {
        let name = quoted(name);
        let problem = format!("\"required\" names {name}, which is not among \"properties\"");
        findings.fault(schema.node, problem);
    }
}

/// The texts in an array; none in any other value.
fn texts<'d>(array: Node<'d, '_>) -> Vec<Cow<'d, str>> {
    let mut texts = Vec::new();
    let _ = for_each_element(array.json, |json| texts.extend(array.element(0, json).as_text()));
    texts
}
