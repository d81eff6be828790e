//! What an item of a conversation says, as far as text can tell it.
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
pub enum Said {
    /// A message of the user or of the system, by its parts.
    User(Vec<SaidPart>),
    /// A message of the model, refusals included.
    Model(String),
    /// A call of a tool, with its arguments as the model wrote them.
    Call {
        name: String,
        /// JSON text, usually.
        arguments: String,
    },
    /// The output of a call, by its parts.
    Output(Vec<SaidPart>),
    /// Nothing that text could tell: reasoning, a compaction, an item of an unknown type.
    Nothing,
}

/// A part of a message or of a tool's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaidPart {
    Text(String),
    Image,
    /// A file, by its name.
    File(String),
}

impl Said {
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
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
}

/// The parts of a content or an output that text can tell.
fn parts(content: &RawValue) -> Vec<SaidPart> {
    let views = match Content::read(content) {
        Ok(Content::Text(text)) => return vec![SaidPart::Text(text)],
        Ok(Content::Parts(views)) => views,
        Err(_) => return Vec::new(),
    };
    let text = |member: Option<&RawValue>| serde_json::from_str::<String>(member?.get()).ok();
    let part = |Object(view): Object<PartView<'_>>| match view.kind.as_ref() {
        "input_text" => text(view.text).map(SaidPart::Text),
        "input_image" => Some(SaidPart::Image),
        "input_file" => Some(SaidPart::File(text(view.filename).unwrap_or_default())),
        _ => None,
    };
    views.first.into_iter().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(item: &str) -> Said {
        Said::read(serde_json::from_str(item).unwrap())
    }

    fn text(text: &str) -> SaidPart {
        SaidPart::Text(text.to_owned())
    }

    #[test]
    fn messages_calls_and_outputs_say_their_text_and_name_what_is_none() {
        for (item, expected) in [
            (
                r#"{"role":"user","content":[{"type":"input_text","text":"a"},
                {"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"auto"},
                {"type":"input_file","filename":"b.pdf","file_data":"data:application/pdf;base64,AA=="},
                {"type":"new","text":"c"}]}"#,
                Said::User(vec![text("a"), SaidPart::Image, SaidPart::File("b.pdf".to_owned())]),
            ),
            (
                r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"d"},
                {"type":"refusal","refusal":"e"}]}"#,
                Said::Model("de".to_owned()),
            ),
            (
                r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#,
                Said::Call { name: "f".to_owned(), arguments: "{}".to_owned() },
            ),
            (
                r#"{"type":"function_call_output","call_id":"c","output":"{\"a\":1}"}"#,
                Said::Output(vec![text(r#"{"a":1}"#)]),
            ),
            (
                r#"{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"g"}]}"#,
                Said::Output(vec![text("g")]),
            ),
            (r#"{"type":"reasoning","id":"r","summary":[]}"#, Said::Nothing),
            (r#"{"type":"compaction","encrypted_content":"x"}"#, Said::Nothing),
            ("7", Said::Nothing),
        ] {
            assert_eq!(said(item), expected, "{item}");
        }
    }
}
