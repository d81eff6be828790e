//! Whether a value fits a JSON Schema, by the part of the language that tool schemas use.
//!
//! Known: `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`, `prefixItems`,
//! `anyOf`, `oneOf` (as `anyOf`), `allOf`, `minimum`, `maximum`, their exclusive forms, the lengths of
//! strings, arrays and objects, and `$ref` into the same schema. Whatever else a schema says holds for any
//! value. What cannot be decided within [`MOST_WORK`] and [`DEPTH_LIMIT`] does not fit.

use serde_json::{Map, Value};

use super::place::Place;
use super::well_formed::DEPTH_LIMIT;

/// Comparisons for one value; a schema can be written so that it takes exponentially many.
const MOST_WORK: usize = 200_000;

/// The longest name in a place.
const NAME_LIMIT: usize = 64;

/// The first rule that a value does not keep to, in words that begin with the place; `label` is the place of
/// the value itself. `None` when it keeps to all that are known.
pub fn violation(value: &Value, schema: &Value, label: &'static str) -> Option<String> {
    let mut check = Check { root: schema, work_left: MOST_WORK };
    let place = Place::Embedded(&Place::Root, label);
    check.schema(value, schema, &place, DEPTH_LIMIT).err()
}

struct Check<'s> {
    root: &'s Value,
    work_left: usize,
}

/// One member of a schema, with the members beside it.
#[derive(Clone, Copy)]
struct Rule<'s> {
    keyword: &'s str,
    rule: &'s Value,
    schema: &'s Map<String, Value>,
}

/// The error names the place and the rule.
type Kept = Result<(), String>;

impl<'s> Check<'s> {
    fn schema(&mut self, value: &Value, schema: &'s Value, at: &Place<'_>, depth: usize) -> Kept {
        let Some(depth) = depth.checked_sub(1).filter(|_| self.work_left > 0) else {
            return broken(at, "takes too long to check");
        };
        self.work_left -= 1;
        match schema {
            Value::Bool(false) => broken(at, "is not permitted"),
            Value::Object(schema) => schema.iter().try_for_each(|(keyword, rule)| {
                self.rule(value, Rule { keyword, rule, schema }, at, depth)
            }),
            _ => Ok(()),
        }
    }

    fn rule(&mut self, value: &Value, rule: Rule<'s>, at: &Place<'_>, depth: usize) -> Kept {
        let fits = match (rule.keyword, rule.rule) {
            ("$ref", Value::String(target)) => {
                let root = self.root;
                let found = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
                return found.map_or(Ok(()), |found| self.schema(value, found, at, depth));
            }
            ("allOf", Value::Array(schemas)) => {
                return schemas.iter().try_for_each(|one| self.schema(value, one, at, depth));
            }
            ("anyOf" | "oneOf", Value::Array(schemas)) => {
                schemas.iter().any(|one| self.schema(value, one, at, depth).is_ok())
            }
            ("type", Value::String(kind)) => is_of_type(value, kind),
            ("type", Value::Array(kinds)) => {
                kinds.iter().filter_map(Value::as_str).any(|kind| is_of_type(value, kind))
            }
            ("const", known) => is_equal(value, known),
            ("enum", Value::Array(values)) => {
                self.spend(values.len());
                values.iter().any(|known| is_equal(value, known))
            }
            ("required", Value::Array(names)) => {
                self.spend(names.len());
                let mut names = names.iter().filter_map(Value::as_str);
                value.as_object().is_none_or(|members| names.all(|name| members.contains_key(name)))
            }
            (keyword, bound) => match (value, bound.as_f64()) {
                (Value::Object(members), None) => return self.members(members, rule, at, depth),
                (Value::Array(elements), None) => return self.elements(elements, rule, at, depth),
                (_, Some(bound)) => is_within(value, keyword, bound),
                _ => true,
            },
        };
        if fits {
            return Ok(());
        }
        broken(at, &format!("must keep to {:?}: {}", rule.keyword, brief(rule.rule)))
    }

    fn members(
        &mut self,
        members: &Map<String, Value>,
        Rule { keyword, rule, schema }: Rule<'s>,
        at: &Place<'_>,
        depth: usize,
    ) -> Kept {
        let is_of_others = match keyword {
            "properties" => false,
            // A name may match a pattern, and patterns are not known here.
            "additionalProperties" => !schema.contains_key("patternProperties"),
            _ => return Ok(()),
        };
        self.spend(members.len());
        let named = schema.get("properties").and_then(Value::as_object);
        members.iter().try_for_each(|(name, member)| {
            let own = named.and_then(|named| named.get(name));
            match if is_of_others { own.is_none().then_some(rule) } else { own } {
                Some(schema) => self.schema(member, schema, &Place::Member(at, name), depth),
                None => Ok(()),
            }
        })
    }

    fn elements(
        &mut self,
        elements: &[Value],
        Rule { keyword, rule, schema }: Rule<'s>,
        at: &Place<'_>,
        depth: usize,
    ) -> Kept {
        // Older schemas write the list as `items`.
        let listed = match (keyword, rule) {
            ("prefixItems" | "items", Value::Array(schemas)) => Some(schemas),
            ("items", _) => None,
            _ => return Ok(()),
        };
        let before = schema.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
        elements.iter().enumerate().try_for_each(|(index, element)| {
            let own = match listed {
                Some(schemas) => schemas.get(index),
                None => (index >= before).then_some(rule),
            };
            match own {
                Some(schema) => self.schema(element, schema, &Place::Element(at, index), depth),
                None => Ok(()),
            }
        })
    }

