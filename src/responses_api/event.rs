//! A typed view of the stream events that matter, and nothing of those that do not.
//!
//! The `type` inside the data decides, as services omit or misname the `event` line; the line
//! speaks where the data name no type. Types that are not listed are recognised by a scan that
//! builds no value, so a service may invent new ones. It must not keep state: order and
//! completeness are the accumulator's.
//! Source: the Responses API's streaming events, by recordings of several services.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{SseEvent, StreamFault};

/// The place in the output that an event belongs to. Both are optional on the wire, and item ids change
/// from event to event on some services, so the index goes first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemPlace<'a> {
    /// The item's position in the output.
    pub output_index: Option<u64>,
    /// The item's id, as this event gives it.
    pub item_id: Option<Cow<'a, str>>,
}

/// One event, borrowing from its data.
#[derive(Clone, Debug)]
pub enum ResponseEvent<'a> {
    /// An item begins: `response.output_item.added`.
    ItemAdded {
        /// The item's position; its id is inside `item`.
        output_index: Option<u64>,
        /// The item, still without content.
        item: &'a RawValue,
    },
    /// An item is whole: `response.output_item.done`.
    ItemDone {
        /// The item's position; its id is inside `item`.
        output_index: Option<u64>,
        /// The whole item.
        item: &'a RawValue,
    },
    /// Text for the reader grows: `response.output_text.delta`, `response.refusal.delta`.
    TextDelta {
        /// The message.
        place: ItemPlace<'a>,
        /// The part within the message.
        content_index: u64,
        /// The text to append.
        delta: Cow<'a, str>,
        /// Whether the model declines.
        refusal: bool,
    },
    /// A part's whole text: `response.output_text.done`, `response.refusal.done`.
    TextDone {
        /// The message.
        place: ItemPlace<'a>,
        /// The part within the message.
        content_index: u64,
        /// The whole text.
        text: Cow<'a, str>,
        /// Whether the model declines.
        refusal: bool,
    },
    /// A call's arguments grow: `response.function_call_arguments.delta`.
    ArgumentsDelta {
        /// The call.
        place: ItemPlace<'a>,
        /// The JSON text to append.
        delta: Cow<'a, str>,
    },
    /// A call's whole arguments: `response.function_call_arguments.done`.
    ArgumentsDone {
        /// The call.
        place: ItemPlace<'a>,
        /// The JSON text.
        arguments: Cow<'a, str>,
    },
    /// The terminal event: `response.completed`, `.incomplete`, `.failed`, `.cancelled`.
    Terminal {
        /// How the event says the response ended.
        status: TerminalStatus,
        /// The response object.
        response: &'a RawValue,
    },
    /// An `error` event, nested or flat. Services end the response with it.
    Error {
        /// The error object.
        error: &'a RawValue,
        /// Whether `type` in it is the error's own (nested) or the event's (flat).
        nested: bool,
    },
    /// The literal `[DONE]`, which some services send last.
    Done,
    /// Anything else.
    Ignored,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalStatus {
    /// The model finished.
    Completed,
    /// The model was cut off, by a length limit or a content filter.
    Incomplete,
    /// The service gave up.
    Failed,
    /// Somebody cancelled the response at the service.
    Cancelled,
}

