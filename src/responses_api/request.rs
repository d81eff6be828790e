//! The body of `POST {BaseUrl}/responses`: exactly the members that the product sends, in their
//! order, and the input items that the product writes itself.
//!
//! Composition decides what goes into a request. Items and tools are raw JSON text and are written as
//! they were stored, without being parsed.
//! Source: interface §4. The live API refuses unknown members, so a member
//! that is absent here cannot be sent.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::encoding::sparse_object;

/// The `include` entry that asks for reasoning that can be sent back with `store: false`.
pub const ENCRYPTED_REASONING: &str = "reasoning.encrypted_content";

sparse_object! {
    /// A request body but for its input items. Members are written in the order of the fields; empty ones are
    /// absent.
    #[derive(Clone, Debug, Serialize)]
    pub struct ResponsesRequest<'a> {
        /// The model's name at the service.
        pub model: &'a str,
        /// The mode layer. The service forgets it between calls.
        pub instructions?: Option<&'a str>,
        /// The place of the input items, which are written by whoever has them.
        pub input: [(); 0],
        /// What changes from call to call.
        #[serde(flatten)]
        pub call: CallMembers<'a>,
        /// Additions to the response, as [`ENCRYPTED_REASONING`].
        pub include?: &'a [&'a str],
        /// Whether the service keeps the response. Always explicit: the service's default is true.
        pub store: bool,
        /// Whether the response comes as server-sent events.
        pub stream: bool,
        /// Whether the response goes on at the service without its reader, who can come back to it.
        pub background?: bool,
        /// Calls with the same key are likely to meet the same cache.
        pub prompt_cache_key?: Option<&'a str>,
        /// Names the user to the service's own watch for abuse.
        pub safety_identifier?: Option<&'a str>,
        /// What the service itself does to a conversation that grows too long.
        pub context_management?: Option<[ContextManagement; 1]>,
        /// More members: names other than those above, and their JSON texts.
        #[serde(flatten, serialize_with = "members")]
        pub parameters: &'a [(&'a str, &'a RawValue)],
    }
}

impl ResponsesRequest<'_> {
    /// The body without its input and without the members of [`CallMembers`]: the same text for all calls of a
    /// session, as long as the operator changes nothing.
    pub fn template(&self) -> serde_json::Result<String> {
        exact_json(&Self { call: CallMembers::default(), ..self.clone() })
    }
}

sparse_object! {
    /// The members of a body that change from call to call, besides the input.
    #[derive(Clone, Copy, Debug, Default, Serialize)]
    pub struct CallMembers<'a> {
        /// The JSON text of an array of tools.
        pub tools?: Option<&'a RawValue>,
        /// The tool that the model must call. The service refuses it without `tools`.
        pub tool_choice?: Option<ToolChoice<'a>>,
        /// The response this request continues, when the service keeps the conversation.
        pub previous_response_id?: Option<&'a str>,
    }
}

impl CallMembers<'_> {
    /// The JSON text of the body with this template before its input items, and behind them. Between the two
    /// stand the items, each the JSON text of one object, joined by commas. It fails for a text that is no
    /// template.
    pub fn around_input(&self, template: &str) -> serde_json::Result<(String, String)> {
        // The members before the input are texts, in which quotes are escaped, so this is the member itself.
        const INPUT: &str = r#""input":[]"#;
        let no_template = || serde::ser::Error::custom("no input");
        let (before, behind) = template.split_once(INPUT).ok_or_else(no_template)?;
        let members = serde_json::to_string(self)?;
        let members = members.trim_start_matches('{').strip_suffix('}').unwrap_or_default();
        let comma = if members.is_empty() { "" } else { "," };
        Ok((format!(r#"{before}"input":["#), format!("]{comma}{members}{behind}")))
    }
}

/// `{"type":"function","name"}`: the model must call this one function.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "type", rename = "function")]
pub struct ToolChoice<'a> {
    /// The name of a function among the request's tools.
    pub name: &'a str,
}

/// `{"type":"json_schema","name","schema","strict"}`: the model's text is JSON of this form.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "type", rename = "json_schema")]
pub struct JsonSchemaFormat<'a> {
    /// 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub name: &'a str,
    /// A JSON Schema.
    pub schema: &'a RawValue,
    /// Whether the service itself holds the text to the schema.
    pub strict: bool,
}

/// `{"type":"compaction","compact_threshold"}`: the service compacts an input of that many tokens.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "type", rename = "compaction")]
pub struct ContextManagement {
    /// In tokens, 1000 or more.
    pub compact_threshold: u32,
}

