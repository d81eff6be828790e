//! Whether a value fits a JSON Schema, by the part of the language that tool schemas use.
//!
//! Known: `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`, `prefixItems`,
//! `anyOf`, `oneOf` (as `anyOf`), `allOf`, `minimum`, `maximum`, their exclusive forms, the lengths of
//! strings, arrays and objects, and references by JSON Pointer into the same schema. Whatever else a schema
//! says holds for any value. A value does not fit where a reference leads nowhere, or where the check needs more
//! than [`MOST_WORK`] or [`DEPTH_LIMIT`].

use std::cmp::Ordering;
use std::fmt::{self, Write};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Number, Value};

use super::place::Place;
use super::well_formed::DEPTH_LIMIT;

/// Units of work for one value; a schema can be written so that it takes exponentially many.
const MOST_WORK: usize = 200_000;

/// The bytes, names or keywords that one unit pays for, so that comparing long values costs work.
const UNIT: usize = 32;

/// The longest rule in a message, in bytes.
const RULE_LIMIT: usize = 200;

const TOO_LONG: &str = "takes too long to check";

/// The longest name in a place.
const NAME_LIMIT: usize = 64;

/// The first rule that a value does not keep to, in words that begin with the place; `label` is the place of
/// the value itself. `None` when it keeps to all that are known.
pub fn schema_problem(value: &Value, schema: &Value, label: &'static str) -> Option<String> {
    let mut check = Check { root: schema, work_left: MOST_WORK, is_trying: false };
    let place = Place::Embedded(&Place::Root, label);
    check.schema(value, schema, &place, DEPTH_LIMIT).err()
}

struct Check<'s> {
    root: &'s Value,
    work_left: usize,
    /// One of several schemas is tried, and nobody reads why it does not fit: no message is written.
    is_trying: bool,
}

/// One member of a schema, with the members beside it.
#[derive(Clone, Copy)]
struct Rule<'s> {
    keyword: &'s str,
    rule: &'s Value,
    schema: &'s Map<String, Value>,
}

/// The error names the place and the rule, unless a schema is only tried.
type Fit = Result<(), String>;

impl<'s> Check<'s> {
    fn schema(&mut self, value: &Value, schema: &'s Value, at: &Place<'_>, depth: usize) -> Fit {
        let size = schema.as_object().map_or(0, Map::len);
        let Some(depth) = depth.checked_sub(1).filter(|_| self.spend(size)) else {
            return self.misfit(at, || TOO_LONG.to_owned());
        };
        match schema {
            Value::Bool(false) => self.misfit(at, || "is not permitted".to_owned()),
            Value::Object(schema) => schema.iter().try_for_each(|(keyword, rule)| {
                self.rule(value, Rule { keyword, rule, schema }, at, depth)
            }),
            _ => Ok(()),
        }
    }

