//! Tool definitions of the catalog: server tools (interface §6) and a conversation context's default
//! client tools, in the model service's own flat shape (interface §2, `ToolsJson`).
//!
//! Which tools a turn offers is decided by composition, not here.

use super::check::{CHOICE_BYTES, named, prose, stated_prose, tool_list};
use super::names::{is_tool_name, quoted};
use super::place::{Place, read_all, refuse_repeats};
use super::{
    BUILT_IN_TOOLS, FunctionTool, HttpTool, OnError, ServerTool, http_endpoint, parameters,
};

/// `ServerTools`: names are unique and not built-in.
pub(super) fn server_tools(place: &Place<'_>) -> Option<Vec<ServerTool>> {
    let places = place.items()?;
    refuse_repeats("name", places.iter().filter_map(|tool| tool.member("Name")));
    read_all(&places, server_tool)
}

/// `ConversationContext.Tools`: names are unique within the list and not built-in.
pub(super) fn function_tools(place: &Place<'_>) -> Option<Vec<FunctionTool>> {
    let places = tool_list(place)?;
    refuse_repeats("name", places.iter().filter_map(|tool| tool.member("name")));
    read_all(&places, function_tool)
}

fn server_tool(place: &Place<'_>) -> Option<ServerTool> {
    let members =
        place.members(&["Name", "Description", "Parameters", "Strict", "OnError", "Http"])?;
    let name = members.required("Name", tool_name);
    let description = members.required("Description", |place| stated_prose(place, CHOICE_BYTES));
    let strict = members.optional("Strict", Place::flag);
    let is_strict = strict.flatten().unwrap_or(false);
    let parameters = members.optional("Parameters", |place| parameters::read(place, is_strict));
    let on_error = members.optional("OnError", |place| {
        place.choice(&[("FailTurn", OnError::FailTurn), ("ReportToModel", OnError::ReportToModel)])
    });
    let http = members.required("Http", http_tool);
    strict?;
    Some(ServerTool {
        name: name?,
        description: description?,
        parameters: parameters?.unwrap_or_else(parameters::none),
        strict: is_strict,
        on_error: on_error?.unwrap_or(OnError::FailTurn),
        http: http?,
    })
}

fn http_tool(place: &Place<'_>) -> Option<HttpTool> {
    http_endpoint::read(&place.members(&["Url", "Headers", "TimeoutMs"])?)
}

fn function_tool(place: &Place<'_>) -> Option<FunctionTool> {
    let members = place.members(&["type", "name", "description", "parameters", "strict"])?;
    let kind = members.required("type", |place| place.choice(&[("function", ())]));
    let name = members.required("name", tool_name);
    let description = members.optional("description", |place| prose(place, CHOICE_BYTES));
    let strict = members.optional("strict", Place::flag);
    let is_strict = strict.flatten().unwrap_or(false);
    let parameters = members.optional("parameters", |place| parameters::read(place, is_strict));
    kind?;
    strict?;
    Some(FunctionTool {
        name: name?,
        description: description?,
        parameters: parameters?.unwrap_or_else(parameters::none),
        strict: is_strict,
    })
}

fn tool_name(place: &Place<'_>) -> Option<String> {
    let name = named(place, is_tool_name, "must be 1 to 64 of A-Z a-z 0-9 _ -")?;
    if BUILT_IN_TOOLS.contains(&name.as_str()) {
        place.fault(format!(
            "{} is a tool of the product itself; choose another name",
            quoted(&name)
        ));
        return None;
    }
    Some(name)
}
