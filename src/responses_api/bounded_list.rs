//! A JSON list of which only the beginning is kept, so that a list without measure costs one scan and no memory.
//!
//! It does not decide what a list that goes on means: a fault for output items, nothing for annotations.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::StreamFault;

/// More items, or more parts in a message, than any real output has. The bound keeps a hostile service
/// from filling memory with bookkeeping.
pub(super) const MAX_ITEMS: usize = 1024;

/// The first [`MAX_ITEMS`] elements of a list.
#[derive(Debug)]
pub(super) struct BoundedList<T> {
    pub(super) first: Vec<T>,
    goes_on: bool,
}

impl<T> BoundedList<T> {
    /// All elements, or a fault where there are more than are kept.
    pub(super) fn all(self) -> Result<Vec<T>, StreamFault> {
        if self.goes_on { Err(StreamFault::TooManyItems(MAX_ITEMS)) } else { Ok(self.first) }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for BoundedList<T> {
    fn deserialize<D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        list.deserialize_seq(Elements(PhantomData))
    }
}

struct Elements<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Elements<T> {
    type Value = BoundedList<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut first = Vec::new();
        while first.len() < MAX_ITEMS {
            match list.next_element()? {
                Some(element) => first.push(element),
                None => return Ok(BoundedList { first, goes_on: false }),
            }
        }
        let mut goes_on = false;
        while list.next_element::<IgnoredAny>()?.is_some() {
            goes_on = true;
        }
        Ok(BoundedList { first, goes_on })
    }
}
