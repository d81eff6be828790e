//! The items of a conversation as text can show them.
//!
//! Source: the published request schema for input items, recordings of several services for output
//! items.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::message_content::{Content, PartView};
use super::output_item::{FunctionCall, Message, OutputItem};
use crate::json::{Object, from_object};

/// What one item says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadableItem {
    /// A message of the user or of the system, by its parts.
    User(Vec<ReadablePart>),
    /// A message of the model, refusals included.
    Model(String),
    /// A call of a tool, with its arguments as the model wrote them.
    Call {
        name: String,
        /// JSON text, usually.
        arguments: String,
    },
    /// The output of a call, by its parts.
    Output(Vec<ReadablePart>),
    /// Nothing that text could show: reasoning, a compaction, an item of an unknown type.
    Nothing,
}

/// A part of a message or of a tool's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadablePart {
    Text(String),
    Image,
    /// A file, by its name.
    File(String),
}

impl ReadableItem {
    /// Reads an item; what is not readable says nothing.
    pub fn read(item: &RawValue) -> Self {
        let Ok(view) = from_object::<View<'_>>(item.get()) else { return Self::Nothing };
        if view.role.as_deref().is_some_and(|role| role != "assistant") {
            return Self::User(view.content.map(parts).unwrap_or_default());
        }
        if view.kind.as_deref() == Some("function_call_output") {
            return Self::Output(view.output.map(parts).unwrap_or_default());
        }
        match OutputItem::read(item) {
            Ok(OutputItem::Message(Message { parts, .. })) => {
                Self::Model(parts.into_iter().map(|part| part.text).collect())
            }
            Ok(OutputItem::FunctionCall(FunctionCall { name, arguments, .. })) => {
                Self::Call { name, arguments }
            }
            Ok(OutputItem::Other) | Err(_) => Self::Nothing,
        }
    }
}

#[derive(Deserialize)]
struct View<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    content: Option<&'a RawValue>,
    output: Option<&'a RawValue>,
}

/// The parts of a content or an output that text can show.
fn parts(content: &RawValue) -> Vec<ReadablePart> {
    let views = match Content::read(content) {
        Ok(Content::Text(text)) => return vec![ReadablePart::Text(text)],
        Ok(Content::Parts(views)) => views,
        Err(_) => return Vec::new(),
    };
    let text = |member: Option<&RawValue>| serde_json::from_str::<String>(member?.get()).ok();
    let part = |Object(view): Object<PartView<'_>>| match view.kind.as_ref() {
        "input_text" => text(view.text).map(ReadablePart::Text),
        "input_image" => Some(ReadablePart::Image),
        "input_file" => Some(ReadablePart::File(text(view.filename).unwrap_or_default())),
        _ => None,
    };
    views.first.into_iter().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(item: &str) -> ReadableItem {
        ReadableItem::read(serde_json::from_str(item).unwrap())
    }

    fn text(text: &str) -> ReadablePart {
        ReadablePart::Text(text.to_owned())
    }

    #[test]
    fn messages_calls_and_outputs_say_their_text_and_name_what_is_none() {
        for (item, expected) in [
            (
                r#"{"role":"user","content":[{"type":"input_text","text":"a"},
                {"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"auto"},
                {"type":"input_file","filename":"b.pdf","file_data":"data:application/pdf;base64,AA=="},
                {"type":"new","text":"c"}]}"#,
                ReadableItem::User(vec![
                    text("a"),
                    ReadablePart::Image,
                    ReadablePart::File("b.pdf".to_owned()),
                ]),
            ),
            (
                r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"d"},
                {"type":"refusal","refusal":"e"}]}"#,
                ReadableItem::Model("de".to_owned()),
            ),
            (
                r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#,
                ReadableItem::Call { name: "f".to_owned(), arguments: "{}".to_owned() },
            ),
            (
                r#"{"type":"function_call_output","call_id":"c","output":"{\"a\":1}"}"#,
                ReadableItem::Output(vec![text(r#"{"a":1}"#)]),
            ),
            (
                r#"{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"g"}]}"#,
                ReadableItem::Output(vec![text("g")]),
            ),
            (r#"{"type":"reasoning","id":"r","summary":[]}"#, ReadableItem::Nothing),
            (r#"{"type":"compaction","encrypted_content":"x"}"#, ReadableItem::Nothing),
            ("7", ReadableItem::Nothing),
        ] {
            assert_eq!(read(item), expected, "{item}");
        }
    }
}
