//! A typed view of the stream events that matter, and nothing of those that do not.
//!
//! The `type` inside the data decides, as services omit or misname the `event` line. Types
//! that are not listed are recognised by a scan that builds no value, so a service may invent
//! new ones. It must not keep state: order and completeness are the accumulator's.
//! Source: the Responses API's streaming events, by recordings of several services.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{SseEvent, StreamFault};

/// Where in the answer an event belongs. Both are optional on the wire, and item ids change
/// from event to event on some services, so the index goes first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ItemPlace {
    /// The item's position in the answer.
    pub output_index: Option<u64>,
    /// The item's id, as this event gives it.
    pub item_id: Option<String>,
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
        place: ItemPlace,
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
        place: ItemPlace,
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
        place: ItemPlace,
        /// The JSON text to append.
        delta: Cow<'a, str>,
    },
    /// A call's whole arguments: `response.function_call_arguments.done`.
    ArgumentsDone {
        /// The call.
        place: ItemPlace,
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
    /// Reads one framed event. Data that are not a JSON object with a `type`, and known
    /// events without the members above, are [`StreamFault::Malformed`].
    pub fn read(event: &'a SseEvent) -> Result<Self, StreamFault> {
        let data = event.data.trim();
        match data {
            // Keep-alives of proxies.
            "" => return Ok(Self::Ignored),
            "[DONE]" => return Ok(Self::Done),
            _ => {}
        }
        let head: Head<'a> = read(data, "an event")?;
        match head.kind.as_deref() {
            Some("response.output_item.added") => {
                let ItemEvent { output_index, item } = read(data, "an output_item event")?;
                Ok(Self::ItemAdded { output_index, item })
            }
            Some("response.output_item.done") => {
                let ItemEvent { output_index, item } = read(data, "an output_item event")?;
                Ok(Self::ItemDone { output_index, item })
            }
            Some("response.output_text.delta") => text_delta(data, false),
            Some("response.refusal.delta") => text_delta(data, true),
            Some("response.output_text.done") => {
                let TextDone { output_index, item_id, content_index, text } =
                    read(data, "an output_text event")?;
                let place = ItemPlace { output_index, item_id };
                Ok(Self::TextDone { place, content_index, text, refusal: false })
            }
            Some("response.refusal.done") => {
                let RefusalDone { output_index, item_id, content_index, refusal } =
                    read(data, "a refusal event")?;
                let place = ItemPlace { output_index, item_id };
                Ok(Self::TextDone { place, content_index, text: refusal, refusal: true })
            }
            Some("response.function_call_arguments.delta") => {
                let Delta { output_index, item_id, delta, .. } =
                    read(data, "a function_call_arguments event")?;
                Ok(Self::ArgumentsDelta { place: ItemPlace { output_index, item_id }, delta })
            }
            Some("response.function_call_arguments.done") => {
                let ArgumentsDone { output_index, item_id, arguments } =
                    read(data, "a function_call_arguments event")?;
                Ok(Self::ArgumentsDone { place: ItemPlace { output_index, item_id }, arguments })
            }
            Some("response.completed") => terminal(data, TerminalStatus::Completed),
            Some("response.incomplete") => terminal(data, TerminalStatus::Incomplete),
            Some("response.failed") => terminal(data, TerminalStatus::Failed),
            Some("response.cancelled") => terminal(data, TerminalStatus::Cancelled),
            Some("error") => error(data, head.error),
            Some(_) => Ok(Self::Ignored),
            // Proxies report their own failures without a type.
            None if head.error.is_some() || event.event.as_deref() == Some("error") => {
                error(data, head.error)
            }
            None => Err(StreamFault::Malformed("an event without a type")),
        }
    }
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ItemEvent<'a> {
    output_index: Option<u64>,
    #[serde(borrow)]
    item: &'a RawValue,
}

#[derive(Deserialize)]
struct Delta<'a> {
    output_index: Option<u64>,
    item_id: Option<String>,
    #[serde(default)]
    content_index: u64,
    #[serde(borrow)]
    delta: Cow<'a, str>,
}

#[derive(Deserialize)]
struct TextDone<'a> {
    output_index: Option<u64>,
    item_id: Option<String>,
    #[serde(default)]
    content_index: u64,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct RefusalDone<'a> {
    output_index: Option<u64>,
    item_id: Option<String>,
    #[serde(default)]
    content_index: u64,
    #[serde(borrow)]
    refusal: Cow<'a, str>,
}

#[derive(Deserialize)]
struct ArgumentsDone<'a> {
    output_index: Option<u64>,
    item_id: Option<String>,
    #[serde(borrow)]
    arguments: Cow<'a, str>,
}

#[derive(Deserialize)]
struct TerminalEvent<'a> {
    #[serde(borrow)]
    response: &'a RawValue,
}

fn read<'a, T: Deserialize<'a>>(data: &'a str, what: &'static str) -> Result<T, StreamFault> {
    serde_json::from_str(data).map_err(|_| StreamFault::Malformed(what))
}

fn text_delta(data: &str, refusal: bool) -> Result<ResponseEvent<'_>, StreamFault> {
    let what = if refusal { "a refusal event" } else { "an output_text event" };
    let Delta { output_index, item_id, content_index, delta } = read(data, what)?;
    let place = ItemPlace { output_index, item_id };
    Ok(ResponseEvent::TextDelta { place, content_index, delta, refusal })
}

fn terminal(data: &str, status: TerminalStatus) -> Result<ResponseEvent<'_>, StreamFault> {
    let TerminalEvent { response } = read(data, "a terminal event")?;
    Ok(ResponseEvent::Terminal { status, response })
}

fn error<'a>(
    data: &'a str,
    nested: Option<&'a RawValue>,
) -> Result<ResponseEvent<'a>, StreamFault> {
    match nested {
        Some(error) => Ok(ResponseEvent::Error { error, nested: true }),
        None => Ok(ResponseEvent::Error { error: read(data, "an error event")?, nested: false }),
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
    fn unknown_types_are_ignored_and_keep_alives_too() {
        assert_eq!(seen(None, r#"{"type":"response.new.thing","delta":{"a":[1,2]}}"#), "Ignored");
        assert_eq!(seen(Some("ping"), ""), "Ignored");
        assert_eq!(seen(None, " [DONE] "), "Done");
    }

    #[test]
    fn what_is_no_typed_json_object_is_a_fault_that_quotes_nothing() {
        let unreadable = "the model service sent an event that could not be read";
        for data in ["secret", "{\"type\":", "[1]", "7", r#"{"type":7}"#, r#"{"type":"x"}y"#] {
            assert_eq!(seen(None, data), unreadable, "{data}");
        }
        assert_eq!(
            seen(Some("response.completed"), r#"{"response":{}}"#),
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
