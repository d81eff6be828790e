//! Reading JSON objects and arrays without copying them: member after member, in document order.
//!
//! It owns the rules that hold for every object of the contract: unknown, forbidden, repeated and
//! missing members. It does not know what any member means. Values are handed on as slices of the
//! body, so nothing is built for a value that nobody wants.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

use super::nearest_name::nearest_name;
use super::place::Place;
use super::violations::Violations;
use crate::contract::error_code::ErrorCode;
use crate::contract::fault::Fault;

/// The members an object may have.
#[derive(Clone, Copy, Debug)]
pub struct ObjectShape {
    /// Members that must be there, in the order in which missing ones are reported. `null` is a
    /// value of theirs, and a wrong one.
    pub required: &'static [&'static str],
    /// Members that may be there. `null` means absent.
    pub optional: &'static [&'static str],
    /// Known names that have no place here.
    pub forbidden: &'static [ForbiddenMembers],
}

/// Known names that an object must not hold.
#[derive(Clone, Copy, Debug)]
pub struct ForbiddenMembers {
    /// The names.
    pub names: &'static [&'static str],
    /// Why, and what to do: it follows the member's name in the message.
    pub problem: &'static str,
    /// Whether `null` is as good as absent, as serialisers write it for a member that is not set.
    pub null_is_absent: bool,
}

impl ObjectShape {
    /// Reads the object at `place`: hands every known member that is present, once, to `member`,
    /// and reports all the others. Whatever `member` reports about a value falls into its place,
    /// so the report is in document order. Missing members come last.
    pub fn read<'a>(
        &self,
        object: &'a str,
        place: &Place<'_>,
        violations: &mut Violations,
        mut member: impl FnMut(&'static str, &'a RawValue, &Place<'_>, &mut Violations),
    ) {
        // Behind a reference, the walk is compiled once instead of once for each shape.
        self.walk(object, place, violations, &mut member);
    }

    fn walk<'a>(
        &self,
        object: &'a str,
        place: &Place<'_>,
        violations: &mut Violations,
        member: &mut dyn FnMut(&'static str, &'a RawValue, &Place<'_>, &mut Violations),
    ) {
        if !object.trim_ascii_start().starts_with('{') {
            return violations.report(ErrorCode::InvalidField, place, "must be an object");
        }
        // One bit for each known name; the largest shape has sixteen.
        let mut seen = 0_u32;
        let walked = for_each_member(object, |name, value| {
            if violations.overflowed() {
                return;
            }
            let place = Place::Member(place, &name);
            let is_null = value.get() == "null";
            if let Some((known, bit)) = self.known(&name) {
                if seen & bit != 0 {
                    violations.report(
                        ErrorCode::InvalidField,
                        &place,
                        "stands more than once in its object; send it once",
                    );
                } else {
                    seen |= bit;
                    if !is_null || self.required.contains(&known) {
                        member(known, value, &place, violations);
                    }
                }
            } else if let Some(forbidden) = self.forbidden(&name) {
                if !(is_null && forbidden.null_is_absent) {
                    violations.report(ErrorCode::ForbiddenField, &place, forbidden.problem);
                }
            } else {
                self.report_unknown(&name, &place, violations);
            }
        });
        if walked.is_err() {
            // The body is JSON, so it can only be an escape for half a character.
            violations.report(
                ErrorCode::InvalidField,
                place,
                "has a member name that is not valid Unicode; escape no lone surrogates",
            );
        }
        for (name, bit) in self.required.iter().zip(bits()) {
            if seen & bit == 0 {
                violations.report(
                    ErrorCode::MissingField,
                    &Place::Member(place, name),
                    "is required; add it",
                );
            }
        }
    }

    fn known(&self, name: &str) -> Option<(&'static str, u32)> {
        let names = self.required.iter().chain(self.optional);
        names.copied().zip(bits()).find(|(known, _)| *known == name)
    }

    fn forbidden(&self, name: &str) -> Option<&'static ForbiddenMembers> {
        self.forbidden.iter().find(|forbidden| forbidden.names.contains(&name))
    }

    fn report_unknown(&self, name: &str, place: &Place<'_>, violations: &mut Violations) {
        violations.add(ErrorCode::UnknownField, || {
            let known = self.required.iter().chain(self.optional).copied();
            let nearest = nearest_name(name, known);
            let hint = match nearest {
                Some((near, true)) => format!("did you mean {near}?"),
                _ => "remove it.".to_owned(),
            };
            let fault = Fault::new(
                ErrorCode::UnknownField,
                format!("{} is not a known member; {hint}", place.label()),
            )
            .at(place.pointer());
            match nearest {
                Some((near, _)) => fault.with("DidYouMean", near),
                None => fault,
            }
        });
    }
}

/// One bit after the other.
fn bits() -> impl Iterator<Item = u32> {
    (0..u32::BITS).map(|shift| 1 << shift)
}

/// Calls `each` for every member of a JSON object, in document order.
///
/// # Errors
/// When the text is not a JSON object, or a name is not valid Unicode.
pub fn for_each_member<'a>(
    object: &'a str,
    mut each: impl FnMut(Cow<'a, str>, &'a RawValue),
) -> serde_json::Result<()> {
    walk_members(object, &mut each)
}

fn walk_members<'a>(
    object: &'a str,
    each: &mut dyn FnMut(Cow<'a, str>, &'a RawValue),
) -> serde_json::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_str(object);
    deserializer.deserialize_map(Members(each))?;
    deserializer.end()
}

/// Calls `each` for every element of a JSON array, in order, with its index.
///
/// # Errors
/// When the text is not a JSON array.
pub fn for_each_element<'a>(
    array: &'a str,
    mut each: impl FnMut(usize, &'a RawValue),
) -> serde_json::Result<()> {
    walk_elements(array, &mut each)
}

fn walk_elements<'a>(
    array: &'a str,
    each: &mut dyn FnMut(usize, &'a RawValue),
) -> serde_json::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_str(array);
    deserializer.deserialize_seq(Elements(each))?;
    deserializer.end()
}

/// A member name: a slice of the body, unless it holds escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

struct Members<'f, 'de>(&'f mut dyn FnMut(Cow<'de, str>, &'de RawValue));

impl<'de> Visitor<'de> for Members<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key()? {
            (self.0)(name, map.next_value()?);
        }
        Ok(())
    }
}

struct Elements<'f, 'de>(&'f mut dyn FnMut(usize, &'de RawValue));

impl<'de> Visitor<'de> for Elements<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let mut index = 0;
        while let Some(element) = elements.next_element()? {
            (self.0)(index, element);
            index += 1;
        }
        Ok(())
    }
}

/// The string member `name` of the object that `body` begins with, without looking at what follows
/// it. Nothing when there is none, or when the body goes wrong before it.
#[must_use]
pub fn first_text(body: &[u8], name: &str) -> Option<String> {
    let mut found = None;
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    // The walk ends in an error once the member is found: there is no other way to stop it.
    let _ = deserializer.deserialize_map(FirstText { name, found: &mut found });
    found
}

struct FirstText<'f> {
    name: &'f str,
    found: &'f mut Option<String>,
}

impl<'de> Visitor<'de> for FirstText<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key()? {
            if name == self.name {
                *self.found = Some(map.next_value()?);
                return Err(de::Error::custom("found"));
            }
            map.next_value::<de::IgnoredAny>()?;
        }
        Ok(())
    }
}
