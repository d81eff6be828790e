//! The body of one model call (interface §4).

use serde_json::value::{RawValue, to_raw_value};

use super::tool_list::ToolList;
use super::trace::Block;
use crate::contract::Fault;
use crate::responses_api::{ENCRYPTED_REASONING, ResponsesRequest, ToolChoice};

/// What a model call is composed from.
#[derive(Debug)]
pub struct ModelRequest<'a> {
    /// The model's name.
    pub model: &'a str,
    /// The mode layer; empty when the mode has none.
    pub instructions: &'a str,
    /// The input items, in order.
    pub input: Vec<&'a RawValue>,
    /// The turn's tools; `None` when the service still has them.
    pub tools: Option<&'a ToolList>,
    /// On the turn's first call only.
    pub tool_choice: Option<&'a str>,
    /// Where the chain goes on; `None` when `input` is the whole conversation.
    pub previous_response_id: Option<&'a str>,
    /// Whether the service keeps the response.
    pub store: bool,
}

/// A body that is ready to be sent.
#[derive(Debug)]
pub struct ComposedRequest {
    /// JSON text.
    pub body: String,
    /// What it was made of.
    pub trace: Vec<Block>,
}

/// Writes the body of a model call; always as a stream.
///
/// # Errors
/// `internal` if it cannot be written as JSON.
pub fn compose_request(request: &ModelRequest<'_>) -> Result<ComposedRequest, Fault> {
    let tools = match request.tools {
        Some(tools) if !tools.0.is_empty() => {
            let definitions: Vec<&RawValue> =
                tools.0.iter().map(|tool| tool.definition.as_ref()).collect();
            Some(
                to_raw_value(&definitions)
                    .map_err(|_| Fault::unwritable("The request to the model service"))?,
            )
        }
        _ => None,
    };
    let input_bytes = request.input.iter().map(|item| item.get().len()).sum();
    let trace = vec![
        match request.instructions {
            "" => Block::left_out("instructions", "Mode.Instructions", "the mode has none"),
            text => Block::sent("instructions", "Mode.Instructions", text.len()),
        },
        Block::sent("input", format!("conversation: {} items", request.input.len()), input_bytes),
        match &tools {
            Some(tools) => Block::sent("tools", "Turn.Tools", tools.get().len()),
            None => Block::left_out(
                "tools",
                "Turn.Tools",
                "none, or unchanged since they were last sent",
            ),
        },
        match request.tool_choice {
            Some(name) => Block::sent("tool_choice", "ToolChoiceName", name.len()),
            None => Block::left_out(
                "tool_choice",
                "ToolChoiceName",
                "not given, or sent with the turn's first call",
            ),
        },
        match request.previous_response_id {
            Some(id) => Block::sent("previous_response_id", "Session", id.len()),
            None => Block::left_out(
                "previous_response_id",
                "Session",
                "the input is the whole conversation",
            ),
        },
    ];
    let body = ResponsesRequest {
        model: request.model,
        instructions: Some(request.instructions).filter(|text| !text.is_empty()),
        input: request.input.clone(),
        tools: tools.as_deref(),
        tool_choice: request.tool_choice.map(|name| ToolChoice { name }),
        previous_response_id: request.previous_response_id,
        include: if request.store { &[] } else { &[ENCRYPTED_REASONING] },
        store: request.store,
        stream: true,
    }
    .to_json()
    .map_err(|_| Fault::unwritable("The request to the model service"))?;
    Ok(ComposedRequest { body, trace })
}
