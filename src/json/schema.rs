//! Whether a value fits a JSON Schema, by the part of the language that tool schemas use.
//!
//! Known: `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`, `prefixItems`,
//! `anyOf`, `oneOf` (as `anyOf`), `allOf`, `minimum`, `maximum`, their exclusive forms, the lengths of
//! strings, arrays and objects, and references by JSON Pointer into the same schema. Whatever else a schema
//! says holds for any value. A value does not fit where a reference leads nowhere, or where the check needs more
//! than [`MOST_WORK`] or [`DEPTH_LIMIT`].
//!
//! The value is read in place: as a tree, a text of many small objects would take a hundred times its length.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt::{self, Write};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Number, Value};

use super::node::{Kind, Node};
use super::place::Place;
use super::walk::{for_each_element, for_each_member};
use super::well_formed::DEPTH_LIMIT;

/// Units of work for one value; a schema can be written so that it takes exponentially many.
const MOST_WORK: usize = 200_000;

/// The bytes, names or keywords that one unit pays for, so that comparing long values costs work.
const UNIT: usize = 32;

/// A unit pays for so many times the bytes where a text is walked through: a value of some MB is, at each of its levels.
const WALK: usize = 8;

/// The longest rule in a message, in bytes.
const RULE_LIMIT: usize = 200;

const TOO_LONG: &str = "takes too long to check";

/// The longest name in a place.
const NAME_LIMIT: usize = 64;

