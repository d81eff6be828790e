//! A typed view of the output items that matter: messages and function calls.
//!
//! Items of every other type (reasoning, and tools that the service runs by itself) stay raw JSON.
//! The callers decide what happens to an item.
//! Source: the Responses API's output items, by recordings of several services.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::StreamFault;
use super::message_content::{Content, MessageView, PartView};
use crate::json::{Object, from_object};

/// A function call of the model. Its serialized form is the call's input item, without the type.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct FunctionCall {
    /// Names the call in its `function_call_output`.
    pub call_id: String,
    /// The function's name, as the model wrote it: it may be one that was never offered.
    pub name: String,
    /// JSON text, as the model wrote it: it may be empty or no JSON at all.
    #[serde(default, deserialize_with = "arguments_text")]
    pub arguments: String,
    /// The model was cut off inside the call. Such a call must never be executed.
    #[serde(default, rename = "status", deserialize_with = "is_incomplete", skip_serializing)]
    pub cut: bool,
}

/// Whether a message comments on the work or is the final text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phase {
    Commentary,
    FinalAnswer,
    /// A phase that the published schema does not know, and that the service would refuse as input.
    #[serde(other)]
    Unknown,
}

impl Phase {
    /// The phase as an input item may have it.
    pub(super) fn known(phase: Option<Self>) -> Option<Self> {
        phase.filter(|phase| *phase != Self::Unknown)
    }
}

/// One whole output item.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OutputItem {
    /// A message's phase, and its parts for the reader.
    Message(Option<Phase>, Vec<MessagePart<'static>>),
    FunctionCall(FunctionCall),
    Other,
}

/// One part of a message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MessagePart<'a> {
    /// Empty for a part that is neither text nor a refusal.
    pub(super) text: Cow<'a, str>,
    pub(super) refusal: bool,
}

/// The members that an item has before it is whole.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ItemHead {
    #[serde(rename = "type")]
    pub(super) kind: ItemKind,
    pub(super) id: Option<String>,
    /// Of a function call: names the call.
    pub(super) call_id: Option<String>,
    /// Of a function call: the function.
    pub(super) name: Option<String>,
    /// Of a message. Services that know phases name it before the first text.
    #[serde(default, deserialize_with = "phase")]
    pub(super) phase: Option<Phase>,
}

/// The item types that the product tells apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ItemKind {
    Message,
    FunctionCall,
    Reasoning,
    /// Stands for the conversation before it.
    Compaction,
    #[default]
    #[serde(other)]
    Other,
}

impl ItemKind {
    /// Whether the service did it by itself, as far as this product knows.
    pub(super) fn is_hosted(self) -> bool {
        self == Self::Other
    }
}

impl ItemHead {
    pub(super) fn read(raw: &RawValue) -> Result<Self, StreamFault> {
        from_object(raw.get()).map_err(|_| StreamFault::Malformed("an output item"))
    }
}

impl OutputItem {
    /// Reads an item that is whole.
    pub(super) fn read(raw: &RawValue) -> Result<Self, StreamFault> {
        let head = ItemHead::read(raw)?;
        Ok(match head.kind {
            ItemKind::Message => {
                let view: MessageView<'_> = read(raw, "a message item")?;
                let parts = view.content.map(message_parts).transpose()?.unwrap_or_default();
                Self::Message(head.phase, parts)
            }
            ItemKind::FunctionCall => Self::FunctionCall(read(raw, "a function_call item")?),
            ItemKind::Reasoning | ItemKind::Compaction | ItemKind::Other => Self::Other,
        })
    }
}

