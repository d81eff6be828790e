//! The content of a message and the output of a tool call: an array of parts, or a string on some services.
//!
//! The readers of items decide which parts matter to them.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::bounded_list::BoundedList;
use crate::json::Object;

/// A content, or an output.
pub(super) enum Content<'a> {
    Text(String),
    Parts(BoundedList<Object<PartView<'a>>>),
}

/// A part; its members are read by whoever knows its type.
#[derive(Deserialize)]
pub(super) struct PartView<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) text: Option<&'a RawValue>,
    pub(super) refusal: Option<&'a RawValue>,
    pub(super) filename: Option<&'a RawValue>,
    annotations: Option<&'a RawValue>,
}

impl<'a> PartView<'a> {
    /// The first annotations. No text depends on them, so a list that cannot be read has none.
    pub(super) fn annotations(&self) -> Vec<&'a RawValue> {
        let list = self.annotations.map(|list| serde_json::from_str(list.get()));
        let list: Option<BoundedList<&RawValue>> = list.and_then(Result::ok);
        list.map(|list| list.first).unwrap_or_default()
    }
}

impl<'a> Content<'a> {
    /// Reads a content. It fails for anything but a string or an array of parts.
    pub(super) fn read(content: &'a RawValue) -> serde_json::Result<Self> {
        match content.get().starts_with('"') {
            true => serde_json::from_str(content.get()).map(Self::Text),
            false => serde_json::from_str(content.get()).map(Self::Parts),
        }
    }
}
