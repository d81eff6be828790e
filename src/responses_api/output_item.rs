//! A typed view of the output items that matter: messages and function calls.
//!
//! Items of every other type (reasoning, and tools that the service runs by itself) stay raw JSON.
//! The callers decide what happens to an item.
//! Source: the Responses API's output items, by recordings of several services.

use std::borrow::Cow;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::StreamFault;
use super::bounded_list::MAX_ITEMS;
use super::message_content::Content;
use crate::json::{Object, first_member, from_object};

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
#[derive(Debug)]
pub(super) enum OutputItem<'a> {
    Message(Message<'a>),
    FunctionCall(FunctionCall),
    Other,
}

/// A message that is whole.
#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    pub(super) phase: Option<Phase>,
    /// The parts for the reader.
    pub(super) parts: Vec<MessagePart<'static>>,
    /// The annotations of all parts, no more than are kept of a stream.
    pub(super) annotations: Vec<&'a RawValue>,
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

/// The item types that the product distinguishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
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

impl ItemKind {
    /// The kind of an item, from its first members: the type stands among them, and the rest may be as long as an
    /// output.
    pub(super) fn of(item: &RawValue) -> Self {
        let kind = first_member(item.get(), "type");
        kind.and_then(|kind| serde_json::from_str(kind).ok()).unwrap_or_default()
    }
}

impl<'a> OutputItem<'a> {
    /// Reads an item that is whole.
    pub(super) fn read(raw: &'a RawValue) -> Result<Self, StreamFault> {
        Self::read_with_head(raw).map(|(_, item)| item)
    }

    /// Reads an item that is whole, and the members that it had before.
    pub(super) fn read_with_head(raw: &'a RawValue) -> Result<(ItemHead, Self), StreamFault> {
        let view: ItemView<'a> =
            from_object(raw.get()).map_err(|_| StreamFault::Malformed("an output item"))?;
        let item = match view.kind {
            ItemKind::Message => {
                let message = view.content.map(Message::of).transpose()?.unwrap_or_default();
                Self::Message(Message { phase: view.phase, ..message })
            }
            ItemKind::FunctionCall => Self::FunctionCall(read(raw, "a function_call item")?),
            ItemKind::Reasoning | ItemKind::Compaction | ItemKind::Other => Self::Other,
        };
        let ItemView { kind, id, call_id, name, phase, .. } = view;
        Ok((ItemHead { kind, id, call_id, name, phase }, item))
    }
}

/// The members of [`ItemHead`], and a message's content, in one scan: an item may be as long as an output.
#[derive(Deserialize)]
struct ItemView<'a> {
    #[serde(rename = "type")]
    kind: ItemKind,
    id: Option<String>,
    call_id: Option<String>,
    name: Option<String>,
    #[serde(default, deserialize_with = "phase")]
    phase: Option<Phase>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    fn of(content: &'a RawValue) -> Result<Self, StreamFault> {
        const WHAT: &str = "a message's content";
        let malformed = || StreamFault::Malformed(WHAT);
        let mut message = Self::default();
        let views = match Content::read(content).map_err(|_| malformed())? {
            Content::Text(text) => {
                message.parts.push(MessagePart { text: text.into(), refusal: false });
                return Ok(message);
            }
            Content::Parts(views) => views.all()?,
        };
        for Object(view) in views {
            let room = MAX_ITEMS.saturating_sub(message.annotations.len());
            message.annotations.extend(view.annotations().into_iter().take(room));
            let (text, refusal) = match view.kind.as_ref() {
                "output_text" | "text" => (view.text, false),
                "refusal" => (view.refusal, true),
                _ => {
                    message.parts.push(MessagePart::default());
                    continue;
                }
            };
            // LiteLLM gives the message beside calls a part whose text is null, or absent: its `OutputText(text=message.content)`.
            let text = text.map(|text| read(text, WHAT)).transpose()?.unwrap_or_default();
            message.parts.push(MessagePart { text, refusal });
        }
        Ok(message)
    }
}

