//! The end of a model call: the model output, or the error that the model service reported.
//!
//! It reads response objects, from a terminal event or from a whole JSON body. It does not know
//! how the output was streamed.
//! Source: the Responses API's response object, by recordings of several services.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::StreamFault;
use super::bounded_list::BoundedList;
use super::error_body::ErrorBody;
use super::event::TerminalStatus;
use super::hosted_items::Citation;
use super::ordered_text::BLANK_LINE;
use super::output_item::{FunctionCall, ItemKind, Message, OutputItem, Phase};
use super::response_facts::{ResponseFacts, usable_id};
use super::token_counts::token_counts;
use crate::encoding::Usage;
use crate::json::{Object, from_object};

/// The end of a model call.
#[derive(Debug)]
pub enum ResponseEnd {
    /// The model finished. No call in the output is cut.
    Completed(ModelOutput),
    /// The model was cut off. No call in the output may be executed.
    Incomplete {
        /// The output up to the cut.
        output: ModelOutput,
        /// As the service names it: `max_output_tokens`, `content_filter`, …
        reason: Option<String>,
    },
    /// The service gave up, though its response had a success status. The error's `kind` is `cancelled`
    /// for a response that was cancelled at the service without an error.
    Failed(ErrorBody),
}

/// What the model wrote.
#[derive(Debug, Default)]
pub struct ModelOutput {
    /// Names the response in a later `previous_response_id`.
    pub response_id: Option<String>,
    /// The text and refusals of the messages in order, joined by a blank line. Commentary is
    /// left out unless there is no other text.
    pub text: String,
    /// The text of all messages, commentary included; absent when it is the same.
    pub text_with_commentary: Option<String>,
    /// Some of the text is a refusal.
    pub refusal: bool,
    /// The web pages that the text cites, in order.
    pub citations: Vec<Citation>,
    /// The calls, in order.
    pub calls: Vec<FunctionCall>,
    /// All output items, in order, as the service wrote them.
    pub items: Vec<Box<RawValue>>,
    /// Absent when the service reported no usage that could be read.
    pub usage: Option<Usage>,
}

impl ResponseEnd {
    /// The output, unless the response failed.
    pub fn output(&self) -> Option<&ModelOutput> {
        match self {
            Self::Completed(output) | Self::Incomplete { output, .. } => Some(output),
            Self::Failed(_) => None,
        }
    }
}

/// A response object in one piece, of a response that has ended, with its status; [`StreamFault::Unfinished`] for a
/// response that goes on, [`StreamFault::EndedEarly`] for a body that is cut.
pub(super) fn standing_response(body: &[u8]) -> Result<(TerminalStatus, &RawValue), StreamFault> {
    let fault = |is_cut| match is_cut {
        true => StreamFault::EndedEarly,
        false => StreamFault::Malformed("a JSON answer"),
    };
    let body = std::str::from_utf8(body).map_err(|error| fault(error.error_len().is_none()))?;
    let object: &RawValue = serde_json::from_str(body).map_err(|error| fault(error.is_eof()))?;
    let view = ResponseView::read(object, &mut ResponseFacts::default())?;
    Ok((status_of(&view)?, object))
}

fn status_of(response: &ResponseView<'_>) -> Result<TerminalStatus, StreamFault> {
    let named = response.status.as_deref();
    Ok(match (named, named.and_then(TerminalStatus::parse)) {
        (_, Some(status)) => status,
        (Some("queued" | "in_progress"), _) => return Err(StreamFault::Unfinished),
        // Proxies report their own failures under a success status.
        (None, _) if response.error.is_some() => TerminalStatus::Failed,
        // Gateways leave the status out, for whole and for cut output.
        (None, _) if response.output.is_some() => {
            match response.incomplete_details.as_ref().and_then(|Object(d)| d.reason.as_deref()) {
                Some(reason) if !reason.is_empty() => TerminalStatus::Incomplete,
                _ => TerminalStatus::Completed,
            }
        }
        _ => return Err(StreamFault::Malformed("a response's status")),
    })
}