/// A function offered to the model, in the flat shape of the Responses API.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename = "function")]
pub struct FunctionTool<'a> {
    /// 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub name: &'a str,
    /// When and how to use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
    /// A JSON Schema of type object.
    pub parameters: &'a RawValue,
    /// Always explicit: the service takes an absent `strict` for true and then makes every
    /// optional parameter mandatory.
    pub strict: bool,
}

/// One part of a user message.
#[derive(Serialize)]
#[serde(tag = "type")]
pub(crate) enum ContentPart<'a> {
    #[serde(rename = "input_text")]
    Text { text: Cow<'a, str> },
    /// A text that is written without being built before.
    #[serde(rename = "input_text")]
    Written {
        #[serde(serialize_with = "write")]
        text: &'a dyn Display,
    },
    /// `detail` says how closely the model looks. The service's schema requires it.
    #[serde(rename = "input_image")]
    Image { image_url: Cow<'a, str>, detail: &'static str },
    /// `file_data` is a base64 `data:` URL with a MIME type; the service refuses bare base64.
    #[serde(rename = "input_file")]
    File { filename: &'a str, file_data: &'a str },
}

impl<'a> ContentPart<'a> {
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into() }
    }

    /// `image_url` is an https or a `data:` URL.
    pub(crate) fn image(image_url: impl Into<Cow<'a, str>>) -> Self {
        Self::Image { image_url: image_url.into(), detail: "auto" }
    }
}

/// `{"type":"message","role":"system","content":[{"type":"input_text","text"}]}`: the boot prompt.
pub(crate) fn system_message(text: &str) -> serde_json::Result<Box<RawValue>> {
    to_raw_value(&InputMessage { role: "system", content: &[ContentPart::text(text)] })
}

/// `{"type":"message","role":"user","content":[…]}`.
pub(crate) fn user_message(content: &[ContentPart<'_>]) -> serde_json::Result<Box<RawValue>> {
    RawValue::from_string(user_message_json(content)?)
}

/// The same, as text: one as long as a request is not read again only to see that it is JSON.
pub(crate) fn user_message_json(content: &[ContentPart<'_>]) -> serde_json::Result<String> {
    exact_json(&InputMessage { role: "user", content })
}

/// `{"type":"function_call_output","call_id","output"}`; `call_id` is the call's, never its
/// item id.
pub(crate) fn function_call_output(
    call_id: &str,
    output: ToolOutput<'_>,
) -> serde_json::Result<Box<RawValue>> {
    to_raw_value(&FunctionCallOutput { call_id, output })
}

/// A user message with more text: at the end of the text part at `place` when `joins` says so, else as a
/// part of its own there. Everything else stays byte for byte as it is.
pub(crate) fn with_text(
    message: &RawValue,
    place: usize,
    text: &str,
    joins: bool,
) -> serde_json::Result<Box<RawValue>> {
    let MessageContent { mut content } = serde_json::from_str(message.get())?;
    match content.get_mut(place).filter(|_| joins) {
        Some(part) => {
            let TextContent { text: before } = serde_json::from_str(part.get())?;
            *part = to_raw_value(&ContentPart::text(before + text))?;
        }
        None => content.insert(place.min(content.len()), to_raw_value(&ContentPart::text(text))?),
    }
    to_raw_value(&InputMessage { role: "user", content: &content })
}

/// A user message without its text parts that begin so; `None` when no part is left. Everything else stays byte for
/// byte as it is.
pub(crate) fn without_text<'a>(
    message: &'a RawValue,
    begin: &str,
) -> serde_json::Result<Option<Cow<'a, RawValue>>> {
    let MessageParts { mut content } = serde_json::from_str(message.get())?;
    let before = content.len();
    content.retain(|part| {
        let read = serde_json::from_str::<TextContent>(part.get());
        !read.is_ok_and(|part| part.text.starts_with(begin))
    });
    match content.len() {
        0 => Ok(None),
        left if left == before => Ok(Some(Cow::Borrowed(message))),
        _ => to_raw_value(&InputMessage { role: "user", content: &content })
            .map(Cow::Owned)
            .map(Some),
    }
}

/// The JSON text of a value, in memory of its own length. A text that grows takes up to three times that for
/// a moment, and a module's memory never shrinks.
fn exact_json(value: &impl Serialize) -> serde_json::Result<String> {
    let mut length = Length(0);
    serde_json::to_writer(&mut length, value)?;
    let mut json = Vec::with_capacity(length.0);
    serde_json::to_writer(&mut json, value)?;
    String::from_utf8(json).map_err(serde::ser::Error::custom)
}