/// A call's arguments as JSON text. They are a string by the API, an object on some services, and
/// absent or null where a function has no parameters.
fn arguments_text<'a, D: Deserializer<'a>>(member: D) -> Result<String, D::Error> {
    match Option::<&RawValue>::deserialize(member)?.map(RawValue::get) {
        None => Ok(String::new()),
        Some(text) if text.starts_with('"') => serde_json::from_str(text).map_err(D::Error::custom),
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

    fn item(json: &str) -> Result<OutputItem<'_>, StreamFault> {
        OutputItem::read(serde_json::from_str(json).unwrap())
    }

    fn message(json: &str) -> Message<'_> {
        match item(json) {
            Ok(OutputItem::Message(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_message_gives_its_text_and_refusals_in_order_and_keeps_the_place_of_other_parts() {
        let part = |text, refusal| MessagePart { text: Cow::Borrowed(text), refusal };
        let Message { phase, parts, .. } = message(
            r#"{"type":"message","id":"m","content":[{"type":"output_text","text":"\u00e4","annotations":[]},
            {"type":"sound","text":{"a":1}},{"type":"refusal","refusal":"No."}]}"#,
        );
        assert_eq!(phase, None);
        assert_eq!(parts, [part("ä", false), part("", false), part("No.", true)]);
        let Message { phase, parts, .. } =
            message(r#"{"type":"message","content":"plain","phase":"commentary"}"#);
        assert_eq!((phase, parts), (Some(Phase::Commentary), vec![part("plain", false)]));
    }

    #[test]
    fn annotations_are_those_of_all_parts_in_order_and_of_another_shape_none() {
        let message = message(
            r#"{"type":"message","content":[
            {"type":"output_text","text":"a","annotations":[{"a":1}, 7]},
            {"type":"output_text","text":"b","annotations":null},
            {"type":"output_text","text":"c","annotations":{"a":1}},
            {"type":"output_text","text":"d","annotations":[ "x" ]}]}"#,
        );
        let annotations: Vec<&str> = message.annotations.iter().map(|raw| raw.get()).collect();
        assert_eq!(annotations, [r#"{"a":1}"#, "7", r#""x""#]);
    }

    #[test]
    fn the_kind_of_an_item_is_told_wherever_its_type_stands() {
        for (json, kind) in [
            (r#"{"type":"message","content":[]}"#, ItemKind::Message),
            (r#"{"id":"r","x":{"type":"message"},"type":"reasoning"}"#, ItemKind::Reasoning),
            (r#"{"t\u0079pe":"compaction"}"#, ItemKind::Compaction),
            (r#"{"type":"new_call"}"#, ItemKind::Other),
            (r#"{"id":"m"}"#, ItemKind::Other),
            ("7", ItemKind::Other),
        ] {
            assert_eq!(ItemKind::of(serde_json::from_str(json).unwrap()), kind, "{json}");
        }
    }

    #[test]
    fn a_call_keeps_its_arguments_as_text_whatever_their_shape_on_the_wire() {
        for (wire, text) in [
            (r#","arguments":"{\"a\": 1}""#, r#"{"a": 1}"#),
            (r#","arguments":{"a": 1}"#, r#"{"a": 1}"#),
            (r#","arguments":null"#, ""),
            ("", ""),
        ] {
            let json = format!(r#"{{"type":"function_call","call_id":"c","name":"f"{wire}}}"#);
            let read = item(&json);
            let Ok(OutputItem::FunctionCall(call)) = read else { panic!("{read:?}") };
            let own = |text: &str| text.to_owned();
            let (call_id, name, arguments) = (own("c"), own("f"), own(text));
            assert_eq!(call, FunctionCall { call_id, name, arguments, cut: false });
        }
    }

    #[test]
    fn a_part_without_a_text_is_empty() {
        for wire in ["", r#","text":null"#] {
            let json =
                format!(r#"{{"type":"message","content":[{{"type":"output_text"{wire}}}]}}"#);
            let read = item(&json);
            let Ok(OutputItem::Message(message)) = read else { panic!("{read:?}") };
            assert_eq!(message.parts, [MessagePart::default()]);
        }
    }

    #[test]
    fn a_call_without_an_id_or_a_name_and_an_unreadable_message_are_faults() {
        for (json, what) in [
            (r#"{"type":"function_call","name":"f","arguments":"{}"}"#, "a function_call item"),
            (r#"{"type":"function_call","call_id":"c"}"#, "a function_call item"),
            (
                r#"{"type":"message","content":[{"type":"output_text","text":7}]}"#,
                "a message's content",
            ),
            (r#"{"id":"m"}"#, "an output item"),
            ("7", "an output item"),
        ] {
            assert_eq!(item(json).unwrap_err(), StreamFault::Malformed(what), "{json}");
        }
    }
}
