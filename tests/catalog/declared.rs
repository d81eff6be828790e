//! The published schema says of each object what its declaration says.

use std::collections::BTreeSet;

use aptix_edge::catalog::declarations;
use serde_json::{Map, Value};

use super::{SCHEMA, map};

/// What a schema demands of a value, by a kind that it defines or by itself.
fn demands(schema: &Value, value: &Value) -> Map<String, Value> {
    let mut demands = map(value.clone());
    if let Some(Value::String(kind)) = demands.remove("$ref") {
        demands.extend(map(schema.pointer(&kind[1..]).unwrap().clone()));
    }
    demands.retain(|name, _| !["description", "default", "examples"].contains(&name.as_str()));
    demands
}

#[test]
fn the_schema_says_what_the_objects_declare() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let said = |value: &Value| value["description"].as_str().unwrap_or_default().to_owned();
    let mut wrong = Vec::new();
    let mut hold = |place: String, published: Value, declared: Value| {
        if published != declared {
            wrong.push(format!("{place} must be {declared}"));
        }
    };
    for (pointer, declared) in declarations() {
        let object = schema.pointer(pointer).unwrap();
        let at = |what: &str| format!("{pointer}/{what}");
        let description = declared.description.trim_start();
        hold(at("description"), said(object).into(), description.into());
        hold(at("additionalProperties"), object["additionalProperties"].clone(), false.into());
        // What only some objects of a kind need stands behind its condition.
        let required = object.get("else").unwrap_or(object).get("required");
        let needed = declared.members.iter().filter(|member| member.is_required);
        let needed: Vec<&str> = needed.map(|member| member.name).collect();
        hold(
            at("required"),
            required.cloned().unwrap_or_else(|| Vec::<Value>::new().into()),
            needed.into(),
        );
        let names: BTreeSet<&str> = declared.members.iter().map(|member| member.name).collect();
        let published: Vec<&str> =
            object["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        hold(at("properties"), published.into(), names.into_iter().collect::<Vec<_>>().into());
        for member in declared.members {
            let property = &object["properties"][member.name];
            let at = |what: &str| at(&format!("properties/{}{what}", member.name));
            hold(at("/description"), said(property).into(), member.description.trim_start().into());
            if let Some(value) = member.value {
                hold(at(""), demands(&schema, property).into(), value);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
