//! Everything that is composed when a user turn begins: its messages and its tool list.

use super::server_tools::server_tools;
use super::tool_definition::{ToolDefinition, client_tool, default_tool, hosted_tools};
use super::tool_list::{MOST_TOOLS, ToolList, ToolWarnings, merge_tools};
use super::turn_material::TurnMaterial;
use super::user_message::{ComposedMessages, compose_messages};
use crate::contract::{ErrorCode, Fault, Result, UserTurn, Warning};

/// What a turn adds to the conversation, what it offers, and what was left out of either.
pub struct ComposedTurn {
    /// What it adds to the conversation.
    pub messages: ComposedMessages,
    /// The tools that it offers, frozen until it ends (AGN-011 §4.4).
    pub tools: ToolList,
    /// One for each tool that is not offered, and why.
    pub warnings: Vec<Warning>,
    /// The client tools of the request, for the session to latch: JSON; `None` when it has none.
    pub received_tools: Option<String>,
    /// Why the turn is refused: it brought more tools than it can offer, or chose one that it does not offer.
    pub faults: Vec<Fault>,
}

/// Composes a user turn.
pub fn compose_turn(turn: &UserTurn, material: &TurnMaterial<'_>) -> Result<ComposedTurn> {
    let client_tools: Vec<ToolDefinition> = match (&turn.tools, material.latched_tools) {
        (Some(received), _) => received.iter().map(client_tool).collect::<Result<_, _>>()?,
        (None, Some(latched)) => serde_json::from_str(latched)
            .map_err(|_| Fault::internal("The session's client tools are unreadable."))?,
        (None, None) => {
            let defaults = &material.conversation.tools.of_client;
            defaults.iter().map(default_tool).collect::<Result<_, _>>()?
        }
    };
    let received = turn.tools.as_ref().map(|_| serde_json::to_string(&client_tools));
    let received_tools =
        received.transpose().map_err(|_| Fault::unwritable("A part of the turn"))?;
    let mut warnings = ToolWarnings::default();
    let server = server_tools(material, &mut warnings)?;
    let hosted = hosted_tools(material.conversation, material.mode);
    let are_received = turn.tools.is_some();
    let mut faults = Vec::new();
    let tools = match merge_tools(client_tools, server, hosted, are_received, &mut warnings) {
        Ok(tools) => tools,
        Err(room) => {
            let message = format!(
                "A turn has at most {MOST_TOOLS} tools, those of the server included: ToolsJson has room for {room}."
            );
            faults.push(Fault::new(ErrorCode::InvalidField, message).at("/ToolsJson"));
            ToolList::default()
        }
    };
    let choice = turn.tool_choice_name.as_deref();
    if faults.is_empty() && choice.is_some_and(|name| tools.get(name).is_none()) {
        let problem = "must name an offered tool, and none of that name is offered";
        faults.push(Fault::invalid_member("ToolChoiceName", problem));
    }
    let mut messages = compose_messages(turn, material)?;
    messages.user_warnings.extend(warnings.for_user);
    Ok(ComposedTurn { messages, tools, warnings: warnings.for_client, received_tools, faults })
}
