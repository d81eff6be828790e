//! The stream events that matter, read from their data without copying it.
//!
//! The `type` member of the data names the event, because services omit or misname the `event` line;
//! the line counts where the data have no `type`. One scan skips events of other types and builds no
//! value for them, so a service may invent new ones. Nothing here keeps state: the accumulator checks
//! order and completeness.
//! Source: the Responses API's streaming events, by recordings of several services.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::StreamFault;
use super::error_body::ErrorBody;
use super::output_item::MessagePart;
use crate::encoding::SseEvent;
use crate::json::{BorrowedText, text_of};

/// One event. It borrows from its data.
#[derive(Debug)]
pub(super) enum ResponseEvent<'a> {
    /// `response.output_item.added`: an item begins, still without content.
    ItemAdded(ItemEvent<'a>),
    /// `response.output_item.done`: the whole item.
    ItemDone(ItemEvent<'a>),
    /// `response.output_text.delta`, `response.refusal.delta`: text to append to a part.
    TextDelta(PartEvent<'a>),
    /// `response.output_text.done`, `response.refusal.done`: the whole text of a part.
    TextDone(PartEvent<'a>),
    /// `response.output_text.annotation.added`: an annotation of the part with that content index.
    Annotation(ItemPlace<'a>, u64, &'a RawValue),
    /// `response.reasoning_summary_text.delta`: a piece of a summary, and the summary's place by output
    /// index and summary index.
    ReasoningDelta((u64, u64), Cow<'a, str>),
    /// `response.function_call_arguments.delta`: JSON text to append to a call's arguments.
    ArgumentsDelta(ItemPlace<'a>, Cow<'a, str>),
    /// `response.function_call_arguments.done`: the whole arguments of a call.
    ArgumentsDone(ItemPlace<'a>, Cow<'a, str>),
    /// `response.created`, `response.queued`, `response.in_progress`: the response object as it is so far.
    Progress(&'a RawValue),
    /// The terminal event, with its status and the response object.
    Terminal(TerminalStatus, &'a RawValue),
    /// An `error` event, or a failure that tells no more, which ends the response.
    Error(ErrorBody),
    /// The literal `[DONE]`, which some services send last.
    Done,
    /// An event without a meaning for the output.
    Ignored,
}

/// The item that an event concerns. Item ids change from event to event on some services, so the index
/// counts more than the id. Services omit either.
#[derive(Debug)]
pub(super) struct ItemPlace<'a> {
    pub(super) output_index: Option<u64>,
    pub(super) item_id: Option<Cow<'a, str>>,
}

/// An item and its position in the output.
#[derive(Debug)]
pub(super) struct ItemEvent<'a> {
    pub(super) output_index: Option<u64>,
    pub(super) item: &'a RawValue,
}

/// Text of a message's part, and the place of the part.
#[derive(Debug)]
pub(super) struct PartEvent<'a> {
    pub(super) place: ItemPlace<'a>,
    pub(super) content_index: u64,
    pub(super) part: MessagePart<'a>,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TerminalStatus {
    Completed,
    /// A length limit or a content filter cut the model off.
    Incomplete,
    Failed,
    /// Somebody cancelled the response at the service.
    Cancelled,
}

impl TerminalStatus {
    /// The status of that name, if it is one that ends a response.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "completed" => Some(Self::Completed),
            "incomplete" => Some(Self::Incomplete),
            "failed" => Some(Self::Failed),
            "cancelled" => Some(Self::Cancelled),
            _ => None,
        }
    }
}

impl<'a> ResponseEvent<'a> {
    /// Reads one framed event. [`StreamFault::Malformed`] means that the data are no JSON object, that
    /// nothing names the type, or that members of a known type are missing.
    pub(super) fn read(event: &'a SseEvent) -> Result<Self, StreamFault> {
        let data = event.data.trim();
        match data {
            // Keep-alives of proxies.
            "" => return Ok(Self::Ignored),
            "[DONE]" => return Ok(Self::Done),
            _ => {}
        }
        let members: EventMembers<'a> = match serde_json::from_str(data) {
            Ok(members) => members,
            // Proxies invent signs of life of their own. JSON that ends too early is a cut event instead.
            Err(fault) if !fault.is_eof() && event.event.as_deref().is_some_and(is_foreign) => {
                return Ok(Self::Ignored);
            }
            Err(_) => return Err(StreamFault::Malformed("an event")),
        };
        let kind = members.kind.as_ref().map(|BorrowedText(kind)| kind.as_ref());
        Ok(match kind.or(event.event.as_deref()) {
            // Proxies report their own failures without a type.
            _ if kind.is_none() && members.error.is_some() => Self::Error(members.error(data)),
            Some("response.output_item.added") => Self::ItemAdded(members.item()?),
            Some("response.output_item.done") => Self::ItemDone(members.item()?),
            Some("response.output_text.delta") => {
                Self::TextDelta(members.text_of(members.delta, false)?)
            }
            Some("response.refusal.delta") => {
                Self::TextDelta(members.text_of(members.delta, true)?)
            }
            Some("response.output_text.done") => {
                Self::TextDone(members.text_of(members.text, false)?)
            }
            Some("response.refusal.done") => {
                Self::TextDone(members.text_of(members.refusal, true)?)
            }
            Some("response.output_text.annotation.added") => members.annotation(),
            Some("response.reasoning_summary_text.delta") => members.reasoning(),
            Some("response.function_call_arguments.delta") => {
                let (place, delta) = members.arguments_of(members.delta)?;
                Self::ArgumentsDelta(place, delta)
            }
            Some("response.function_call_arguments.done") => {
                let (place, arguments) = members.arguments_of(members.arguments)?;
                Self::ArgumentsDone(place, arguments)
            }
            Some("response.created" | "response.queued" | "response.in_progress") => {
                members.response.map_or(Self::Ignored, Self::Progress)
            }
            // OpenRouter names some `response.error`: openrouter.ai/docs/api/reference/errors-and-debugging.
            Some("error" | "response.error") => Self::Error(members.error(data)),
            // Some gateways end every stream so; the response's own status says how it ended.
            Some("response.done") => {
                let end = |response| Self::Terminal(TerminalStatus::Completed, response);
                members.response.map_or(Self::Ignored, end)
            }
            Some(other) => match other.strip_prefix("response.").and_then(TerminalStatus::parse) {
                // Perplexity's failures have an error and no response: its schema of `ResponseFailedEvent`.
                Some(TerminalStatus::Failed)
                    if members.response.is_none() && members.error.is_some() =>
                {
                    Self::Error(members.error(data))
                }
                Some(status) => Self::Terminal(
                    status,
                    members.response.ok_or(StreamFault::Malformed("a terminal event"))?,
                ),
                None => Self::Ignored,
            },
            None => return Err(StreamFault::Malformed("an event without a type")),
        })
    }
}