/// The members of a response object that matter.
#[derive(Deserialize)]
pub(super) struct ResponseView<'a> {
    id: Option<String>,
    status: Option<String>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    output: Option<BoundedList<&'a RawValue>>,
    error: Option<&'a RawValue>,
    /// OpenRouter's name for the error, whose code says less.
    error_type: Option<&'a RawValue>,
    incomplete_details: Option<Object<IncompleteDetails>>,
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}

impl<'a> ResponseView<'a> {
    /// Reads a response object, and notes what it says about itself.
    pub(super) fn read(
        raw: &'a RawValue,
        reported: &mut ResponseFacts,
    ) -> Result<Self, StreamFault> {
        let Ok(view) = from_object::<Self>(raw.get()) else {
            reported.read_object(raw.get());
            return Err(StreamFault::Malformed("a response object"));
        };
        reported.add(view.id.as_deref(), view.usage.and_then(|usage| token_counts(usage.get())));
        if let Some(model) = view.model {
            reported.set_model(model);
        }
        Ok(view)
    }

    /// How the response ended. `streamed` gives the items seen so far, for services whose terminal event
    /// has an empty `output`, or one without the calls that came whole: whether any did says `calls_came`. Where event
    /// and object disagree, the worse of the two counts.
    pub(super) fn conclude(
        self,
        status: TerminalStatus,
        output_bytes: usize,
        calls_came: bool,
        streamed: impl FnOnce() -> Vec<Box<RawValue>>,
    ) -> Result<ResponseEnd, StreamFault> {
        let status = match self.status.as_deref().and_then(TerminalStatus::parse) {
            None | Some(TerminalStatus::Completed) => status,
            Some(TerminalStatus::Incomplete) if status != TerminalStatus::Completed => status,
            Some(worse) => worse,
        };
        // Gateways that were cut off report an error beside a status that sounds well.
        if self.error.is_some()
            || matches!(status, TerminalStatus::Failed | TerminalStatus::Cancelled)
        {
            let is_cancelled = status == TerminalStatus::Cancelled;
            return Ok(ResponseEnd::Failed(match self.error {
                Some(error) => {
                    let error = ErrorBody::of_error(error.get());
                    let named = || serde_json::from_str(self.error_type?.get()).ok();
                    ErrorBody { kind: error.kind.or_else(named), ..error }
                }
                None => ErrorBody {
                    kind: is_cancelled.then(|| "cancelled".to_owned()),
                    ..ErrorBody::default()
                },
            }));
        }
        let lacks_calls = |output: &[&RawValue]| {
            calls_came
                && status == TerminalStatus::Completed
                && !output.iter().any(|item| ItemKind::of(item) == ItemKind::FunctionCall)
        };
        let items = match self.output.map(BoundedList::all).transpose()? {
            Some(output) if !output.is_empty() && !lacks_calls(&output) => {
                let bytes = output.iter().map(|item| item.get().len()).sum::<usize>();
                if bytes > output_bytes {
                    return Err(StreamFault::OutputTooLarge(output_bytes));
                }
                output.into_iter().map(RawValue::to_owned).collect()
            }
            _ => streamed(),
        };
        let usage = self.usage.and_then(|usage| token_counts(usage.get()));
        let response_id = usable_id(self.id);
        let output = ModelOutput { response_id, usage, ..ModelOutput::read(items)? };
        // A cut call must never run, so an output that holds one is not complete.
        if status == TerminalStatus::Completed && !output.calls.iter().any(|call| call.cut) {
            return Ok(ResponseEnd::Completed(output));
        }
        let reason = self.incomplete_details.and_then(|Object(details)| details.reason);
        Ok(ResponseEnd::Incomplete { output, reason })
    }
}

