//! The content of a message and the output of a tool call: an array of parts, or a string on some services.
//!
//! The readers of items decide which parts matter to them.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Object;

/// A message, as far as its content goes.
#[derive(Deserialize)]
pub(super) struct MessageView<'a> {
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
}

/// A content, or an output.
pub(super) enum Content<'a> {
    Text(String),
    Parts(Vec<Object<PartView<'a>>>),
}

/// A part; its members are read by whoever knows its type.
#[derive(Deserialize)]
pub(super) struct PartView<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) filename: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) annotations: Option<&'a RawValue>,
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