impl<'a> ResponseEvent<'a> {
    /// Reads one framed event. Data that are not a JSON object, an event that names no type, and
    /// known events without the members above are [`StreamFault::Malformed`].
    pub fn read(event: &'a SseEvent) -> Result<Self, StreamFault> {
        let data = event.data.trim();
        match data {
            // Keep-alives of proxies.
            "" => return Ok(Self::Ignored),
            "[DONE]" => return Ok(Self::Done),
            _ => {}
        }
        let members: EventMembers<'a> = match serde_json::from_str(data) {
            Ok(members) => members,
            // Signs of life that proxies invent; what ends too early is an event that was cut.
            Err(fault) if !fault.is_eof() && event.event.as_deref().is_some_and(is_foreign) => {
                return Ok(Self::Ignored);
            }
            Err(_) => return Err(StreamFault::Malformed("an event")),
        };
        let kind = members.kind.as_ref().map(|Text(kind)| kind.as_ref());
        match kind.or(event.event.as_deref()) {
            // Proxies report their own failures without a type.
            _ if kind.is_none() && members.error.is_some() => error(data, members.error),
            Some("response.output_item.added") => {
                let (output_index, item) = members.item().ok_or(MALFORMED_ITEM)?;
                Ok(Self::ItemAdded { output_index, item })
            }
            Some("response.output_item.done") => {
                let (output_index, item) = members.item().ok_or(MALFORMED_ITEM)?;
                Ok(Self::ItemDone { output_index, item })
            }
            Some("response.output_text.delta") => {
                let (place, content_index, delta) =
                    members.text_in_part(members.delta).ok_or(MALFORMED_TEXT)?;
                Ok(Self::TextDelta { place, content_index, delta, refusal: false })
            }
            Some("response.refusal.delta") => {
                let (place, content_index, delta) =
                    members.text_in_part(members.delta).ok_or(MALFORMED_REFUSAL)?;
                Ok(Self::TextDelta { place, content_index, delta, refusal: true })
            }
            Some("response.output_text.done") => {
                let (place, content_index, text) =
                    members.text_in_part(members.text).ok_or(MALFORMED_TEXT)?;
                Ok(Self::TextDone { place, content_index, text, refusal: false })
            }
            Some("response.refusal.done") => {
                let (place, content_index, text) =
                    members.text_in_part(members.refusal).ok_or(MALFORMED_REFUSAL)?;
                Ok(Self::TextDone { place, content_index, text, refusal: true })
            }
            Some("response.function_call_arguments.delta") => {
                let (place, _, delta) =
                    members.text_in_part(members.delta).ok_or(MALFORMED_ARGUMENTS)?;
                Ok(Self::ArgumentsDelta { place, delta })
            }
            Some("response.function_call_arguments.done") => {
                let (place, arguments) = members.call_arguments().ok_or(MALFORMED_ARGUMENTS)?;
                Ok(Self::ArgumentsDone { place, arguments })
            }
            Some("response.completed") => terminal(members.response, TerminalStatus::Completed),
            Some("response.incomplete") => terminal(members.response, TerminalStatus::Incomplete),
            Some("response.failed") => terminal(members.response, TerminalStatus::Failed),
            Some("response.cancelled") => terminal(members.response, TerminalStatus::Cancelled),
            Some("error") => error(data, members.error),
            Some(_) => Ok(Self::Ignored),
            None => Err(StreamFault::Malformed("an event without a type")),
        }
    }

    /// Whether it makes the text grow.
    pub(super) fn adds_text(&self) -> bool {
        matches!(self, Self::TextDelta { delta, .. } if !delta.is_empty())
    }
}

/// Whether an event's name is none of the Responses API's.
fn is_foreign(name: &str) -> bool {
    name != "error" && !name.starts_with("response.")
}

const MALFORMED_ITEM: StreamFault = StreamFault::Malformed("an output_item event");
const MALFORMED_TEXT: StreamFault = StreamFault::Malformed("an output_text event");
const MALFORMED_REFUSAL: StreamFault = StreamFault::Malformed("a refusal event");
const MALFORMED_ARGUMENTS: StreamFault = StreamFault::Malformed("a function_call_arguments event");
const MALFORMED_END: StreamFault = StreamFault::Malformed("a terminal event");

/// The members of every known event, found in one scan. All but the type stay raw until the type
/// asks for them: an unknown event may give them any shape.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct EventMembers<'a> {
    #[serde(rename = "type")]
    kind: Option<Text<'a>>,
    error: Option<&'a RawValue>,
    output_index: Option<&'a RawValue>,
    item_id: Option<&'a RawValue>,
    content_index: Option<&'a RawValue>,
    item: Option<&'a RawValue>,
    delta: Option<&'a RawValue>,
    text: Option<&'a RawValue>,
    refusal: Option<&'a RawValue>,
    arguments: Option<&'a RawValue>,
    response: Option<&'a RawValue>,
}

/// A string that is borrowed where it holds no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> EventMembers<'a> {
    fn output_index(&self) -> Option<Option<u64>> {
        optional(self.output_index)
    }

    fn place(&self) -> Option<ItemPlace<'a>> {
        let item_id = optional(self.item_id)?.map(|Text(id)| id);
        Some(ItemPlace { output_index: self.output_index()?, item_id })
    }

    fn content_index(&self) -> Option<u64> {
        Some(optional(self.content_index)?.unwrap_or_default())
    }

    /// The item of an item event, and its position.
    fn item(&self) -> Option<(Option<u64>, &'a RawValue)> {
        Some((self.output_index()?, self.item?))
    }

    /// One of the members that hold text, and the part that it belongs to.
    fn text_in_part(
        &self,
        text: Option<&'a RawValue>,
    ) -> Option<(ItemPlace<'a>, u64, Cow<'a, str>)> {
        Some((self.place()?, self.content_index()?, required(text)?))
    }

    fn call_arguments(&self) -> Option<(ItemPlace<'a>, Cow<'a, str>)> {
        Some((self.place()?, required(self.arguments)?))
    }
}

