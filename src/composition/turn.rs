//! Everything that is composed when a user turn begins: its messages and its tool list.

use super::tool_definition::{
    ToolDefinition, client_tool_definitions, default_tool_definitions, server_tool_definitions,
};
use super::tool_list::{MergedTools, merge_tools};
use super::user_message::{ComposedMessages, MessageMaterial, compose_messages};
use crate::catalog::{Catalog, ConversationContext, Mode};
use crate::contract::{ErrorCode, Fault, UserTurn};
use crate::retrieval::Retrieved;

/// What a turn is composed from, besides the request.
#[derive(Clone, Copy, Debug)]
pub struct TurnMaterial<'a> {
    /// The operator's tools and modes.
    pub catalog: &'a Catalog,
    /// The session's conversation context.
    pub conversation: &'a ConversationContext,
    /// The session's mode.
    pub mode: &'a Mode,
    /// It is the session's first turn.
    pub is_first: bool,
    /// The client tools that the session received last, as [`ComposedTurn::received_tools`] gave them.
    pub latched_tools: Option<&'a str>,
    /// The session's solution context, when it has to be shown (again).
    pub solution_context: Option<&'a str>,
    /// What retrieval found for the turn.
    pub retrieved: &'a Retrieved,
}

/// A composed turn.
#[derive(Debug)]
pub struct ComposedTurn {
    /// What it adds to the conversation.
    pub messages: ComposedMessages,
    /// The tools that it offers, frozen until it ends (AGN-011 §4.4), and what gave way among them.
    pub tools: MergedTools,
    /// The client tools of the request, for the session to latch: JSON; `None` when it has none.
    pub received_tools: Option<String>,
    /// Why the turn is refused: it chose a tool that it does not offer.
    pub unoffered_choice: Option<Fault>,
}

/// Composes a user turn.
///
/// # Errors
/// `internal` if the latched tools cannot be read, or a part of the turn cannot be written as JSON.
pub fn compose_turn(turn: &UserTurn, material: &TurnMaterial<'_>) -> Result<ComposedTurn, Fault> {
    let client_tools: Vec<ToolDefinition> = match (&turn.tools, material.latched_tools) {
        (Some(received), _) => client_tool_definitions(received)?,
        (None, Some(latched)) => serde_json::from_str(latched).map_err(|_| {
            Fault::new(ErrorCode::Internal, "The session's client tools are unreadable.")
        })?,
        (None, None) => default_tool_definitions(&material.conversation.tools)?,
    };
    let received = turn.tools.as_ref().map(|_| serde_json::to_string(&client_tools));
    let received_tools =
        received.transpose().map_err(|_| Fault::unwritable("A part of the turn"))?;
    let server_tools = server_tool_definitions(material.catalog, material.mode)?;
    let tools = merge_tools(client_tools, server_tools);
    let boot_prompt = material.conversation.boot_prompt.as_str();
    let messages = compose_messages(
        turn,
        &MessageMaterial {
            mode: &material.mode.key,
            boot_prompt: material.is_first.then_some(boot_prompt),
            solution_context: material.solution_context,
            retrieved: material.retrieved,
        },
    )?;
    let choice = turn.tool_choice_name.as_deref();
    let unoffered_choice = choice.filter(|name| tools.list.get(name).is_none()).map(|_| {
        Fault::new(
            ErrorCode::InvalidField,
            "ToolChoiceName must name an offered tool, and none of that name is offered.",
        )
        .at("/ToolChoiceName")
    });
    Ok(ComposedTurn { messages, tools, received_tools, unoffered_choice })
}
