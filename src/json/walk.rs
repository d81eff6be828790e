//! Going through a JSON object or array without copying it: member after member, in document order.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;

use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::de::Read;
use serde_json::value::RawValue;

/// Calls `each` with the name and the JSON of every member of an object, in document order.
///
/// # Errors
/// When the text is not a JSON object, or a name is not valid Unicode.
pub fn for_each_member<'d>(
    object: &'d str,
    mut each: impl FnMut(Cow<'d, str>, &'d str),
) -> serde_json::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_str(object);
    let mut each = |name, json| {
        each(name, json);
        ControlFlow::Continue(())
    };
    deserializer.deserialize_map(Members(&mut each))?;
    deserializer.end()
}

/// The JSON of the first member `name` of the object that `document` begins with, without looking
/// at what follows it. Nothing when there is none, or when the document goes wrong before it.
pub fn first_member<'d>(document: &'d [u8], name: &str) -> Option<&'d str> {
    first(serde_json::Deserializer::from_slice(document), name)
}

pub(super) fn first<'d, R: Read<'d>>(
    mut document: serde_json::Deserializer<R>,
    name: &str,
) -> Option<&'d str> {
    let mut first = None;
    let mut each = |member: Cow<'d, str>, json| {
        if member != name {
            return ControlFlow::Continue(());
        }
        first = Some(json);
        ControlFlow::Break(())
    };
    // The walk ends in an error once the member is found: there is no other way to stop it.
    let _ = document.deserialize_map(Members(&mut each));
    first
}

/// Calls `each` with the JSON of every element of an array, in order.
///
/// # Errors
/// When the text is not a JSON array.
pub fn for_each_element<'d>(
    array: &'d str,
    mut each: impl FnMut(&'d str),
) -> serde_json::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_str(array);
    deserializer.deserialize_seq(Elements(&mut each))?;
    deserializer.end()
}

/// A string: a slice of the document, unless it holds escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'d>(#[serde(borrow)] pub(super) Cow<'d, str>);

// Behind a reference, the walk is compiled once instead of once for each closure.
struct Members<'f, 'd>(&'f mut dyn FnMut(Cow<'d, str>, &'d str) -> ControlFlow<()>);

impl<'d> Visitor<'d> for Members<'_, 'd> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'d>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            if (self.0)(name, map.next_value::<&RawValue>()?.get()).is_break() {
                return Err(de::Error::custom("found"));
            }
        }
        Ok(())
    }
}

struct Elements<'f, 'd>(&'f mut dyn FnMut(&'d str));

impl<'d> Visitor<'d> for Elements<'_, 'd> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'d>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element::<&RawValue>()? {
            (self.0)(element.get());
        }
        Ok(())
    }
}