/// The value of a member that may be absent; the outer `None` when it has another shape.
fn optional<'a, T: Deserialize<'a>>(member: Option<&'a RawValue>) -> Option<Option<T>> {
    member.map(|raw| serde_json::from_str(raw.get())).transpose().ok()
}

fn required(member: Option<&RawValue>) -> Option<Cow<'_, str>> {
    optional(member)?.map(|Text(text)| text)
}

fn terminal(
    response: Option<&RawValue>,
    status: TerminalStatus,
) -> Result<ResponseEvent<'_>, StreamFault> {
    Ok(ResponseEvent::Terminal { status, response: response.ok_or(MALFORMED_END)? })
}

fn error<'a>(
    data: &'a str,
    nested: Option<&'a RawValue>,
) -> Result<ResponseEvent<'a>, StreamFault> {
    match nested {
        Some(error) => Ok(ResponseEvent::Error { error, nested: true }),
        None => serde_json::from_str(data)
            .map(|error| ResponseEvent::Error { error, nested: false })
            .map_err(|_| StreamFault::Malformed("an error event")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sse(event: Option<&str>, data: &str) -> SseEvent {
        SseEvent { event: event.map(str::to_owned), data: data.to_owned() }
    }

    /// What an event with this data reads as, in a form that can be compared.
    fn seen(event: Option<&str>, data: &str) -> String {
        match ResponseEvent::read(&sse(event, data)) {
            Ok(event) => format!("{event:?}"),
            Err(fault) => format!("{fault}"),
        }
    }

    #[test]
    fn the_type_in_the_data_decides_over_the_event_line() {
        let data = r#"{"delta":"a\nb","type":"response.output_text.delta","output_index":1}"#;
        let expected = "TextDelta { place: ItemPlace { output_index: Some(1), item_id: None }, \
                        content_index: 0, delta: \"a\\nb\", refusal: false }";
        for event in [None, Some("response.output_text.delta"), Some("something.else")] {
            assert_eq!(seen(event, data), expected);
        }
    }

    #[test]
    fn where_the_data_name_no_type_the_event_line_does() {
        let data = r#"{"delta":"a","content_index":1}"#;
        assert_eq!(
            seen(Some("response.refusal.delta"), data),
            "TextDelta { place: ItemPlace { output_index: None, item_id: None }, \
             content_index: 1, delta: \"a\", refusal: true }"
        );
    }

    #[test]
    fn unknown_types_are_ignored_and_keep_alives_too() {
        assert_eq!(seen(None, r#"{"type":"response.new.thing","delta":{"a":[1,2]}}"#), "Ignored");
        for data in ["", "{}", "ping", "[1]", "{'ts': 1}", r#"{"type":1}"#] {
            assert_eq!(seen(Some("ping"), data), "Ignored");
        }
        assert_eq!(seen(None, " [DONE] "), "Done");
    }

    #[test]
    fn what_is_no_typed_json_object_is_a_fault_that_quotes_nothing() {
        let unreadable = "the model service sent an event that could not be read";
        for data in ["secret", "{\"type\":", "[1]", "7", r#"{"type":7}"#, r#"{"type":"x"}y"#] {
            assert_eq!(seen(None, data), unreadable, "{data}");
        }
        for event in ["response.completed", "error"] {
            assert_eq!(seen(Some(event), "ping"), unreadable);
        }
        for event in ["message", "ping"] {
            assert_eq!(seen(Some(event), r#"{"type":"response.output_text.de"#), unreadable);
        }
        assert_eq!(
            seen(None, r#"{"response":{}}"#),
            "the model service sent an event without a type that could not be read"
        );
        assert_eq!(
            seen(None, r#"{"type":"response.output_text.delta","output_index":0}"#),
            "the model service sent an output_text event that could not be read"
        );
    }

    #[test]
    fn an_error_is_recognised_nested_flat_and_without_a_type() {
        for (event, data, nested, error) in [
            (None, r#"{"type":"error","error":{"code":"x"}}"#, true, r#"{"code":"x"}"#),
            (None, r#"{"error":"x"}"#, true, r#""x""#),
            (Some("error"), r#"{"code":"x"}"#, false, r#"{"code":"x"}"#),
            (
                None,
                r#"{"type":"error","error":null,"code":"x"}"#,
                false,
                r#"{"type":"error","error":null,"code":"x"}"#,
            ),
        ] {
            match ResponseEvent::read(&sse(event, data)) {
                Ok(ResponseEvent::Error { error: found, nested: how }) => {
                    assert_eq!((found.get(), how), (error, nested));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