impl ResponseEvent<'_> {
    /// Whether it tells of the response itself, and adds nothing to its output.
    pub(super) fn is_of_response(&self) -> bool {
        matches!(self, Self::Terminal(..) | Self::Error(_) | Self::Progress(_))
    }
}

/// Whether the name of an event is none of the Responses API's.
fn is_foreign(name: &str) -> bool {
    name != "error" && !name.starts_with("response.")
}

/// The members of all known events, found in one scan. Every member but the type stays raw until the
/// type asks for it, because an unknown event may give it any shape.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct EventMembers<'a> {
    #[serde(rename = "type")]
    kind: Option<BorrowedText<'a>>,
    error: Option<&'a RawValue>,
    output_index: Option<&'a RawValue>,
    item_id: Option<&'a RawValue>,
    content_index: Option<&'a RawValue>,
    summary_index: Option<&'a RawValue>,
    item: Option<&'a RawValue>,
    delta: Option<&'a RawValue>,
    text: Option<&'a RawValue>,
    refusal: Option<&'a RawValue>,
    annotation: Option<&'a RawValue>,
    arguments: Option<&'a RawValue>,
    response: Option<&'a RawValue>,
}

impl<'a> EventMembers<'a> {
    fn item(&self) -> Result<ItemEvent<'a>, StreamFault> {
        optional(self.output_index, number)
            .and_then(|output_index| Some(ItemEvent { output_index, item: self.item? }))
            .ok_or(StreamFault::Malformed("an output_item event"))
    }

    fn place(&self) -> Option<ItemPlace<'a>> {
        let item_id = optional(self.item_id, text_of)?;
        Some(ItemPlace { output_index: optional(self.output_index, number)?, item_id })
    }

    /// The text in `member`, and the part that it belongs to.
    fn text_of(
        &self,
        member: Option<&'a RawValue>,
        refusal: bool,
    ) -> Result<PartEvent<'a>, StreamFault> {
        let part = || {
            let content_index = optional(self.content_index, number)?.unwrap_or_default();
            let part = MessagePart { text: string(member)?, refusal };
            Some(PartEvent { place: self.place()?, content_index, part })
        };
        let what = if refusal { "a refusal event" } else { "an output_text event" };
        part().ok_or(StreamFault::Malformed(what))
    }

    /// An annotation. No text depends on it, so one that can't be read has no meaning.
    fn annotation(&self) -> ResponseEvent<'a> {
        let read = || {
            let content_index = optional(self.content_index, number)?.unwrap_or_default();
            Some(ResponseEvent::Annotation(self.place()?, content_index, self.annotation?))
        };
        read().unwrap_or(ResponseEvent::Ignored)
    }

    /// A piece of a summary. No output depends on it, so one that can't be read has no meaning.
    fn reasoning(&self) -> ResponseEvent<'a> {
        let index = |member| optional(member, number).flatten().unwrap_or_default();
        match string(self.delta) {
            Some(delta) => {
                let place = (index(self.output_index), index(self.summary_index));
                ResponseEvent::ReasoningDelta(place, delta)
            }
            None => ResponseEvent::Ignored,
        }
    }

    /// The arguments in `member`, and the call that they belong to.
    fn arguments_of(
        &self,
        member: Option<&'a RawValue>,
    ) -> Result<(ItemPlace<'a>, Cow<'a, str>), StreamFault> {
        self.place()
            .zip(string(member))
            .ok_or(StreamFault::Malformed("a function_call_arguments event"))
    }

    /// The error in the `error` member. Without that member the data are the error, and the `type` in
    /// them is the event's.
    fn error(&self, data: &str) -> ErrorBody {
        match self.error {
            Some(error) => ErrorBody::of_error(error.get()),
            None => ErrorBody { kind: None, ..ErrorBody::of_error(data) },
        }
    }
}

