//! JSON as text: members in their order with repeats, and every scalar in its own spelling. Values
//! that no parser would build (half characters, numbers without bounds) can be changed and written.

use std::fmt;

use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::campaign::Random;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    /// A scalar's text.
    Scalar(String),
    Array(Vec<Json>),
    /// Names in their own spelling, quotes included.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads valid JSON; `None` for other text.
    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self::of)
    }

    fn of(raw: &RawValue) -> Self {
        let text = raw.get();
        let mut parts = serde_json::Deserializer::from_str(text);
        match text.as_bytes().first() {
            Some(b'{') => Self::Object(parts.deserialize_map(Members).unwrap()),
            Some(b'[') => Self::Array(parts.deserialize_seq(Items).unwrap()),
            _ => Self::Scalar(text.to_owned()),
        }
    }

    pub(crate) fn written(&self) -> String {
        self.written_with(&mut |_| ())
    }

    /// The text, with `space` called at every place for white space.
    pub(crate) fn written_with(&self, space: &mut impl FnMut(&mut String)) -> String {
        let mut text = String::new();
        self.write(&mut text, space);
        text
    }

    fn write(&self, text: &mut String, space: &mut impl FnMut(&mut String)) {
        space(text);
        match self {
            Self::Scalar(scalar) => text.push_str(scalar),
            Self::Array(items) => {
                text.push('[');
                for (index, item) in items.iter().enumerate() {
                    text.push_str(if index > 0 { "," } else { "" });
                    item.write(text, space);
                }
                space(text);
                text.push(']');
            }
            Self::Object(members) => {
                text.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    text.push_str(if index > 0 { "," } else { "" });
                    space(text);
                    text.push_str(name);
                    space(text);
                    text.push(':');
                    value.write(text, space);
                }
                space(text);
                text.push('}');
            }
        }
        space(text);
    }

    pub(crate) fn count(&self) -> usize {
        1 + match self {
            Self::Scalar(_) => 0,
            Self::Array(items) => items.iter().map(Self::count).sum(),
            Self::Object(members) => members.iter().map(|(_, value)| value.count()).sum(),
        }
    }

    /// The value at a position of a depth-first walk; the value itself is at 0.
    pub(crate) fn nth(&mut self, position: usize) -> Option<&mut Self> {
        if position == 0 {
            return Some(self);
        }
        let mut left = position - 1;
        let children: Vec<&mut Self> = match self {
            Self::Scalar(_) => Vec::new(),
            Self::Array(items) => items.iter_mut().collect(),
            Self::Object(members) => members.iter_mut().map(|(_, value)| value).collect(),
        };
        for child in children {
            let count = child.count();
            if left < count {
                return child.nth(left);
            }
            left -= count;
        }
        None
    }

    /// Puts every object's members into another order.
    pub(crate) fn shuffle(&mut self, random: &mut Random) {
        match self {
            Self::Scalar(_) => {}
            Self::Array(items) => items.iter_mut().for_each(|item| item.shuffle(random)),
            Self::Object(members) => {
                members.iter_mut().for_each(|(_, value)| value.shuffle(random));
                for last in (1..members.len()).rev() {
                    members.swap(last, random.below(last + 1));
                }
            }
        }
    }

    /// Spells every name and every string with `\u` escapes alone.
    pub(crate) fn escape(&mut self) {
        match self {
            Self::Scalar(text) if text.starts_with('"') => *text = escaped(text),
            Self::Scalar(_) => {}
            Self::Array(items) => items.iter_mut().for_each(Self::escape),
            Self::Object(members) => {
                for (name, value) in members {
                    *name = escaped(name);
                    value.escape();
                }
            }
        }
    }

    /// Calls `each` with every member's name, decoded.
    pub(crate) fn for_each_name(&self, each: &mut impl FnMut(&str)) {
        match self {
            Self::Scalar(_) => {}
            Self::Array(items) => items.iter().for_each(|item| item.for_each_name(each)),
            Self::Object(members) => {
                for (name, value) in members {
                    each(&decoded(name));
                    value.for_each_name(each);
                }
            }
        }
    }
}

/// The text of a string. Half a character becomes U+FFFD.
pub(crate) fn decoded(spelt: &str) -> String {
    serde_json::from_str(spelt).unwrap_or_else(|_| {
        let units = utf16(spelt);
        String::from_utf16_lossy(&units)
    })
}

fn utf16(spelt: &str) -> Vec<u16> {
    let inner = spelt.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap();
    let mut units = Vec::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        let simple = if character == '\\' {
            match characters.next().unwrap() {
                'u' => {
                    let digits: String = characters.by_ref().take(4).collect();
                    units.push(u16::from_str_radix(&digits, 16).unwrap());
                    continue;
                }
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                other => other,
            }
        } else {
            character
        };
        units.extend_from_slice(simple.encode_utf16(&mut [0; 2]));
    }
    units
}

fn escaped(spelt: &str) -> String {
    let units = utf16(spelt).into_iter().map(|unit| format!("\\u{unit:04x}"));
    format!("\"{}\"", units.collect::<String>())
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, Json)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            members.push((name.get().to_owned(), Json::of(value)));
        }
        Ok(members)
    }
}

struct Items;

impl<'de> Visitor<'de> for Items {
    type Value = Vec<Json>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element::<&RawValue>()? {
            items.push(Json::of(item));
        }
        Ok(items)
    }
}
