//! A tool's `Parameters`: a JSON Schema of an object, as the model service demands.
//!
//! Owns the few rules whose breach the service answers with an error on every call: the root is an
//! object schema, and a strict tool's object schemas are closed with every property required. The
//! rest of JSON Schema is the author's.

use serde_json::{Map, Value, json};

use super::document::{Node, to_map};
use super::names::quoted;
use super::place::{Place, read_all, refuse_repeats};

/// Members of a schema that hold one schema or a list of them.
const HOLD_SCHEMAS: [&str; 5] = ["items", "prefixItems", "anyOf", "oneOf", "allOf"];
/// Members of a schema that hold schemas by name.
const HOLD_NAMED_SCHEMAS: [&str; 3] = ["properties", "$defs", "definitions"];

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
    if strict {
        check_strict(place, true);
    }
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

/// Strict mode's rule for object schemas, here and below.
fn check_strict(place: &Place<'_>, is_root: bool) {
    if is_root || is_object_schema(place.node) {
        check_closed(place);
    }
    for name in HOLD_SCHEMAS {
        let Some(held) = place.member(name) else {
            continue;
        };
        match held.node {
            Node::Array(_) => held.items().into_iter().flatten().for_each(|schema| {
                check_strict(&schema, false);
            }),
            _ => check_strict(&held, false),
        }
    }
    for name in HOLD_NAMED_SCHEMAS {
        let held = place.member(name).filter(|held| matches!(held.node, Node::Object(_)));
        for (_, schema) in held.and_then(|held| held.entries()).into_iter().flatten() {
            check_strict(&schema, false);
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

fn is_object_schema(schema: &Node) -> bool {
    let says_object = |kind: &Node| kind.as_text() == Some("object");
    let by_type = schema
        .member("type")
        .is_some_and(|kind| says_object(kind) || kind.items().iter().any(says_object));
    by_type || schema.member("properties").is_some()
}
