//! A struct that others write as an object.
//!
//! A derived `Deserialize` reads its struct from an array, too. In JSON that others write, such an array is another
//! thing, and must not be taken for the struct.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};

/// A struct that is read from an object alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object<T>(pub T);

/// A string, borrowed where it holds no escapes.
#[derive(Debug, serde::Deserialize)]
pub struct BorrowedText<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// Reads a struct from the whole of a text.
///
/// # Errors
/// As `serde_json::from_str`, and for what is not an object.
pub fn from_object<'d, T: Deserialize<'d>>(json: &'d str) -> serde_json::Result<T> {
    serde_json::from_str(json).map(|Object(read)| read)
}

impl<'d, T: Deserialize<'d>> Deserialize<'d> for Object<T> {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members(PhantomData))
    }
}

impl<T: Serialize> Serialize for Object<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

struct Members<T>(PhantomData<T>);

impl<'d, T: Deserialize<'d>> Visitor<'d> for Members<T> {
    type Value = Object<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'d>>(self, members: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(Object)
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Outer<'a> {
        name: Option<String>,
        inner: Vec<Object<Inner>>,
        raw: &'a RawValue,
        #[serde(borrow)]
        text: Cow<'a, str>,
    }

    #[derive(Debug, serde::Deserialize)]
    struct Inner {
        number: u64,
    }

    #[test]
    fn a_struct_is_read_from_an_object_and_from_no_array() {
        let outer = |inner: Value| {
            json!({ "inner": inner, "raw": [1], "text": "t", "more": 0 }).to_string()
        };
        let text = outer(json!([{ "number": 7 }]));
        let read: Outer<'_> = from_object(&text).unwrap();
        assert_eq!((read.name, read.inner[0].0.number), (None, 7));
        assert!(matches!((read.raw.get(), read.text), ("[1]", Cow::Borrowed("t"))));
        let fault = from_object::<Outer<'_>>(&outer(json!([[7]]))).unwrap_err().to_string();
        assert!(fault.starts_with("invalid type: sequence, expected an object"), "{fault}");
        for none in ["[7]", "7", "null", "{\"number\":7} 1", "{\"number\":7,\"number\":8}"] {
            assert!(from_object::<Inner>(none).is_err(), "{none}");
        }
    }
}