fn members<S: Serializer>(
    members: &&[(&str, &RawValue)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(members.iter().copied())
}

fn write<S: Serializer>(text: &&dyn Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(text)
}

/// Counts what is written.
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The service needs no `type` where there is a role, but gateways drop messages without one.
#[derive(Serialize)]
#[serde(tag = "type", rename = "message")]
struct InputMessage<'a, P> {
    role: &'static str,
    content: &'a [P],
}

#[derive(Deserialize)]
struct MessageContent {
    content: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct MessageParts<'a> {
    #[serde(borrow)]
    content: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct TextContent {
    text: String,
}

/// The output of a call.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum ToolOutput<'a> {
    /// Text, usually JSON.
    Text(&'a str),
    /// An array of content parts.
    Content(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function_call_output")]
struct FunctionCallOutput<'a> {
    call_id: &'a str,
    output: ToolOutput<'a>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    fn json(request: &ResponsesRequest<'_>, input: &[&RawValue]) -> String {
        let items: Vec<&str> = input.iter().map(|item| item.get()).collect();
        let (head, tail) = request.call.around_input(&request.template().unwrap()).unwrap();
        head + &items.join(",") + &tail
    }

    #[test]
    fn a_first_request_has_its_members_in_the_interface_s_order() {
        let schema = raw(r#"{"type":"object","properties":{"z":{},"a":{}}}"#);
        let tool = FunctionTool {
            name: "build",
            description: Some("Builds."),
            parameters: &schema,
            strict: false,
        };
        let tools = to_raw_value(&[tool]).unwrap();
        let system = system_message("Be \"brief\".").unwrap();
        let user = user_message(&[
            ContentPart::text("[MODE: general]"),
            ContentPart::image("data:image/png;base64,AA=="),
            ContentPart::File { filename: "a.pdf", file_data: "data:application/pdf;base64,AA==" },
        ])
        .unwrap();
        let request = ResponsesRequest {
            model: "m",
            instructions: Some("i \"input\":[]"),
            input: [],
            call: CallMembers {
                tools: Some(&tools),
                tool_choice: Some(ToolChoice { name: "build" }),
                previous_response_id: None,
            },
            include: &[],
            store: true,
            stream: true,
            background: false,
            prompt_cache_key: Some("k"),
            safety_identifier: Some("u"),
            context_management: Some([ContextManagement { compact_threshold: 1000 }]),
            parameters: &[("text", &raw(r#"{ "z":1.50 }"#)), ("top_p", &raw("1e0"))],
        };
        assert_eq!(
            json(&request, &[&system, &user]),
            concat!(
                r#"{"model":"m","instructions":"i \"input\":[]","input":["#,
                r#"{"type":"message","role":"system","content":[{"type":"input_text","text":"Be \"brief\"."}]},"#,
                r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"[MODE: general]"},"#,
                r#"{"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"auto"},"#,
                r#"{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AA=="}]}],"#,
                r#""tools":[{"type":"function","name":"build","description":"Builds.","#,
                r#""parameters":{"type":"object","properties":{"z":{},"a":{}}},"strict":false}],"#,
                r#""tool_choice":{"type":"function","name":"build"},"store":true,"stream":true,"#,
                r#""prompt_cache_key":"k","safety_identifier":"u","context_management":[{"type":"compaction","#,
                r#""compact_threshold":1000}],"text":{ "z":1.50 },"top_p":1e0}"#
            )
        );
    }

    #[test]
    fn a_continuation_has_no_more_than_it_needs_and_its_items_are_written_as_stored() {
        let output = function_call_output("call_1", ToolOutput::Text(r#"{"ok":true}"#)).unwrap();
        let stored = raw(r#"{ "b":1.50, "a":1e2 }"#);
        let request = ResponsesRequest {
            model: "m",
            instructions: None,
            input: [],
            call: CallMembers { previous_response_id: Some("resp_1"), ..CallMembers::default() },
            include: &[ENCRYPTED_REASONING],
            store: false,
            stream: true,
            background: false,
            prompt_cache_key: None,
            safety_identifier: None,
            context_management: None,
            parameters: &[],
        };
        assert_eq!(
            json(&request, &[&output, &stored]),
            concat!(
                r#"{"model":"m","input":[{"type":"function_call_output","call_id":"call_1","#,
                r#""output":"{\"ok\":true}"},{ "b":1.50, "a":1e2 }],"previous_response_id":"resp_1","#,
                r#""include":["reasoning.encrypted_content"],"store":false,"stream":true}"#
            )
        );
    }
}
