//! Walking a JSON object or array without copying it, in document order.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::object::BorrowedText;

/// Calls `each` with the name and the JSON of every member of an object. Fails when the text is not
/// a JSON object, or a name is not valid Unicode.
pub fn for_each_member<'d>(
    object: &'d str,
    mut each: impl FnMut(Cow<'d, str>, &'d str),
) -> serde_json::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_str(object);
    deserializer.deserialize_map(Walk(&mut each))?;
    deserializer.end()
}

/// Calls `each` with the JSON of every element of an array. Fails when the text is not a JSON array.
pub fn for_each_element<'d>(
    array: &'d str,
    mut each: impl FnMut(&'d str),
) -> serde_json::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_str(array);
    deserializer.deserialize_seq(Walk(&mut |_, json| each(json)))?;
    deserializer.end()
}

/// The JSON of the first member `name` of the object at the start of `document`. The rest is not
/// read, so it may be malformed. `None` when there is no such member, or malformed JSON before it.
pub fn first_member<'d>(document: &'d str, name: &str) -> Option<&'d str> {
    // A visitor stops only by an error, for which the parser counts the lines before it.
    let mut rest = behind(document, '{')?;
    loop {
        let (BorrowedText(member), colon) = leading(rest)?;
        let (json, comma): (&RawValue, _) = leading(behind(colon, ':')?)?;
        if member == name {
            return Some(json.get());
        }
        rest = behind(comma, ',')?;
    }
}

/// Whether a text in a JSON value, at any depth, is one that `is_one` knows; names of members are none. Fails where a
/// tree of the value could not be built: besides malformed JSON, numbers beyond a double and texts that are not valid
/// Unicode.
pub fn any_text(json: &str, is_one: impl Fn(&str) -> bool) -> serde_json::Result<bool> {
    let mut found = false;
    let mut deserializer = serde_json::Deserializer::from_str(json);
    Texts(&mut |text| found = found || is_one(text)).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(found)
}

/// The first value in `text`, and what stands behind it.
fn leading<'d, T: Deserialize<'d>>(text: &'d str) -> Option<(T, &'d str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    let value = values.next()?.ok()?;
    Some((value, text.get(values.byte_offset()..)?))
}

/// What stands behind a sign of JSON's, before which there may be white space.
fn behind(text: &str, sign: char) -> Option<&str> {
    text.trim_start_matches([' ', '\t', '\n', '\r']).strip_prefix(sign)
}

/// Calls the function with every member, or with every element and an empty name. The reference
/// lets the walk be compiled once instead of once for each closure.
struct Walk<'f, 'd>(&'f mut dyn FnMut(Cow<'d, str>, &'d str));

impl<'d> Visitor<'d> for Walk<'_, 'd> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'d>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(BorrowedText(name)) = map.next_key()? {
            (self.0)(name, map.next_value::<&RawValue>()?.get());
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'d>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element::<&RawValue>()? {
            (self.0)(Cow::Borrowed(""), element.get());
        }
        Ok(())
    }
}

/// Calls the function with every text.
struct Texts<'f>(&'f mut dyn FnMut(&str));

impl<'d> DeserializeSeed<'d> for Texts<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'d>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'d> Visitor<'d> for Texts<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        (self.0)(text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'d>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element_seed(Texts(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'d>>(self, mut members: A) -> Result<(), A::Error> {
        while members.next_key::<BorrowedText<'_>>()?.is_some() {
            members.next_value_seed(Texts(self.0))?;
        }
        Ok(())
    }
}