    fn rule(&mut self, value: &Value, rule: Rule<'s>, at: &Place<'_>, depth: usize) -> Fit {
        let fits = match (rule.keyword, rule.rule) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", target) => {
                return match self.referred(target) {
                    Some(found) => self.schema(value, found, at, depth),
                    None => self.misfit(at, || {
                        format!("cannot be checked: the schema has no {}", brief(target))
                    }),
                };
            }
            ("allOf", Value::Array(schemas)) => {
                return schemas.iter().try_for_each(|one| self.schema(value, one, at, depth));
            }
            ("anyOf" | "oneOf", Value::Array(schemas)) => {
                let was_trying = std::mem::replace(&mut self.is_trying, true);
                let fits = schemas.iter().any(|one| self.schema(value, one, at, depth).is_ok());
                self.is_trying = was_trying;
                fits
            }
            ("type", Value::String(kind)) => is_of_type(value, kind),
            ("type", Value::Array(kinds)) => {
                self.spend(kinds.len())
                    && kinds.iter().filter_map(Value::as_str).any(|kind| is_of_type(value, kind))
            }
            ("const", known) => self.is_equal(value, known),
            ("enum", Value::Array(values)) => {
                values.iter().any(|known| self.is_equal(value, known))
            }
            ("required", Value::Array(names)) => {
                let names = || names.iter().filter_map(Value::as_str);
                value.as_object().is_none_or(|members| {
                    names().all(|name| self.spend(name.len()) && members.contains_key(name))
                })
            }
            (keyword, bound) => match (value, bound.as_number()) {
                (Value::Object(members), None) => return self.members(members, rule, at, depth),
                (Value::Array(elements), None) => return self.elements(elements, rule, at, depth),
                (_, Some(bound)) => {
                    // The characters of a text are counted.
                    value.as_str().is_none_or(|text| self.spend(text.len()))
                        && is_within(value, keyword, bound)
                }
                _ => true,
            },
        };
        if fits {
            Ok(())
        } else {
            self.misfit(at, || format!("must keep to {:?}: {}", rule.keyword, brief(rule.rule)))
        }
    }

    /// The schema that a reference names, by a JSON Pointer as the fragment of a URI (RFC 6901 §6); `None` where
    /// it names none, or one of another document.
    fn referred(&mut self, target: &Value) -> Option<&'s Value> {
        let fragment = target.as_str()?.strip_prefix('#')?;
        self.spend(fragment.len());
        let pointer = percent_decode_str(fragment).decode_utf8().ok()?;
        let root = self.root;
        root.pointer(&pointer).filter(|found| found.is_object() || found.is_boolean())
    }

    fn members(
        &mut self,
        members: &Map<String, Value>,
        Rule { keyword, rule, schema }: Rule<'s>,
        at: &Place<'_>,
        depth: usize,
    ) -> Fit {
        let is_of_others = match keyword {
            "properties" => false,
            // A name may match a pattern, and patterns are not known here.
            "additionalProperties" => !schema.contains_key("patternProperties"),
            _ => return Ok(()),
        };
        let named = schema.get("properties").and_then(Value::as_object);
        members.iter().try_for_each(|(name, member)| {
            if !self.spend(name.len()) {
                return self.misfit(at, || TOO_LONG.to_owned());
            }
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
    ) -> Fit {
        // Older schemas write the list as `items`.
        let listed = match (keyword, rule) {
            ("prefixItems" | "items", Value::Array(schemas)) => Some(schemas),
            ("items", _) => None,
            _ => return Ok(()),
        };
        let before = schema.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
        let first = if listed.is_some() { 0 } else { before };
        for (index, element) in elements.iter().enumerate().skip(first) {
            let own = listed.map_or(Some(rule), |schemas| schemas.get(index));
            let Some(schema) = own else { break };
            self.schema(element, schema, &Place::Element(at, index), depth)?;
        }
        Ok(())
    }

    /// Equality of JSON Schema, for which 1 and 1.0 are the same number.
    fn is_equal(&mut self, value: &Value, known: &Value) -> bool {
        // The comparison is charged for even if the lengths differ.
        if !self.spend(0) {
            return false;
        }
        match (value, known) {
            (Value::String(text), Value::String(known)) => {
                text.len() == known.len() && self.spend(text.len()) && text == known
            }
            (Value::Array(elements), Value::Array(known)) => {
                elements.len() == known.len()
                    && elements.iter().zip(known).all(|(one, known)| self.is_equal(one, known))
            }
            (Value::Object(members), Value::Object(known)) => {
                members.len() == known.len()
                    && members.iter().all(|(name, member)| {
                        self.spend(name.len())
                            && known.get(name).is_some_and(|known| self.is_equal(member, known))
                    })
            }
            (Value::Number(number), Value::Number(known)) => compare(number, known).is_eq(),
            _ => value == known,
        }
    }

    /// Charges for a step of this many bytes or keywords; false when that is more than what is left.
    fn spend(&mut self, size: usize) -> bool {
        let left = self.work_left.checked_sub(1 + size / UNIT);
        self.work_left = left.unwrap_or(0);
        left.is_some()
    }

    /// A check that ran out of work is broken for that reason, whatever the rule.
    fn misfit(&self, at: &Place<'_>, problem: impl FnOnce() -> String) -> Fit {
        if self.is_trying {
            return Err(String::new());
        }
        let problem = match self.work_left {
            0 => TOO_LONG.to_owned(),
            _ => problem(),
        };
        Err(format!("{} {problem}", at.location(NAME_LIMIT).label))
    }
}

/// Whether a number, or a length, is within the bound that a keyword sets. Other keywords set none.
fn is_within(value: &Value, keyword: &str, bound: &Number) -> bool {
    let measured = match (value, keyword) {
        (
            Value::Number(number),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum",
        ) => number.clone(),
        (Value::String(text), "minLength" | "maxLength") => text.chars().count().into(),
        (Value::Array(elements), "minItems" | "maxItems") => elements.len().into(),
        (Value::Object(members), "minProperties" | "maxProperties") => members.len().into(),
        _ => return true,
    };
    let order = compare(&measured, bound);
    match keyword {
        "exclusiveMinimum" => order.is_gt(),
        "exclusiveMaximum" => order.is_lt(),
        _ if keyword.starts_with("min") => order.is_ge(),
        _ => order.is_le(),
    }
}

/// How two numbers compare: integers by all their digits, of which a double holds the first 15.
fn compare(one: &Number, other: &Number) -> Ordering {
    let double = |number: &Number| number.as_f64().unwrap_or_default();
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => double(one).total_cmp(&double(other)),
    }
}

