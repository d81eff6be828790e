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

/// The first thing in which a value does not fit a schema, in words that begin with its place; `label` is
/// the place of the value itself. `None` when nothing is found.
pub fn violation(value: &Value, schema: &Value, label: &'static str) -> Option<String> {
    let mut check = Check { root: schema, work_left: MOST_WORK };
    let place = Place::Embedded(&Place::Root, label);
    let broken = check.value(value, schema, &place, DEPTH_LIMIT).err()?;
    if check.work_left == 0 {
        return Some(format!("{label} takes too long to check against the schema"));
    }
    Some(broken)
}

struct Check<'s> {
    root: &'s Value,
    work_left: usize,
}

type Fits = Result<(), String>;

impl Check<'_> {
    fn value(&mut self, value: &Value, schema: &Value, at: &Place<'_>, depth: usize) -> Fits {
        let depth = depth.checked_sub(1);
        self.spend(1, at)?;
        let Some(depth) = depth else { return broken(at, "is nested too deeply to be checked") };
        match schema {
            Value::Bool(false) => broken(at, "is not permitted"),
            Value::Object(schema) => {
                for (keyword, rule) in schema {
                    self.keyword(value, (keyword, rule), schema, at, depth)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn keyword(
        &mut self,
        value: &Value,
        (keyword, rule): (&str, &Value),
        schema: &Map<String, Value>,
        at: &Place<'_>,
        depth: usize,
    ) -> Fits {
        match (keyword, rule, value) {
            ("$ref", Value::String(target), _) => {
                let root = self.root;
                let found = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
                found.map_or(Ok(()), |found| self.value(value, found, at, depth))
            }
            ("type", Value::String(kind), _) => {
                require(is_of_type(value, kind), at, || format!("must be of type {kind}"))
            }
            ("type", Value::Array(kinds), _) => {
                let mut kinds = kinds.iter().filter_map(Value::as_str);
                let fits = kinds.any(|kind| is_of_type(value, kind));
                require(fits, at, || format!("must be of one of the types {rule}"))
            }
            ("const", rule, _) => {
                require(is_equal(value, rule), at, || format!("must be {}", brief(rule)))
            }
            ("enum", Value::Array(values), _) => {
                self.spend(values.len(), at)?;
                let fits = values.iter().any(|known| is_equal(value, known));
                require(fits, at, || format!("must be one of {}", brief(rule)))
            }
            ("anyOf" | "oneOf", Value::Array(schemas), _) => {
                let fits =
                    schemas.iter().any(|schema| self.value(value, schema, at, depth).is_ok());
                require(fits, at, || "fits none of the alternatives of its schema".to_owned())
            }
            ("allOf", Value::Array(schemas), _) => {
                schemas.iter().try_for_each(|schema| self.value(value, schema, at, depth))
            }
            (_, _, Value::Object(members)) => {
                self.members(members, keyword, rule, schema, at, depth)
            }
            (_, _, Value::Array(elements)) => {
                self.elements(elements, keyword, rule, schema, at, depth)
            }
            (_, _, Value::String(text)) => {
                let length = text.chars().count();
                within(length, keyword, rule, ["minLength", "maxLength"], "characters", at)
            }
            (_, Value::Number(bound), Value::Number(number)) => {
                let (Some(number), Some(bound)) = (number.as_f64(), bound.as_f64()) else {
                    return Ok(());
                };
                let (fits, words) = match keyword {
                    "minimum" => (number >= bound, "must not be less than"),
                    "maximum" => (number <= bound, "must not be more than"),
                    "exclusiveMinimum" => (number > bound, "must be more than"),
                    "exclusiveMaximum" => (number < bound, "must be less than"),
                    _ => return Ok(()),
                };
                require(fits, at, || format!("{words} {rule}"))
            }
            _ => Ok(()),
        }
    }

    fn members(
        &mut self,
        members: &Map<String, Value>,
        keyword: &str,
        rule: &Value,
        schema: &Map<String, Value>,
        at: &Place<'_>,
        depth: usize,
    ) -> Fits {
        match (keyword, rule) {
            ("properties", Value::Object(schemas)) => {
                self.spend(members.len(), at)?;
                members.iter().try_for_each(|(name, member)| match schemas.get(name) {
                    Some(schema) => self.value(member, schema, &Place::Member(at, name), depth),
                    None => Ok(()),
                })
            }
            // A name may match a pattern, and patterns are not known here.
            ("additionalProperties", schema_of_others)
                if !schema.contains_key("patternProperties") =>
            {
                self.spend(members.len(), at)?;
                let named = schema.get("properties").and_then(Value::as_object);
                let is_other = |name: &str| !named.is_some_and(|named| named.contains_key(name));
                let mut others = members.iter().filter(|(name, _)| is_other(name));
                others.try_for_each(|(name, member)| {
                    self.value(member, schema_of_others, &Place::Member(at, name), depth)
                })
            }
            ("required", Value::Array(names)) => {
                self.spend(names.len(), at)?;
                let mut names = names.iter().filter_map(Value::as_str);
                let missing = names.find(|name| !members.contains_key(*name));
                missing.map_or(Ok(()), |name| broken(&Place::Member(at, name), "is missing"))
            }
            _ => {
                let bounds = ["minProperties", "maxProperties"];
                within(members.len(), keyword, rule, bounds, "members", at)
            }
        }
    }

    fn elements(
        &mut self,
        elements: &[Value],
        keyword: &str,
        rule: &Value,
        schema: &Map<String, Value>,
        at: &Place<'_>,
        depth: usize,
    ) -> Fits {
        let mut elements_at = elements.iter().enumerate();
        match (keyword, rule) {
            // Older schemas write the list as `items`.
            ("prefixItems" | "items", Value::Array(schemas)) => {
                elements_at.zip(schemas).try_for_each(|((index, element), schema)| {
                    self.value(element, schema, &Place::Element(at, index), depth)
                })
            }
            ("items", rest) => {
                let listed =
                    schema.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
                elements_at.try_for_each(|(index, element)| match index < listed {
                    true => Ok(()),
                    false => self.value(element, rest, &Place::Element(at, index), depth),
                })
            }
            _ => within(elements.len(), keyword, rule, ["minItems", "maxItems"], "items", at),
        }
    }

    fn spend(&mut self, work: usize, at: &Place<'_>) -> Fits {
        self.work_left = self.work_left.saturating_sub(work);
        require(self.work_left > 0, at, || "takes too long to check".to_owned())
    }
}

fn require(fits: bool, at: &Place<'_>, problem: impl FnOnce() -> String) -> Fits {
    if fits { Ok(()) } else { broken(at, &problem()) }
}

fn broken(at: &Place<'_>, problem: &str) -> Fits {
    Err(format!("{} {problem}", at.written(NAME_LIMIT).label))
}

/// A length between the bounds that two keywords set.
fn within(
    length: usize,
    keyword: &str,
    rule: &Value,
    [least, most]: [&str; 2],
    what: &str,
    at: &Place<'_>,
) -> Fits {
    let Some(bound) = rule.as_u64() else { return Ok(()) };
    let (fits, word) = match length as u64 {
        length if keyword == least => (length >= bound, "least"),
        length if keyword == most => (length <= bound, "most"),
        _ => return Ok(()),
    };
    require(fits, at, || format!("must have at {word} {bound} {what}"))
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
            (json!([]), Some("Arguments must be of type object")),
            (json!({}), Some("Arguments.to is missing")),
            (json!({ "to": [], "cc": 1 }), Some("Arguments.cc is not permitted")),
            (json!({ "to": ["ab", "é"] }), Some("Arguments.to[1] must have at least 2 characters")),
            (json!({ "to": ["ab", "ab", "ab"] }), Some("Arguments.to must have at most 2 items")),
            (json!({ "to": [], "n": 3 }), Some("Arguments.n must be less than 3")),
            (
                json!({ "to": [], "n": 1.5 }),
                Some("Arguments.n must be of one of the types [\"integer\",\"null\"]"),
            ),
            (json!({ "to": [], "kind": "b" }), Some("Arguments.kind must be one of [\"a\",1]")),
        ] {
            assert_eq!(found(schema(), value.clone()).as_deref(), problem, "{value}");
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
        let endless = json!({ "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] });
        let problem = "Arguments takes too long to check against the schema";
        assert_eq!(found(endless, json!({})).as_deref(), Some(problem));
        let deep = found(json!({ "$ref": "#" }), json!({}));
        assert_eq!(deep.as_deref(), Some("Arguments is nested too deeply to be checked"));
        let long = json!({ "items": { "type": "null" } });
        let values = |count| Value::Array(vec![Value::Null; count]);
        assert_eq!(found(long.clone(), values(MOST_WORK - 10)), None);
        assert_eq!(found(long, values(MOST_WORK)).as_deref(), Some(problem));
    }
}
