//! A tool's `Parameters`: a JSON Schema of an object, as the model service demands.
//!
//! Owns the few rules whose breach the service answers with an error on every call: the root is a
//! plain object schema, arrays say what their items are, and a strict tool's object schemas are
//! closed with every property required. The rest of JSON Schema is the author's.

use serde_json::{Map, Value, json};

use super::document::{Node, to_map};
use super::names::quoted;
use super::place::{Place, read_all, refuse_repeats};

/// Members of a schema that hold one schema or a list of them.
const HOLD_SCHEMAS: [&str; 6] = ["items", "prefixItems", "anyOf", "oneOf", "allOf", "not"];
/// Members of a schema that hold schemas by name.
const HOLD_NAMED_SCHEMAS: [&str; 3] = ["properties", "$defs", "definitions"];
/// What the service refuses at the root: "schema must have type 'object' and not have …".
const NOT_AT_THE_ROOT: [&str; 5] = ["oneOf", "anyOf", "allOf", "enum", "not"];
/// What the service refuses anywhere in a strict tool: "'allOf' is not permitted".
const NOT_WHEN_STRICT: [&str; 8] =
    ["oneOf", "allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"];

/// The parameters of a tool that takes none.
pub(super) fn none() -> Map<String, Value> {
    Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), json!({})),
        ("additionalProperties".to_owned(), json!(false)),
    ])
}

/// Reads a schema. `type` and `properties`, which the service requires, are added when absent.
pub(super) fn read(place: &Place<'_>, strict: bool) -> Option<Map<String, Value>> {
    let Node::Object(members) = place.node else {
        return place.wrong_kind("a JSON Schema object");
    };
    let kind = place.member("type").is_none_or(|kind| kind.choice(&[("object", ())]).is_some());
    let properties = place.member("properties").is_none_or(|properties| are_schemas(&properties));
    let required = place.member("required").is_none_or(|required| are_names(&required));
    for name in NOT_AT_THE_ROOT {
        if let Some(member) = place.member(name) {
            member.fault(
                "must not stand at the root of a tool's schema; \
                 describe the alternatives in a property",
            );
        }
    }
    check_schema(place, strict, true);
    if !(kind && properties && required) {
        return None;
    }
    let mut schema = to_map(members);
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    Some(schema)
}

fn are_schemas(properties: &Place<'_>) -> bool {
    let schema = |(_, property): (&str, Place<'_>)| match property.node {
        Node::Object(_) | Node::Boolean(_) => Some(()),
        _ => property.wrong_kind("a JSON Schema"),
    };
    properties.entries().and_then(|entries| read_all(entries, schema)).is_some()
}

fn are_names(required: &Place<'_>) -> bool {
    let Some(names) = required.items() else {
        return false;
    };
    refuse_repeats("name", names.iter().cloned());
    read_all(&names, |name| name.text()).is_some()
}

/// The rules for schemas, here and below.
fn check_schema(place: &Place<'_>, strict: bool, is_root: bool) {
    if !is_root && is_of_type(place.node, "array") && place.node.member("items").is_none() {
        place.fault("an array schema needs \"items\", the schema of its elements");
    }
    if strict {
        if is_root || is_of_type(place.node, "object") || place.node.member("properties").is_some()
        {
            check_closed(place);
        }
        // At the root some of them are refused for that reason, once.
        let told = |name: &&&str| is_root && NOT_AT_THE_ROOT.contains(*name);
        for name in NOT_WHEN_STRICT.iter().filter(|name| !told(name)) {
            if let Some(member) = place.member(name) {
                member.fault("is not taken in a strict tool's schema; anyOf is");
            }
        }
    }
    for name in HOLD_SCHEMAS {
        let Some(held) = place.member(name) else {
            continue;
        };
        match held.node {
            Node::Array(_) => held.items().into_iter().flatten().for_each(|schema| {
                check_schema(&schema, strict, false);
            }),
            _ => check_schema(&held, strict, false),
        }
    }
    for name in HOLD_NAMED_SCHEMAS {
        let held = place.member(name).filter(|held| matches!(held.node, Node::Object(_)));
        for (_, schema) in held.and_then(|held| held.entries()).into_iter().flatten() {
            check_schema(&schema, strict, false);
        }
    }
}

fn check_closed(place: &Place<'_>) {
    match place.member("additionalProperties") {
        None => place.fault("a strict tool's object schema needs \"additionalProperties\": false"),
        Some(member) if *member.node != Node::Boolean(false) => {
            member.fault("must be false in a strict tool");
        }
        Some(_) => {}
    }
    let list = |name| place.node.member(name).unwrap_or(&Node::Null);
    let required: Vec<&str> = list("required").items().iter().filter_map(Node::as_text).collect();
    let properties: Vec<&str> =
        list("properties").members().iter().map(|(name, _)| name.as_str()).collect();
    for property in properties.iter().filter(|property| !required.contains(property)) {
        place.fault(format!(
            "a strict tool requires every property; add {} to \"required\" \
             (an optional one may allow null)",
            quoted(property)
        ));
    }
    for name in required.iter().filter(|name| !properties.contains(name)) {
        place.fault(format!(
            "\"required\" names {}, which is not among \"properties\"",
            quoted(name)
        ));
    }
}

fn is_of_type(schema: &Node, wanted: &str) -> bool {
    let says = |kind: &Node| kind.as_text() == Some(wanted);
    schema.member("type").is_some_and(|kind| says(kind) || kind.items().iter().any(says))
}
