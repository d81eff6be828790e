//! Tools as the model service takes them (AGN-003 §5): flat, `strict` always explicit. Those that the model service
//! runs by itself are written as the catalog has them.

use serde::Serialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::catalog::{
    BuiltInTool, Catalog, ClientToolDefinition, ConversationContext, Mode, ServerTool,
};
use crate::contract::{ClientTool, Fault, Result};
use crate::responses_api::FunctionTool;

/// A tool's name and its definition.
pub(super) type ToolDefinition = (String, Box<RawValue>);

/// A tool of `ToolsJson`.
pub(super) fn client_tool(tool: &ClientTool) -> Result<ToolDefinition> {
    let description = tool.description.as_deref();
    let strict = tool.strict.unwrap_or(false);
    match &tool.parameters {
        Some(parameters) => definition(&tool.name, description, parameters, strict),
        // The service requires `parameters` even of a tool that takes nothing.
        None => {
            let none = json!({ "type": "object", "properties": {} });
            definition(&tool.name, description, &none, strict)
        }
    }
}

/// A tool that a conversation context offers in sessions whose client never sent any.
pub(super) fn default_tool(tool: &ClientToolDefinition) -> Result<ToolDefinition> {
    definition(&tool.name, tool.description.as_deref(), &tool.parameters, tool.strict)
}

/// The tools that the model service runs by itself: the conversation context's, then the mode's, which goes
/// before one of the same kind.
pub(super) fn hosted_tools(conversation: &ConversationContext, mode: &Mode) -> Vec<ToolDefinition> {
    let mode = &mode.hosted_tools;
    let own = conversation.hosted_tools.iter();
    let own = own.filter(|tool| !mode.iter().any(|other| other.is_same(tool)));
    own.chain(mode).map(|tool| (tool.kind.clone(), tool.json.clone())).collect()
}

/// A tool of the operator's.
pub(super) fn server_tool(tool: &ServerTool) -> Result<Box<RawValue>> {
    written(&tool.name, Some(&tool.description), &tool.parameters, tool.strict)
}

/// `agent_change_mode`, which describes every mode.
pub(super) fn change_mode(catalog: &Catalog) -> Result<Box<RawValue>> {
    let keys: Vec<&str> = catalog.modes.iter().map(|mode| mode.key.as_str()).collect();
    let parameters = json!({
        "type": "object",
        "properties": {
            "mode": { "type": "string", "enum": keys, "description": "Key of the mode to change to." },
            "branch": {
                "type": "boolean",
                "description": "True when the user wants to go on in a new session; normally false."
            },
            "reason": { "type": "string", "description": "Why, in one sentence." }
        },
        "required": ["mode", "branch", "reason"],
        "additionalProperties": false
    });
    let uses: Vec<String> = catalog
        .modes
        .iter()
        .map(|mode| format!("{} ({}): {}", mode.key, mode.display_name, mode.when_to_use))
        .collect();
    let description = format!(
        "Changes the mode of this session when the user asks for it or the task clearly needs it. Modes: {}",
        uses.join(" ")
    );
    written(BuiltInTool::ChangeMode.as_str(), Some(&description), &parameters, false)
}

/// `agent_list_modes`.
pub(super) fn list_modes() -> Result<ToolDefinition> {
    let parameters = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let description = "Lists the modes of this service: key, display name, and when to use each.";
    definition(BuiltInTool::ListModes.as_str(), Some(description), &parameters, false)
}

/// A function, under a name that is one.
pub(super) fn definition(
    name: &str,
    description: Option<&str>,
    parameters: &impl Serialize,
    strict: bool,
) -> Result<ToolDefinition> {
    Ok((name.to_owned(), written(name, description, parameters, strict)?))
}

fn written(
    name: &str,
    description: Option<&str>,
    parameters: &impl Serialize,
    strict: bool,
) -> Result<Box<RawValue>> {
    let parameters = to_raw_value(parameters);
    let function = parameters.and_then(|parameters| {
        to_raw_value(&FunctionTool { name, description, parameters: &parameters, strict })
    });
    function.map_err(|_| Fault::unwritable("A tool definition"))
}
