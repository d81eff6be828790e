//! The body of one model call (interface §4).

use serde_json::value::{RawValue, to_raw_value};

use super::call_parameters::CallParameters;
use super::output_format::TEXT;
use super::tool_list::ToolList;
use super::trace::Block;
use crate::contract::{Fault, Result};
use crate::responses_api::{
    CallMembers, ContextManagement, ENCRYPTED_REASONING, ResponsesRequest, ToolChoice,
};

/// What a model call is composed from.
#[derive(Default)]
pub struct ModelRequest<'a> {
    pub model: &'a str,
    /// The mode layer; empty when the mode has none.
    pub instructions: &'a str,
    /// The turn's tools; `None` when the service still has them.
    pub tools: Option<&'a ToolList>,
    /// On the turn's first call only.
    pub tool_choice: Option<&'a str>,
    /// The response that the call continues; `None` when the input is the whole conversation.
    pub previous_response_id: Option<&'a str>,
    /// Whether the service keeps the response.
    pub store: bool,
    /// Whether the response goes on at the service without its reader.
    pub background: bool,
    /// Whether reasoning is asked for that can be sent back: the service does not keep it.
    pub wants_reasoning: bool,
    /// The key under which the service caches the session's prompts.
    pub prompt_cache_key: Option<String>,
    /// What names the user to the service; the operator's own parameter goes before it.
    pub safety_identifier: Option<String>,
    /// The tokens of input from which the service compacts the conversation by itself.
    pub compact_threshold: Option<u32>,
    /// What the operator adds.
    pub parameters: CallParameters<'a>,
    /// An item that stands in the place of the conversation: a call for a summary sends nothing else.
    pub own_item: Option<&'a RawValue>,
}

/// The body of a model call but for the conversation's items, which can be many and long. Nothing else is
/// missing from it: a body is finished where it is composed.
pub struct ComposedRequest {
    head: String,
    tail: String,
    template: String,
    trace: Vec<Block>,
}

impl ComposedRequest {
    /// The JSON text before the conversation's items.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// The JSON text behind the conversation's items.
    pub fn tail(&self) -> &str {
        &self.tail
    }

    /// What the body has in common with those of other calls ([`ResponsesRequest::template`]).
    pub fn template(&self) -> &str {
        &self.template
    }

    /// What the body is made of, with so many of the conversation's items, and so many bytes in all of them.
    pub fn trace(&self, items: usize, bytes: usize) -> Vec<Block> {
        let mut trace = self.trace.clone();
        let input = Block::sent("input", format!("conversation: {items} items"), bytes);
        trace.insert(trace.len().min(1), input);
        trace
    }
}

/// Writes the body of a model call around the conversation's items, which are joined by commas; always as a
/// stream.
pub fn compose_request(request: &ModelRequest<'_>) -> Result<ComposedRequest> {
    let unwritable = |_| Fault::unwritable("The request to the model service");
    let instructions = Some(request.instructions).filter(|text| !text.is_empty());
    let offered = request.tools.filter(|tools| !tools.0.is_empty());
    let definitions = offered.map(|tools| {
        to_raw_value(&tools.0.iter().map(|tool| &tool.definition).collect::<Vec<_>>())
    });
    let tools = definitions.transpose().map_err(unwritable)?;
    let CallParameters { include: asked, format, .. } = &request.parameters;
    let mut trace = vec![
        Block::of("instructions", "Mode.Instructions", instructions, "the mode has none"),
        Block::of(
            "tools",
            "Turn.Tools",
            tools.as_ref().map(|tools| tools.get()),
            "none, or unchanged since they were last sent",
        ),
        Block::of(
            "tool_choice",
            "ToolChoiceName",
            request.tool_choice,
            "not given, or sent with the turn's first call",
        ),
        Block::of(
            "previous_response_id",
            "Session",
            request.previous_response_id,
            "the input is the whole conversation",
        ),
        match request.parameters.bytes() {
            0 => Block::left_out("parameters", "ModelParameters", "the catalog has none"),
            bytes => Block::sent("parameters", "ModelParameters", bytes),
        },
    ];
    let mut parameters = request.parameters.members.clone();
    let text = format.map(|format| {
        trace.push(Block::sent("output_schema", "OutputSchema", format.json.len()));
        format.text_with(request.parameters.member(TEXT))
    });
    let text = text.transpose().map_err(unwritable)?;
    if let Some(text) = &text {
        match parameters.iter_mut().find(|(name, _)| *name == TEXT) {
            Some((_, json)) => *json = text,
            None => parameters.push((TEXT, text)),
        }
    }
    let mut include = Vec::from_iter(request.wants_reasoning.then_some(ENCRYPTED_REASONING));
    for name in asked.iter().map(String::as_str) {
        if !include.contains(&name) {
            include.push(name);
        }
    }
    let compaction = request
        .compact_threshold
        .map(|compact_threshold| [ContextManagement { compact_threshold }]);
    let is_free = parameters.iter().all(|(name, _)| *name != "safety_identifier");
    let body = ResponsesRequest {
        model: request.model,
        instructions,
        input: [],
        call: CallMembers {
            tools: tools.as_deref(),
            tool_choice: request.tool_choice.map(|name| ToolChoice { name }),
            previous_response_id: request.previous_response_id,
        },
        include: &include,
        store: request.store,
        stream: true,
        background: request.background,
        prompt_cache_key: request.prompt_cache_key.as_deref(),
        safety_identifier: request.safety_identifier.as_deref().filter(|_| is_free),
        context_management: compaction,
        parameters: &parameters,
    };
    let template = body.template().map_err(unwritable)?;
    let (mut head, tail) = body.call.around_input(&template).map_err(unwritable)?;
    head.push_str(request.own_item.map_or("", RawValue::get));
    Ok(ComposedRequest { head, tail, template, trace })
}
