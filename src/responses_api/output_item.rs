//! A typed view of the output items that matter: messages and function calls.
//!
//! Every other kind (reasoning, and tools that the service runs by itself) is kept as raw
//! JSON by others and has no view here. It must not decide what happens to an item.
//! Source: the Responses API's output items, by recordings of several services.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::StreamFault;

/// A function that the model wants called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCall {
    /// Names the call in its `function_call_output`.
    pub call_id: String,
    /// The function's name, as the model wrote it: it may be one that was never offered.
    pub name: String,
    /// JSON text, as the model wrote it: it may be empty or no JSON at all.
    pub arguments: String,
    /// The model was cut off inside the call. Such a call must never be executed.
    pub cut: bool,
}

/// One output item, as far as it matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OutputItem {
    /// Text for the reader, in parts.
    Message(Vec<MessagePart>),
    /// A call that the product has to give an output to.
    FunctionCall(FunctionCall),
    /// Anything else.
    Other,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MessagePart {
    /// Empty for a part that is neither text nor a refusal.
    pub(super) text: String,
    /// Whether the model declines.
    pub(super) refusal: bool,
}

impl OutputItem {
    /// Reads an item that is whole.
    pub(super) fn read(raw: &RawValue) -> Result<Self, StreamFault> {
        match ItemHead::read(raw)?.kind() {
            ItemKind::Message => {
                let view: MessageView<'_> = read(raw, "a message item")?;
                Ok(Self::Message(view.content.map(message_parts).transpose()?.unwrap_or_default()))
            }
            ItemKind::FunctionCall => {
                let view: CallView<'_> = read(raw, "a function_call item")?;
                Ok(Self::FunctionCall(FunctionCall {
                    call_id: view.call_id,
                    name: view.name,
                    arguments: arguments_text(view.arguments)?,
                    cut: view.status.as_deref() == Some("incomplete"),
                }))
            }
            ItemKind::Other => Ok(Self::Other),
        }
    }
}

/// What can be said of an item before it is whole.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ItemHead {
    #[serde(rename = "type")]
    type_name: String,
    /// The item's id, where the service gives one.
    pub(super) id: Option<String>,
    /// For a function call: names the call.
    pub(super) call_id: Option<String>,
    /// For a function call: the function.
    pub(super) name: Option<String>,
}

/// The kinds of items told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// `message`.
    Message,
    /// `function_call`.
    FunctionCall,
    /// Everything else.
    Other,
}

impl ItemHead {
    /// Reads the head of an item, whole or not.
    pub(super) fn read(raw: &RawValue) -> Result<Self, StreamFault> {
        read(raw, "an output item")
    }

    /// Whether the item is the model's reasoning.
    pub(super) fn is_reasoning(&self) -> bool {
        self.type_name == "reasoning"
    }

    /// The item's kind.
    pub(super) fn kind(&self) -> ItemKind {
        match self.type_name.as_str() {
            "message" => ItemKind::Message,
            "function_call" => ItemKind::FunctionCall,
            _ => ItemKind::Other,
        }
    }
}

#[derive(Deserialize)]
struct MessageView<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CallView<'a> {
    call_id: String,
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    status: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct PartView<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
}

/// The parts of a message's `content`: an array of parts, or on some services a string.
pub(super) fn message_parts(content: &RawValue) -> Result<Vec<MessagePart>, StreamFault> {
    const WHAT: &str = "a message's content";
    if content.get().starts_with('"') {
        return Ok(vec![MessagePart { text: read(content, WHAT)?, refusal: false }]);
    }
    let views: Vec<PartView<'_>> = read(content, WHAT)?;
    let part = |view: PartView<'_>| {
        let (text, refusal) = match (view.kind.as_ref(), view.text, view.refusal) {
            ("output_text" | "text", Some(text), _) => (text, false),
            ("refusal", _, Some(refusal)) => (refusal, true),
            ("output_text" | "text" | "refusal", _, _) => {
                return Err(StreamFault::Malformed(WHAT));
            }
            _ => {
                return Ok(MessagePart { text: String::new(), refusal: false });
            }
        };
        Ok(MessagePart { text: read(text, WHAT)?, refusal })
    };
    views.into_iter().map(part).collect()
}

/// A call's arguments as JSON text: a string by the API, an object on some services, and
/// absent or null where a function has no parameters.
pub(super) fn arguments_text(arguments: Option<&RawValue>) -> Result<String, StreamFault> {
    match arguments {
        None => Ok(String::new()),
        Some(raw) if raw.get().starts_with('"') => read(raw, "a function_call item"),
        Some(raw) => Ok(raw.get().to_owned()),
    }
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue, what: &'static str) -> Result<T, StreamFault> {
    serde_json::from_str(raw.get()).map_err(|_| StreamFault::Malformed(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(json: &str) -> Result<OutputItem, StreamFault> {
        OutputItem::read(&RawValue::from_string(json.to_owned()).unwrap())
    }

    #[test]
    fn a_message_gives_its_text_and_refusals_in_order_and_keeps_the_place_of_other_parts() {
        let part = |text: &str, refusal| MessagePart { text: text.to_owned(), refusal };
        assert_eq!(
            item(
                r#"{"type":"message","id":"m","content":[{"type":"output_text","text":"\u00e4","annotations":[]},
                {"type":"sound","text":{"a":1}},{"type":"refusal","refusal":"No."}]}"#
            ),
            Ok(OutputItem::Message(vec![part("ä", false), part("", false), part("No.", true)]))
        );
        assert_eq!(
            item(r#"{"type":"message","content":"plain"}"#),
            Ok(OutputItem::Message(vec![part("plain", false)]))
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
    fn an_item_that_cannot_be_answered_or_shown_is_a_fault() {
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
