//! A client's tools as the model service takes them (AGN-003 §5): flat, `strict` always explicit.

use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::catalog::ClientToolDefinition;
use crate::contract::{ClientTool, Fault};
use crate::responses_api::FunctionTool;

/// A tool's name and its definition.
pub type ToolDefinition = (String, Box<RawValue>);

/// The tools of `ToolsJson`, in their order.
///
/// # Errors
/// `internal` if a definition cannot be written as JSON.
pub fn client_tool_definitions(tools: &[ClientTool]) -> Result<Vec<ToolDefinition>, Fault> {
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
///
/// # Errors
/// `internal` if a definition cannot be written as JSON.
pub fn default_tool_definitions(
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

fn definition(
    name: &str,
    description: Option<&str>,
    parameters: &RawValue,
    strict: bool,
) -> Result<ToolDefinition, Fault> {
    let tool = FunctionTool { name, description, parameters, strict };
    Ok((name.to_owned(), to_raw_value(&tool).map_err(|_| Fault::unwritable("A tool definition"))?))
}