impl ModelOutput {
    fn read(items: Vec<Box<RawValue>>) -> Result<Self, StreamFault> {
        let mut output = Self::default();
        // The text of each message that has any, whether it is commentary, and what it cites.
        let mut messages: Vec<(String, bool, Vec<Citation>)> = Vec::new();
        for item in &items {
            match OutputItem::read(item)? {
                OutputItem::Message(Message { phase, parts, annotations }) => {
                    output.refusal |= parts.iter().any(|part| part.refusal);
                    let text: String = parts.into_iter().map(|part| part.text).collect();
                    if !text.is_empty() {
                        let cited = annotations.into_iter().filter_map(Citation::read).collect();
                        messages.push((text, phase == Some(Phase::Commentary), cited));
                    }
                }
                OutputItem::FunctionCall(call) => output.calls.push(call),
                OutputItem::Other => {}
            }
        }
        output.items = items;
        let comments = messages.iter().filter(|(_, commentary, _)| *commentary).count();
        if (1..messages.len()).contains(&comments) {
            output.text_with_commentary = Some(joined(messages.iter().map(|(text, ..)| text)));
            messages.retain(|(_, commentary, _)| !commentary);
        }
        output.text = match messages.as_mut_slice() {
            [(text, ..)] => std::mem::take(text),
            several => joined(several.iter().map(|(text, ..)| text)),
        };
        output.citations = messages.into_iter().flat_map(|(_, _, cited)| cited).collect();
        Ok(output)
    }
}