fn message_parts(content: &RawValue) -> Result<Vec<MessagePart<'static>>, StreamFault> {
    const WHAT: &str = "a message's content";
    let malformed = || StreamFault::Malformed(WHAT);
    let views = match Content::read(content).map_err(|_| malformed())? {
        Content::Text(text) => {
            return Ok(vec![MessagePart { text: text.into(), refusal: false }]);
        }
        Content::Parts(views) => views,
    };
    let part = |Object(view): Object<PartView<'_>>| {
        let (text, refusal) = match view.kind.as_ref() {
            "output_text" | "text" => (view.text, false),
            "refusal" => (view.refusal, true),
            _ => return Ok(MessagePart::default()),
        };
        Ok(MessagePart { text: read(text.ok_or_else(malformed)?, WHAT)?, refusal })
    };
    views.into_iter().map(part).collect()
}

/// A call's arguments as JSON text. They are a string by the API, an object on some services, and
/// absent or null where a function has no parameters.
fn arguments_text<'a, D: Deserializer<'a>>(member: D) -> Result<String, D::Error> {
    match Option::<&RawValue>::deserialize(member)?.map(RawValue::get) {
        None => Ok(String::new()),
        Some(text) if text.starts_with('"') => {
            serde_json::from_str(text).map_err(serde::de::Error::custom)
        }
        Some(json) => Ok(json.to_owned()),
    }
}

/// A phase of another shape is none: it must not cost the reader a good output.
fn phase<'a, D: Deserializer<'a>>(member: D) -> Result<Option<Phase>, D::Error> {
    let raw = Option::<&RawValue>::deserialize(member)?;
    Ok(raw.and_then(|raw| serde_json::from_str(raw.get()).ok()))
}

fn is_incomplete<'a, D: Deserializer<'a>>(status: D) -> Result<bool, D::Error> {
    Ok(Option::<Cow<'a, str>>::deserialize(status)?.as_deref() == Some("incomplete"))
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue, what: &'static str) -> Result<T, StreamFault> {
    serde_json::from_str(raw.get()).map_err(|_| StreamFault::Malformed(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(json: &str) -> Result<OutputItem, StreamFault> {
        OutputItem::read(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn a_message_gives_its_text_and_refusals_in_order_and_keeps_the_place_of_other_parts() {
        let part = |text, refusal| MessagePart { text: Cow::Borrowed(text), refusal };
        assert_eq!(
            item(
                r#"{"type":"message","id":"m","content":[{"type":"output_text","text":"\u00e4","annotations":[]},
                {"type":"sound","text":{"a":1}},{"type":"refusal","refusal":"No."}]}"#
            ),
            Ok(OutputItem::Message(
                None,
                vec![part("ä", false), part("", false), part("No.", true)]
            ))
        );
        assert_eq!(
            item(r#"{"type":"message","content":"plain","phase":"commentary"}"#),
            Ok(OutputItem::Message(Some(Phase::Commentary), vec![part("plain", false)]))
        );
    }

    #[test]
    fn a_call_keeps_its_arguments_as_text_whatever_their_shape_on_the_wire() {
        for (wire, text) in [
            (r#","arguments":"{\"a\": 1}""#, r#"{"a": 1}"#),
            (r#","arguments":{"a": 1}"#, r#"{"a": 1}"#),
            (r#","arguments":null"#, ""),
            ("", ""),
        ] {
            assert_eq!(
                item(&format!(r#"{{"type":"function_call","call_id":"c","name":"f"{wire}}}"#)),
                Ok(OutputItem::FunctionCall(FunctionCall {
                    call_id: "c".to_owned(),
                    name: "f".to_owned(),
                    arguments: text.to_owned(),
                    cut: false,
                }))
            );
        }
    }

    #[test]
    fn a_call_without_an_id_or_a_name_and_an_unreadable_message_are_faults() {
        for (json, what) in [
            (r#"{"type":"function_call","name":"f","arguments":"{}"}"#, "a function_call item"),
            (r#"{"type":"function_call","call_id":"c"}"#, "a function_call item"),
            (r#"{"type":"message","content":[{"type":"output_text"}]}"#, "a message's content"),
            (r#"{"id":"m"}"#, "an output item"),
            ("7", "an output item"),
        ] {
            assert_eq!(item(json), Err(StreamFault::Malformed(what)), "{json}");
        }
    }
}
