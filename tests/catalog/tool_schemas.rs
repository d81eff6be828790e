//! What the product checks of a tool's schema, against a whole implementation of JSON Schema.

use aptix_edge::json::schema_problem;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A small value, so that a schema and a value often meet.
fn value() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..4_i64).prop_map(Value::from),
        prop::sample::select(vec![0.5, 1.0, -1.5]).prop_map(Value::from),
        prop::sample::select(vec!["", "a", "é", "ab", "€uro"]).prop_map(Value::from),
    ];
    plain.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A schema of the keywords that the product knows.
fn schema() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec![
        "object", "array", "string", "boolean", "null", "number", "integer",
    ]);
    let bound = prop::sample::select(vec![
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
    ]);
    let plain = prop_oneof![
        any::<bool>().prop_map(Value::from),
        kind.clone().prop_map(|kind| json!({ "type": kind })),
        prop::collection::btree_set(kind, 1..3).prop_map(|kinds| json!({ "type": kinds })),
        (bound, 0..3_u32).prop_map(|(bound, n)| json!({ bound: n })),
        value().prop_map(|value| json!({ "const": value })),
        prop::collection::vec(value(), 1..3).prop_map(|values| json!({ "enum": values })),
        prop::collection::btree_set("[a-c]", 0..2).prop_map(|names| json!({ "required": names })),
        Just(json!({ "$ref": "#/$defs/one" })),
    ];
    plain.prop_recursive(3, 16, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..3);
        let part = prop_oneof![
            (prop::sample::select(vec!["anyOf", "allOf", "prefixItems"]), list)
                .prop_map(|(name, list)| (name, Value::from(list))),
            (prop::sample::select(vec!["items", "additionalProperties"]), inner.clone()),
            prop::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|named| ("properties", json!(named))),
        ];
        prop::collection::vec(part, 1..4).prop_map(|parts| {
            let parts = parts.into_iter().map(|(name, part)| (name.to_owned(), part));
            Value::Object(parts.collect::<Map<_, _>>())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..Default::default() })]
    #[test]
    fn of_the_keywords_that_are_known_every_verdict_is_json_schema_s(
        schema in schema(), one in prop::sample::select(vec!["string", "array"]), value in value(),
    ) {
        let schema = json!({ "allOf": [schema], "$defs": { "one": { "type": one } } });
        let fits = jsonschema::draft202012::new(&schema).expect("a schema").is_valid(&value);
        prop_assert_eq!(schema_problem(&value.to_string(), &schema, "Arguments").is_none(), fits);
    }
}