/// The value of a member that may be absent. The outer `None` means that it has another shape.
fn optional<'a, T>(
    member: Option<&'a RawValue>,
    read: impl Fn(&'a str) -> Option<T>,
) -> Option<Option<T>> {
    member.map_or(Some(None), |raw| read(raw.get()).map(Some))
}

fn string(member: Option<&RawValue>) -> Option<Cow<'_, str>> {
    text_of(member?.get())
}

fn number(json: &str) -> Option<u64> {
    json.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sse(event: Option<&str>, data: &str) -> SseEvent {
        SseEvent { event: event.map(str::to_owned), data: data.to_owned() }
    }

    /// The event with this data, or the fault, as text.
    fn seen(event: Option<&str>, data: &str) -> String {
        match ResponseEvent::read(&sse(event, data)) {
            Ok(event) => format!("{event:?}"),
            Err(fault) => format!("{fault}"),
        }
    }

    #[test]
    fn the_type_in_the_data_decides_over_the_event_line() {
        let data = r#"{"delta":"a\nb","type":"response.output_text.delta","output_index":1}"#;
        let expected = "TextDelta(PartEvent { \
                        place: ItemPlace { output_index: Some(1), item_id: None }, \
                        content_index: 0, \
                        part: MessagePart { text: \"a\\nb\", refusal: false } })";
        for event in [None, Some("response.output_text.delta"), Some("something.else")] {
            assert_eq!(seen(event, data), expected);
        }
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
        let body = |code: &str, kind: &str, message: &str| {
            let own = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            ErrorBody { code: own(code), kind: own(kind), param: None, message: own(message) }
        };
        for (event, data, error) in [
            (None, r#"{"type":"error","error":{"type":"t","code":"x"}}"#, body("x", "t", "")),
            (None, r#"{"error":"m"}"#, body("", "", "m")),
            (None, r#"{"type":"response.error","error":{"code":"x"}}"#, body("x", "", "")),
            (None, r#"{"type":"response.failed","error":{"message":"m"}}"#, body("", "", "m")),
            (Some("error"), r#"{"code":"x"}"#, body("x", "", "")),
            (None, r#"{"type":"error","error":null,"code":"x"}"#, body("x", "", "")),
        ] {
            assert_eq!(seen(event, data), format!("Error({error:?})"));
        }
    }
}
