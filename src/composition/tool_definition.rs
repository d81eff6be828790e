//! Tools as the model service takes them (AGN-003 §5): flat, `strict` always explicit. The client's,
//! the operator's, and the two that are built in.

use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::catalog::{AGENT_CHANGE_MODE, AGENT_LIST_MODES, Catalog, ClientToolDefinition, Mode};
use crate::contract::{ClientTool, Fault};
use crate::responses_api::FunctionTool;

/// A tool's name and its definition.
pub type ToolDefinition = (String, Box<RawValue>);

/// The tools of `ToolsJson`, in their order.
pub(super) fn client_tool_definitions(tools: &[ClientTool]) -> Result<Vec<ToolDefinition>, Fault> {
    // The service wants `parameters` of a tool that takes nothing, too.
    let none = to_raw_value(&json!({ "type": "object", "properties": {} }))
        .map_err(|_| Fault::unwritable("A tool definition"))?;
    tools
        .iter()
        .map(|tool| {
            let parameters = tool.parameters.as_ref().map_or(none.as_ref(), |given| given.as_raw());
            let strict = tool.strict.unwrap_or(false);
            definition(&tool.name, tool.description.as_deref(), parameters, strict)
        })
        .collect()
}

/// The default tools of a conversation context, for sessions whose client never sent any.
pub(super) fn default_tool_definitions(
    tools: &[ClientToolDefinition],
) -> Result<Vec<ToolDefinition>, Fault> {
    tools
        .iter()
        .map(|tool| {
            let parameters = to_raw_value(&tool.parameters)
                .map_err(|_| Fault::unwritable("A tool definition"))?;
            definition(&tool.name, tool.description.as_deref(), &parameters, tool.strict)
        })
        .collect()
}

/// A mode's server tools, in the mode's order; `agent_change_mode` always, last unless the mode
/// places it.
///
/// # Errors
/// `internal` if a definition cannot be written as JSON.
pub fn server_tool_definitions(
    catalog: &Catalog,
    mode: &Mode,
) -> Result<Vec<ToolDefinition>, Fault> {
    let names = mode.tools.iter().map(String::as_str);
    let always =
        (!mode.tools.iter().any(|name| name == AGENT_CHANGE_MODE)).then_some(AGENT_CHANGE_MODE);
    let definitions = names.chain(always).filter_map(|name| match name {
        AGENT_CHANGE_MODE => Some(change_mode_definition(catalog)),
        AGENT_LIST_MODES => Some(list_modes_definition()),
        // The catalog was checked as a whole: a mode names known tools only.
        _ => catalog.server_tool(name).map(|tool| {
            let parameters = to_raw_value(&tool.parameters)
                .map_err(|_| Fault::unwritable("A tool definition"))?;
            definition(name, Some(&tool.description), &parameters, tool.strict)
        }),
    });
    definitions.collect()
}

fn change_mode_definition(catalog: &Catalog) -> Result<ToolDefinition, Fault> {
    let keys: Vec<&str> = catalog.modes().iter().map(|mode| mode.key.as_str()).collect();
    let parameters = to_raw_value(&json!({
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
    }))
    .map_err(|_| Fault::unwritable("A tool definition"))?;
    let uses: Vec<String> = catalog
        .modes()
        .iter()
        .map(|mode| format!("{} ({}): {}", mode.key, mode.display_name, mode.when_to_use))
        .collect();
    let description = format!(
        "Changes the mode of this session when the user asks for it or the task clearly needs it. Modes: {}",
        uses.join(" ")
    );
    definition(AGENT_CHANGE_MODE, Some(&description), &parameters, false)
}

fn list_modes_definition() -> Result<ToolDefinition, Fault> {
    let parameters = to_raw_value(&json!({
        "type": "object", "properties": {}, "additionalProperties": false
    }))
    .map_err(|_| Fault::unwritable("A tool definition"))?;
    let description = "Lists the modes of this service: key, display name, and when to use each.";
    definition(AGENT_LIST_MODES, Some(description), &parameters, false)
}

fn definition(
    name: &str,
    description: Option<&str>,
    parameters: &RawValue,
    strict: bool,
) -> Result<ToolDefinition, Fault> {
    let tool = FunctionTool { name, description, parameters, strict };
    Ok((name.to_owned(), to_raw_value(&tool).map_err(|_| Fault::unwritable("A tool definition"))?))
}