/// The first rule that a value, which is well-formed JSON, does not keep to, in words that begin with the place; `label`
/// is the place of the value itself. `None` when it keeps to all that are known.
pub fn schema_problem(json: &str, schema: &Value, label: &'static str) -> Option<String> {
    let mut check = Check { root: schema, work_left: MOST_WORK, is_trying: false };
    let place = Place::Embedded(&Place::Root, label);
    check.schema(Node { place, ..Node::root(json) }, schema, DEPTH_LIMIT).err()
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
    fn schema(&mut self, value: Node<'_, '_>, schema: &'s Value, depth: usize) -> Fit {
        let size = schema.as_object().map_or(0, Map::len);
        let Some(depth) = depth.checked_sub(1).filter(|_| self.spend(size)) else {
            return self.misfit(value, || TOO_LONG.to_owned());
        };
        match schema {
            Value::Bool(false) => self.misfit(value, || "is not permitted".to_owned()),
            Value::Object(schema) => schema.iter().try_for_each(|(keyword, rule)| {
                self.rule(value, Rule { keyword, rule, schema }, depth)
            }),
            _ => Ok(()),
        }
    }

    fn rule(&mut self, value: Node<'_, '_>, rule: Rule<'s>, depth: usize) -> Fit {
        let fits = match (rule.keyword, rule.rule) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", target) => {
                return match self.referred(target) {
                    Some(found) => self.schema(value, found, depth),
                    None => self.misfit(value, || {
                        format!("cannot be checked: the schema has no {}", brief(target))
                    }),
                };
            }
            ("allOf", Value::Array(schemas)) => {
                return schemas.iter().try_for_each(|one| self.schema(value, one, depth));
            }
            ("anyOf" | "oneOf", Value::Array(schemas)) => {
                let was_trying = std::mem::replace(&mut self.is_trying, true);
                let fits = schemas.iter().any(|one| self.schema(value, one, depth).is_ok());
                self.is_trying = was_trying;
                fits
            }
            ("type", Value::String(kind)) => self.is_of_type(value, kind),
            ("type", Value::Array(kinds)) => {
                self.spend(kinds.len())
                    && kinds
                        .iter()
                        .filter_map(Value::as_str)
                        .any(|kind| self.is_of_type(value, kind))
            }
            ("const", known) => self.is_equal(value.json, known),
            ("enum", Value::Array(values)) => {
                values.iter().any(|known| self.is_equal(value.json, known))
            }
            ("required", Value::Array(names)) => {
                !value.is_object() || self.has_all(value, names.iter().filter_map(Value::as_str))
            }
            (keyword, bound) => match (value.kind(), bound.as_number()) {
                (Kind::Object, None) => return self.members(value, rule, depth),
                (Kind::Array, None) => return self.elements(value, rule, depth),
                (_, Some(bound)) => self.is_within(value, keyword, bound),
                _ => true,
            },
        };
        if fits {
            Ok(())
        } else {
            self.misfit(value, || format!("must keep to {:?}: {}", rule.keyword, brief(rule.rule)))
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

    fn has_all<'n>(&mut self, value: Node<'_, '_>, names: impl Iterator<Item = &'n str>) -> bool {
        let mut absent = BTreeSet::new();
        for name in names {
            if !self.spend(name.len()) {
                return false;
            }
            absent.insert(name);
        }
        self.walks(value.json)
            && for_each_member(value.json, |name, _| _ = absent.remove(name.as_ref())).is_ok()
            && absent.is_empty()
    }

    fn members(
        &mut self,
        value: Node<'_, '_>,
        Rule { keyword, rule, schema }: Rule<'s>,
        depth: usize,
    ) -> Fit {
        let is_of_others = match keyword {
            "properties" => false,
            // A name may match a pattern, and patterns are not known here.
            "additionalProperties" => !schema.contains_key("patternProperties"),
            _ => return Ok(()),
        };
        let named = schema.get("properties").and_then(Value::as_object);
        let mut fit = Ok(());
        let walked = self.walks(value.json)
            && for_each_member(value.json, |name, json| {
                if fit.is_err() {
                    return;
                }
                if !self.spend(name.len()) {
                    fit = self.misfit(value, || TOO_LONG.to_owned());
                    return;
                }
                let own = named.and_then(|named| named.get(name.as_ref()));
                if let Some(schema) = if is_of_others { own.is_none().then_some(rule) } else { own }
                {
                    fit = self.schema(value.member(&name, json), schema, depth);
                }
            })
            .is_ok();
        if walked { fit } else { self.misfit(value, || TOO_LONG.to_owned()) }
    }

    fn elements(
        &mut self,
        value: Node<'_, '_>,
        Rule { keyword, rule, schema }: Rule<'s>,
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
        let (mut fit, mut index) = (Ok(()), 0);
        let walked = self.walks(value.json)
            && for_each_element(value.json, |json| {
                let own = listed.map_or(Some(rule), |schemas| schemas.get(index));
                if let Some(schema) = own.filter(|_| fit.is_ok() && index >= first) {
                    fit = self.schema(value.element(index, json), schema, depth);
                }
                index += 1;
            })
            .is_ok();
        if walked { fit } else { self.misfit(value, || TOO_LONG.to_owned()) }
    }

    /// Equality of JSON Schema, for which 1 and 1.0 are the same number.
    fn is_equal(&mut self, json: &str, known: &Value) -> bool {
        // The comparison is charged for even if the lengths differ.
        if !self.spend(0) {
            return false;
        }
        let value = Node::root(json);
        match (value.kind(), known) {
            (Kind::String, Value::String(known)) => {
                let text = if self.walks(json) { value.as_text() } else { None };
                text.is_some_and(|text| {
                    text.len() == known.len() && self.spend(text.len()) && text == *known
                })
            }
            (Kind::Array, Value::Array(known)) => {
                let (mut is_equal, mut left) = (self.walks(json), known.iter());
                let _ = for_each_element(json, |one| {
                    is_equal =
                        is_equal && left.next().is_some_and(|known| self.is_equal(one, known));
                });
                is_equal && left.next().is_none()
            }
            (Kind::Object, Value::Object(known)) => {
                let (mut is_equal, mut count) = (self.walks(json), 0);
                let _ = for_each_member(json, |name, member| {
                    count += 1;
                    is_equal = is_equal
                        && self.spend(name.len())
                        && known
                            .get(name.as_ref())
                            .is_some_and(|known| self.is_equal(member, known));
                });
                is_equal && count == known.len()
            }
            (Kind::Number, Value::Number(known)) => {
                self.number(json).is_some_and(|number| compare(&number, known).is_eq())
            }
            (Kind::Boolean, Value::Bool(known)) => (json == "true") == *known,
            (Kind::Null, Value::Null) => true,
            _ => false,
        }
    }

    /// Whether a number, or a length, is within the bound that a keyword sets. Other keywords set none.
    fn is_within(&mut self, value: Node<'_, '_>, keyword: &str, bound: &Number) -> bool {
        let mut count = 0_usize;
        let measured = match (value.kind(), keyword) {
            (Kind::Number, "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum") => {
                self.number(value.json)
            }
            (Kind::String, "minLength" | "maxLength") => {
                // The characters of a text are counted.
                if !self.spend(value.json.len()) {
                    return false;
                }
                value.as_text().map(|text| text.chars().count().into())
            }
            (Kind::Array, "minItems" | "maxItems") => {
                let walked =
                    self.walks(value.json) && for_each_element(value.json, |_| count += 1).is_ok();
                walked.then(|| count.into())
            }
            (Kind::Object, "minProperties" | "maxProperties") => {
                let walked = self.walks(value.json)
                    && for_each_member(value.json, |_, _| count += 1).is_ok();
                walked.then(|| count.into())
            }
            _ => return true,
        };
        let Some(measured) = measured else { return false };
        let order = compare(&measured, bound);
        match keyword {
            "exclusiveMinimum" => order.is_gt(),
            "exclusiveMaximum" => order.is_lt(),
            _ if keyword.starts_with("min") => order.is_ge(),
            _ => order.is_le(),
        }
    }

    fn is_of_type(&mut self, value: Node<'_, '_>, kind: &str) -> bool {
        let own = value.kind();
        match kind {
            "object" => own == Kind::Object,
            "array" => own == Kind::Array,
            "string" => own == Kind::String,
            "boolean" => own == Kind::Boolean,
            "null" => own == Kind::Null,
            "number" => own == Kind::Number,
            // 1.0 is an integer to JSON Schema.
            "integer" if own == Kind::Number => {
                let double = self.number(value.json).and_then(|number| number.as_f64());
                double.is_some_and(|number| number.fract() == 0.0)
            }
            "integer" => false,
            _ => true,
        }
    }

    /// A number, if a double holds about as much.
    fn number(&mut self, json: &str) -> Option<Number> {
        if self.walks(json) { serde_json::from_str(json).ok() } else { None }
    }

    /// Charges for walking through a value once.
    fn walks(&mut self, json: &str) -> bool {
        self.spend(json.len() / WALK)
    }

    /// Charges for a step of this many bytes or keywords; false when that is more than what is left.
    fn spend(&mut self, size: usize) -> bool {
        let left = self.work_left.checked_sub(1 + size / UNIT);
        self.work_left = left.unwrap_or(0);
        left.is_some()
    }

    /// A check that ran out of work is broken for that reason, whatever the rule.
    fn misfit(&self, at: Node<'_, '_>, problem: impl FnOnce() -> String) -> Fit {
        if self.is_trying {
            return Err(String::new());
        }
        let problem = match self.work_left {
            0 => TOO_LONG.to_owned(),
            _ => problem(),
        };
        Err(format!("{} {problem}", at.place.location(NAME_LIMIT).label))
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
        schema_problem(&value.to_string(), &schema, "Arguments")
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
        // The rest of the work is the walk through the text of the list.
        const MOST: usize = MOST_WORK - 3_833;
        assert_eq!(problem_of(nulls.clone(), values(MOST)), None);
        let last = format!("Arguments[{MOST}] takes too long to check");
        assert_eq!(problem_of(nulls, values(MOST + 1)), Some(last));
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
            (json!({ "minProperties": 2 }), names("c")),
        ] {
            assert_eq!(problem_of(schema(4, rule.clone()), value.clone()), None);
            assert_eq!(problem_of(schema(48_000, rule), value), too_long);
        }
        let half = format!("0.5{}", "0".repeat(1_000_000));
        for rule in [json!({ "maximum": 0 }), json!({ "const": 2 }), json!({ "type": "integer" })] {
            assert_eq!(schema_problem(&half, &schema(4, rule.clone()), "Arguments"), None);
            assert_eq!(schema_problem(&half, &schema(48_000, rule), "Arguments"), too_long);
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
        let tried = check.schema(Node::root("\"a\""), &schema, DEPTH_LIMIT);
        assert_eq!(tried, Err(String::new()));
        let either = json!({ "anyOf": [{ "const": "b" }], "type": "null" });
        let problem = Some(r#"Arguments must keep to "anyOf": [{"const":"b"}]"#.to_owned());
        assert_eq!(problem_of(either, json!("a")), problem);
        let after = json!({ "allOf": [{ "anyOf": [false, true] }, { "type": "null" }] });
        let problem = Some(r#"Arguments must keep to "type": "null""#.to_owned());
        assert_eq!(problem_of(after, json!("a")), problem);
    }
}