fn joined<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    texts.map(String::as_str).collect::<Vec<_>>().join(BLANK_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::responses_api::{ResponseStream, StreamLimits};

    const MESSAGE: &str = r#"{"type":"message","content":[{"type":"output_text","text":"Hi"}]}"#;
    const CUT: &str = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a","status":"incomplete"}"#;

    fn end_within(output_bytes: usize, body: &str) -> Result<ResponseEnd, StreamFault> {
        let limits = StreamLimits { output_bytes, ..StreamLimits::RESPONSE };
        ResponseStream::new(limits).take_object(body.as_bytes(), &mut |_| {})
    }

    fn end(body: &str) -> Result<ResponseEnd, StreamFault> {
        end_within(1000, body)
    }

    /// Output items have no equality of their own; their whole text is in the debug form.
    fn assert_same<T: std::fmt::Debug>(found: &T, expected: &T) {
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    }

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    fn failed(code: Option<&str>, kind: Option<&str>, message: Option<&str>) -> ResponseEnd {
        let own = |text: Option<&str>| text.map(str::to_owned);
        let (code, kind, message) = (own(code), own(kind), own(message));
        ResponseEnd::Failed(ErrorBody { code, kind, message, param: None })
    }

    #[test]
    fn a_completed_response_gives_text_calls_items_and_usage() {
        let search = r#"{"type":"web_search_call","id":"ws","action":{"type":"search"}}"#;
        let call = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
        let body = format!(
            r#" {{"id":"resp_1","status":"completed","error":null,"output":[{search},{MESSAGE},{call}],
            "usage":{{"input_tokens":7,"input_tokens_details":{{"cached_tokens":2}},"output_tokens":5,
            "output_tokens_details":{{"reasoning_tokens":3}},"total_tokens":12,"extra":1}}}}"#
        );
        assert_same(
            &end(&body),
            &Ok(ResponseEnd::Completed(ModelOutput {
                response_id: Some("resp_1".to_owned()),
                text: "Hi".to_owned(),
                text_with_commentary: None,
                refusal: false,
                citations: Vec::new(),
                calls: vec![FunctionCall {
                    call_id: "c".to_owned(),
                    name: "f".to_owned(),
                    arguments: "{}".to_owned(),
                    cut: false,
                }],
                items: vec![raw(search), raw(MESSAGE), raw(call)],
                usage: Some(Usage {
                    prompt_tokens: 7,
                    cached_tokens: 2,
                    completion_tokens: 5,
                    reasoning_tokens: 3,
                    total_tokens: 12,
                    estimated: false,
                }),
            })),
        );
    }

    #[test]
    fn an_output_with_a_cut_call_is_incomplete_whatever_its_status_says() {
        for (status, reason) in [("incomplete", Some("max_output_tokens")), ("completed", None)] {
            let details =
                reason.map_or("null".to_owned(), |why| format!(r#"{{"reason":"{why}"}}"#));
            let body = format!(
                r#"{{"status":"{status}","incomplete_details":{details},"output":[{CUT}]}}"#
            );
            let call = FunctionCall {
                call_id: "c".to_owned(),
                name: "f".to_owned(),
                arguments: "{\"a".to_owned(),
                cut: true,
            };
            let output =
                ModelOutput { calls: vec![call], items: vec![raw(CUT)], ..ModelOutput::default() };
            assert_same(
                &end(&body),
                &Ok(ResponseEnd::Incomplete { output, reason: reason.map(str::to_owned) }),
            );
        }
    }

    #[test]
    fn a_failed_or_cancelled_response_is_failed_with_what_the_service_said() {
        assert_same(
            &end(r#"{"status":"failed","error":{"code":"server_error","message":"m"}}"#),
            &Ok(failed(Some("server_error"), None, Some("m"))),
        );
        assert_same(&end(r#"{"status":"cancelled"}"#), &Ok(failed(None, Some("cancelled"), None)));
        assert_same(
            &end(r#"{"error":{"type":"t","code":429,"message":"m"}}"#),
            &Ok(failed(Some("429"), Some("t"), Some("m"))),
        );
        assert_same(&end(r#"{"error":"overloaded"}"#), &Ok(failed(None, None, Some("overloaded"))));
        for status in ["completed", "incomplete"] {
            let body = format!(
                r#"{{"status":"{status}","output":[{MESSAGE}],"error":{{"code":"server_error"}}}}"#
            );
            assert_same(&end(&body), &Ok(failed(Some("server_error"), None, None)));
        }
    }

    #[test]
    fn a_response_without_a_status_is_what_it_holds() {
        let body = |details: &str| format!(r#"{{"output":[{MESSAGE}]{details}}}"#);
        for details in
            ["", r#","incomplete_details":null"#, r#","incomplete_details":{"reason":""}"#]
        {
            let read = end(&body(details));
            assert!(
                matches!(read, Ok(ResponseEnd::Completed(output)) if output.text == "Hi"),
                "{details}"
            );
        }
        let cut = body(r#","incomplete_details":{"reason":"max_output_tokens"}"#);
        assert!(matches!(end(&cut), Ok(ResponseEnd::Incomplete { .. })));
    }

    #[test]
    fn what_is_no_finished_response_is_a_fault() {
        for (body, fault) in [
            (r#"{"status":"queued"}"#, StreamFault::Unfinished),
            (r#"{"status":"in_progress","output":[]}"#, StreamFault::Unfinished),
            (r#"{"status":"comp"#, StreamFault::EndedEarly),
            ("", StreamFault::EndedEarly),
            ("<html>", StreamFault::Malformed("a JSON answer")),
            (r#"{"status":"new"}"#, StreamFault::Malformed("a response's status")),
            (r#"{"id":"r"}"#, StreamFault::Malformed("a response's status")),
            ("[]", StreamFault::Malformed("a response object")),
            (r#"{"status":"completed","output":{}}"#, StreamFault::Malformed("a response object")),
        ] {
            assert_eq!(end(body).unwrap_err(), fault, "{body}");
        }
    }

    #[test]
    fn output_items_may_be_as_large_as_the_limit_and_no_larger() {
        let body = format!(r#"{{"status":"completed","output":[{MESSAGE}]}}"#);
        let of = |limit| end_within(limit, &body).map(|_| ());
        assert_eq!(of(MESSAGE.len()), Ok(()));
        let limit = MESSAGE.len() - 1;
        assert_eq!(of(limit), Err(StreamFault::OutputTooLarge(limit)));
    }
}