    fn spend(&mut self, work: usize) {
        self.work_left = self.work_left.saturating_sub(work);
    }
}

fn broken(at: &Place<'_>, problem: &str) -> Kept {
    Err(format!("{} {problem}", at.written(NAME_LIMIT).label))
}

/// Whether a number, or a length, is within the bound that a keyword sets. Other keywords set none.
fn is_within(value: &Value, keyword: &str, bound: f64) -> bool {
    let measured = match (value, keyword) {
        (
            Value::Number(number),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum",
        ) => number.as_f64(),
        (Value::String(text), "minLength" | "maxLength") => Some(text.chars().count() as f64),
        (Value::Array(elements), "minItems" | "maxItems") => Some(elements.len() as f64),
        (Value::Object(members), "minProperties" | "maxProperties") => Some(members.len() as f64),
        _ => None,
    };
    measured.is_none_or(|measured| match keyword {
        "exclusiveMinimum" => measured > bound,
        "exclusiveMaximum" => measured < bound,
        _ if keyword.starts_with("min") => measured >= bound,
        _ => measured <= bound,
    })
}

fn is_of_type(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        // 1.0 is an integer to JSON Schema.
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    }
}

/// Equality of JSON Schema, for which 1 and 1.0 are the same number.
fn is_equal(value: &Value, known: &Value) -> bool {
    value == known || value.is_number() && value.as_f64() == known.as_f64()
}

/// A value of the schema, short enough for a message.
fn brief(value: &Value) -> String {
    let mut text = value.to_string();
    if text.len() > 200 {
        text.truncate(text.floor_char_boundary(200));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(schema: Value, value: Value) -> Option<String> {
        violation(&value, &schema, "Arguments")
    }

    #[test]
    fn the_first_violation_is_named_with_its_place() {
        let schema = || {
            json!({
                "type": "object", "required": ["to"], "additionalProperties": false,
                "properties": {
                    "to": { "type": "array", "maxItems": 2, "items": { "$ref": "#/$defs/mail" } },
                    "n": { "type": ["integer", "null"], "exclusiveMaximum": 3 },
                    "kind": { "enum": ["a", 1] },
                },
                "$defs": { "mail": { "type": "string", "minLength": 2, "format": "email" } },
            })
        };
        for (value, problem) in [
            (json!({ "to": ["ab", "é…"], "n": 2.0, "kind": 1.0 }), None),
            (json!({ "to": [], "n": null }), None),
            (json!([]), Some(r#" must keep to "type": "object""#)),
            (json!({}), Some(r#" must keep to "required": ["to"]"#)),
            (json!({ "to": [], "cc": 1 }), Some(".cc is not permitted")),
            (json!({ "to": ["ab", "é"] }), Some(r#".to[1] must keep to "minLength": 2"#)),
            (json!({ "to": ["ab", "ab", "ab"] }), Some(r#".to must keep to "maxItems": 2"#)),
            (json!({ "to": [], "n": 3 }), Some(r#".n must keep to "exclusiveMaximum": 3"#)),
            (json!({ "to": [], "n": 1.5 }), Some(r#".n must keep to "type": ["integer","null"]"#)),
            (json!({ "to": [], "kind": "b" }), Some(r#".kind must keep to "enum": ["a",1]"#)),
        ] {
            let problem = problem.map(|problem| format!("Arguments{problem}"));
            assert_eq!(found(schema(), value.clone()), problem, "{value}");
        }
    }

    #[test]
    fn what_is_not_known_of_a_schema_holds_for_any_value() {
        for schema in [
            json!(true),
            json!({ "type": "money", "pattern": "^b$", "format": "uuid", "not": {} }),
            json!({ "$ref": "https://a.example/schema" }),
            json!({ "$ref": "#/$defs/absent" }),
            json!({ "patternProperties": { "^x": {} }, "additionalProperties": false }),
            json!({ "oneOf": [{ "type": "object" }, { "minProperties": 1 }] }),
            json!({ "required": "x", "properties": [], "minProperties": -1 }),
        ] {
            assert_eq!(found(schema.clone(), json!({ "x": 1 })), None, "{schema}");
        }
    }

    #[test]
    fn a_schema_without_an_end_fits_nothing_and_ends() {
        let endless = json!({ "allOf": [{ "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] }] });
        assert!(found(endless, json!({})).is_some());
        let too_long = Some("Arguments takes too long to check".to_owned());
        assert_eq!(found(json!({ "$ref": "#" }), json!({})), too_long);
        let nulls = json!({ "items": { "type": "null" } });
        let values = |count| Value::Array(vec![Value::Null; count]);
        assert_eq!(found(nulls.clone(), values(MOST_WORK - 1)), None);
        let last = format!("Arguments[{}] takes too long to check", MOST_WORK - 1);
        assert_eq!(found(nulls, values(MOST_WORK)), Some(last));
    }
}
