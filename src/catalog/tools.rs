//! Reading tool definitions: server tools (interface §6) and a conversation context's default
//! client tools, in the model service's own flat shape (interface §2, `ToolsJson`).
//!
//! Which tools a turn offers is decided by composition, not here.

use serde_json::{Map, Value};

use super::definitions::{BUILT_IN_TOOLS, ClientToolDefinition, OnError, ServerTool};
use super::findings::{Findings, Unique};
use super::http_endpoint::Endpoint;
use super::names::{is_tool_name, quoted};
use super::parameters;
use super::values::{CHOICE_BYTES, choice, named, prose, stated_prose, tool_list};
use crate::json::{Node, ObjectShape};

const SERVER_TOOL: ObjectShape = ObjectShape::new(
    &["Name", "Description", "Parameters", "Strict", "OnError", "Http"],
    &["Name", "Description", "Http"],
);

const HTTP: ObjectShape = ObjectShape::new(&["Url", "Headers", "TimeoutMs"], &["Url"]);

const CLIENT_TOOL: ObjectShape =
    ObjectShape::new(&["type", "name", "description", "parameters", "strict"], &["type", "name"]);

/// `ServerTools`: names are unique and not built-in.
pub(super) fn server_tools(node: Node<'_, '_>, found: &mut Findings) -> Vec<ServerTool> {
    let mut tools = Vec::new();
    let mut names = Unique::new("name");
    node.elements(found, |node, found| tools.extend(server_tool(node, &mut names, found)));
    tools
}

/// `ConversationContext.Tools`: names are unique within the list and not built-in.
pub(super) fn client_tools(node: Node<'_, '_>, found: &mut Findings) -> Vec<ClientToolDefinition> {
    let mut tools = Vec::new();
    let mut names = Unique::new("name");
    tool_list(node, found, |node, found| tools.extend(client_tool(node, &mut names, found)));
    tools
}

fn server_tool<'d>(
    node: Node<'d, '_>,
    names: &mut Unique<'d>,
    found: &mut Findings,
) -> Option<ServerTool> {
    let (mut name, mut description, mut on_error, mut http) = (None, None, None, None);
    let mut strict = false;
    SERVER_TOOL.read(node, found, |member, node, found| match member {
        "Name" => name = tool_name(node, names, found),
        "Description" => description = stated_prose(node, CHOICE_BYTES, found),
        "Strict" => strict = node.flag(found).unwrap_or(false),
        "OnError" => {
            let choices =
                [("FailTurn", OnError::FailTurn), ("ReportToModel", OnError::ReportToModel)];
            on_error = choice(node, &choices, found);
        }
        "Http" => {
            let mut endpoint = Endpoint::default();
            HTTP.read(node, found, |member, node, found| endpoint.take(member, node, found));
            http = endpoint.finish();
        }
        // `Parameters` is read below: its rules depend on `Strict`, which may stand behind it.
        _ => {}
    });
    let parameters = parameters(node, "Parameters", strict, found);
    Some(ServerTool {
        name: name?,
        description: description?,
        parameters: parameters?,
        strict,
        on_error: on_error.unwrap_or(OnError::FailTurn),
        http: http?,
    })
}

fn client_tool<'d>(
    node: Node<'d, '_>,
    names: &mut Unique<'d>,
    found: &mut Findings,
) -> Option<ClientToolDefinition> {
    let (mut name, mut description, mut strict) = (None, None, false);
    CLIENT_TOOL.read(node, found, |member, node, found| match member {
        "type" => drop(choice(node, &[("function", ())], found)),
        "name" => name = tool_name(node, names, found),
        "description" => description = prose(node, CHOICE_BYTES, found),
        "strict" => strict = node.flag(found).unwrap_or(false),
        // `parameters` is read below: its rules depend on `strict`, which may stand behind it.
        _ => {}
    });
    let parameters = parameters(node, "parameters", strict, found);
    Some(ClientToolDefinition { name: name?, description, parameters: parameters?, strict })
}

fn parameters(
    tool: Node<'_, '_>,
    member: &str,
    strict: bool,
    found: &mut Findings,
) -> Option<Map<String, Value>> {
    match tool.find(member) {
        Some(schema) => parameters::read(schema, strict, found),
        None => Some(parameters::none()),
    }
}

fn tool_name<'d>(
    node: Node<'d, '_>,
    names: &mut Unique<'d>,
    found: &mut Findings,
) -> Option<String> {
    names.check(node, found);
    let name = named(node, is_tool_name, "must be 1 to 64 of A-Z a-z 0-9 _ -", found)?;
    if BUILT_IN_TOOLS.contains(&name.as_str()) {
        let name = quoted(&name);
        found.fault(node, format!("{name} is a tool of the product itself; choose another name"));
    }
    Some(name)
}
