//! Reads JSON into a derived type whose structs are written as objects.
//!
//! A derived `Deserialize` also reads its struct from an array, which `serde_json` permits, so the compiler
//! keeps that code for each struct. The product writes no struct as an array, and this reader takes none: the
//! Worker is a fiftieth smaller. Events of a stream are read by `serde_json` itself, for speed.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Reads the whole of a text.
///
/// # Errors
/// As `serde_json::from_str`, and for a struct that is written as an array.
pub fn from_str<'d, T: Deserialize<'d>>(json: &'d str) -> serde_json::Result<T> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let value = T::deserialize(Objects(&mut deserializer))?;
    deserializer.end()?;
    Ok(value)
}

/// A part of `serde`'s reading, handed on so that what stands inside is read in the same way.
struct Objects<T>(T);

/// Values that hold no struct are read as ever.
macro_rules! as_ever {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method(visitor)
        })*
    };
}

impl<'d, D: Deserializer<'d>> Deserializer<'d> for Objects<D> {
    type Error = D::Error;

    as_ever! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf
        deserialize_unit deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_struct<V: Visitor<'d>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Objects(visitor))
    }

    fn deserialize_map<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Objects(visitor))
    }

    fn deserialize_seq<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_seq(Objects(visitor))
    }

    fn deserialize_option<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_option(Objects(visitor))
    }

    fn deserialize_tuple<V: Visitor<'d>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple(length, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'d>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple_struct(name, length, visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'d>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_unit_struct(name, visitor)
    }

    /// `RawValue` is read by this method, too.
    fn deserialize_newtype_struct<V: Visitor<'d>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_enum<V: Visitor<'d>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }
}

impl<'d, V: Visitor<'d>> Visitor<'d> for Objects<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    fn visit_map<A: MapAccess<'d>>(self, members: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Objects(members))
    }

    fn visit_seq<A: SeqAccess<'d>>(self, elements: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Objects(elements))
    }

    fn visit_some<D: Deserializer<'d>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Objects(deserializer))
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }
}

impl<'d, A: MapAccess<'d>> MapAccess<'d> for Objects<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'d>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'d>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Objects(seed))
    }
}

impl<'d, A: SeqAccess<'d>> SeqAccess<'d> for Objects<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'d>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Objects(seed))
    }
}

impl<'d, S: DeserializeSeed<'d>> DeserializeSeed<'d> for Objects<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'d>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Objects(deserializer))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Outer {
        name: Option<String>,
        inner: Vec<Inner>,
        raw: Box<RawValue>,
        any: Value,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        number: u64,
    }

    #[test]
    fn a_struct_is_read_from_an_object_at_any_depth_and_from_no_array() {
        let outer = |inner: Value| {
            json!({ "inner": inner, "raw": [1], "any": { "a": [1] }, "more": 0 }).to_string()
        };
        let read: Outer = from_str(&outer(json!([{ "number": 7 }]))).unwrap();
        assert_eq!((read.name, read.inner[0].number), (None, 7));
        assert_eq!((read.raw.get(), read.any), ("[1]", json!({ "a": [1] })));
        let fault = from_str::<Outer>(&outer(json!([[7]]))).unwrap_err().to_string();
        assert!(fault.starts_with("invalid type: sequence, expected struct Inner"), "{fault}");
        assert!(from_str::<Inner>("[7]").is_err());
        assert!(from_str::<Inner>("{\"number\":7} 1").is_err());
    }
}