/// A number that has no fraction, however it is written; `None` also where it is beyond the type.
fn integer(number: &Number) -> Option<i128> {
    number.as_i128().or_else(|| {
        let double = number.as_f64()?;
        (double.fract() == 0.0 && double.abs() < 1e38).then_some(double as i128)
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

/// The first [`RULE_LIMIT`] bytes of what is written. The rest is an error, which ends the writing.
struct Brief(String);

impl Write for Brief {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = RULE_LIMIT.saturating_sub(self.0.len());
        let cut = text.floor_char_boundary(room);
        self.0.push_str(text.get(..cut).unwrap_or_default());
        if cut == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// A value of the schema, short enough for a message.
fn brief(value: &Value) -> String {
    let mut brief = Brief(String::new());
    if write!(brief, "{value}").is_err() {
        brief.0.push('…');
    }
    brief.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problem_of(schema: Value, value: Value) -> Option<String> {
        schema_problem(&value, &schema, "Arguments")
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
            assert_eq!(problem_of(schema(), value.clone()), problem, "{value}");
        }
    }

    #[test]
    fn what_is_not_known_of_a_schema_holds_for_any_value() {
        for schema in [
            json!(true),
            json!({ "type": "money", "pattern": "^b$", "format": "uuid", "not": {} }),
            json!({ "patternProperties": { "^x": {} }, "additionalProperties": false }),
            json!({ "oneOf": [{ "type": "object" }, { "minProperties": 1 }] }),
            json!({ "required": "x", "properties": [], "minProperties": -1 }),
        ] {
            assert_eq!(problem_of(schema.clone(), json!({ "x": 1 })), None, "{schema}");
        }
    }

    #[test]
    fn a_reference_is_followed_however_its_pointer_is_written() {
        for pointer in
            ["#/%24defs/a~1b%20~0%25", "#/$defs/a~1b ~0%25", "#/%24%64efs/a%7e1b%20%7E0%25"]
        {
            for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
                let schema = json!({
                    "properties": { "n": { keyword: pointer } }, "$defs": { "a/b ~%": { "maximum": 3 } },
                });
                assert_eq!(problem_of(schema.clone(), json!({ "n": 3 })), None, "{pointer}");
                let problem = Some(r#"Arguments.n must keep to "maximum": 3"#.to_owned());
                assert_eq!(problem_of(schema, json!({ "n": 4 })), problem, "{pointer}");
            }
        }
        let list = json!({ "$ref": "#/prefixItems/1", "prefixItems": [true, { "type": "array" }] });
        assert_eq!(problem_of(list, json!([])), None);
    }

    #[test]
    fn a_reference_that_leads_nowhere_permits_nothing() {
        for target in [
            json!("#/$defs/absent"),
            json!("#/%24defs/absent"),
            json!("#/$defs/name"),
            json!("#/$defs/%ff"),
            json!("#$defs"),
            json!("$defs"),
            json!("https://a.example/schema"),
            json!(7),
        ] {
            let schema =
                json!({ "properties": { "n": { "$ref": target } }, "$defs": { "name": "a" } });
            let problem = format!("Arguments.n cannot be checked: the schema has no {target}");
            assert_eq!(problem_of(schema, json!({ "n": 1 })), Some(problem));
            let either = json!({ "anyOf": [{ "$ref": target }, { "type": "object" }] });
            assert_eq!(problem_of(either, json!({})), None, "{target}");
        }
    }

    #[test]
    fn integers_are_compared_by_all_their_digits() {
        const EXACT: u64 = 1 << 53;
        for (rule, bound, value, fits) in [
            ("maximum", json!(EXACT), json!(EXACT + 1), false),
            ("maximum", json!(EXACT), json!(EXACT), true),
            ("maximum", json!(9007199254740992.0), json!(EXACT + 1), false),
            ("minimum", json!(EXACT + 1), json!(EXACT), false),
            ("minimum", json!(EXACT + 1), json!(9007199254740992.0), false),
            ("exclusiveMinimum", json!(EXACT), json!(EXACT + 1), true),
            ("exclusiveMaximum", json!(u64::MAX), json!(u64::MAX - 1), true),
            ("minimum", json!(i64::MIN), json!(i64::MIN + 1), true),
            ("maximum", json!(i64::MIN), json!(i64::MIN + 1), false),
            ("maximum", json!(1e300), json!(u64::MAX), true),
            ("maximum", json!(0.5), json!(u64::MAX), false),
            ("minimum", json!(-0.0), json!(0), true),
            ("const", json!(EXACT), json!(EXACT + 1), false),
            ("enum", json!([EXACT + 1]), json!(EXACT), false),
            ("const", json!(EXACT), json!(9007199254740992.0), true),
            ("const", json!(0.25), json!(2.5e-1), true),
        ] {
            let fit = problem_of(json!({ rule: bound }), value.clone()).is_none();
            assert_eq!(fit, fits, "{rule} {bound} {value}");
        }
    }

    #[test]
    fn a_schema_without_an_end_fits_nothing_and_ends() {
        let endless = json!({ "allOf": [{ "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] }] });
        assert!(problem_of(endless, json!({})).is_some());
        let too_long = Some("Arguments takes too long to check".to_owned());
        assert_eq!(problem_of(json!({ "$ref": "#" }), json!({})), too_long);
        let nulls = json!({ "items": { "type": "null" } });
        let values = |count| Value::Array(vec![Value::Null; count]);
        assert_eq!(problem_of(nulls.clone(), values(MOST_WORK - 1)), None);
        let last = format!("Arguments[{}] takes too long to check", MOST_WORK - 1);
        assert_eq!(problem_of(nulls, values(MOST_WORK)), Some(last));
    }

    #[test]
    fn work_is_paid_by_the_bytes_that_are_compared() {
        let long = |end: &str| format!("{}{end}", "a".repeat(1_000_000));
        let schema = |count: usize, rule: Value| {
            let mut tried = vec![json!({ "$ref": "#/$defs/b" }); count];
            tried.push(json!(true));
            json!({ "anyOf": tried, "$defs": { "b": rule } })
        };
        let too_long = Some("Arguments takes too long to check".to_owned());
        let names = |end: &str| json!({ long(end): 1 });
        for (rule, value) in [
            (json!({ "const": long("b") }), json!(long("c"))),
            (json!({ "enum": [[long("b")]] }), json!([long("c")])),
            (json!({ "const": names("b") }), names("c")),
            (json!({ "enum": vec!["b"; 10_000] }), json!("long")),
            (json!({ "maxLength": 1 }), json!(long("c"))),
            (json!({ "required": [long("b")] }), names("c")),
            (json!({ "properties": { long("c"): false } }), names("c")),
        ] {
            assert_eq!(problem_of(schema(4, rule.clone()), value.clone()), None);
            assert_eq!(problem_of(schema(48_000, rule), value), too_long);
        }
        // What differs in length is not compared, and the message stops where it is cut.
        let unequal = json!({ "enum": vec![long("bb"); 9] });
        let problem = problem_of(unequal, json!(long("c"))).unwrap();
        assert!(problem.ends_with("aaa…") && problem.len() < 250, "{problem}");
        let mut brief = Brief(String::new());
        assert!(brief.write_str(&"é".repeat(150)).is_err());
        assert_eq!(brief.0, "é".repeat(100));
    }

    #[test]
    fn no_message_is_written_for_a_schema_that_is_only_tried() {
        let schema = json!({ "const": "b" });
        let mut check = Check { root: &schema, work_left: MOST_WORK, is_trying: true };
        let tried = check.schema(&json!("a"), &schema, &Place::Root, DEPTH_LIMIT);
        assert_eq!(tried, Err(String::new()));
        let either = json!({ "anyOf": [{ "const": "b" }], "type": "null" });
        let problem = Some(r#"Arguments must keep to "anyOf": [{"const":"b"}]"#.to_owned());
        assert_eq!(problem_of(either, json!("a")), problem);
        let after = json!({ "allOf": [{ "anyOf": [false, true] }, { "type": "null" }] });
        let problem = Some(r#"Arguments must keep to "type": "null""#.to_owned());
        assert_eq!(problem_of(after, json!("a")), problem);
    }
}
