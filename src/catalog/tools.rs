//! Reading tool definitions: server tools (interface §6) and a conversation context's default
//! client tools, in the model service's own flat shape (interface §2, `ToolsJson`).
//!
//! Composition decides which tools a turn offers.

use super::approval::{APPROVE_TOOL, approval};
use super::definitions::{BuiltInTool, ClientToolDefinition, OnError, ServerTool};
use super::findings::{Findings, Seen};
use super::names::{is_tool_name, quoted};
use super::parameters::parameters;
use super::values::{CHOICE_BYTES, choice, flag, named, prose, stated_prose, tool_list};
use crate::json::{Node, ObjectShape};

const SERVER_TOOL: ObjectShape = ObjectShape::new(
    &["Name", "Description", "Parameters", "Strict", "OnError", "Approval", "Http"],
    &["Name", "Description", "Http"],
);

const HTTP: ObjectShape = ObjectShape::new(&["Url", "Headers", "TimeoutMs"], &["Url"]);

const CLIENT_TOOL: ObjectShape =
    ObjectShape::new(&["type", "name", "description", "parameters", "strict"], &["type", "name"]);

/// `ServerTools`: names are unique and not built-in.
pub(super) fn server_tools(node: Node<'_, '_>, found: &mut Findings) -> Vec<ServerTool> {
    let mut tools = Vec::new();
    let mut names = Seen::new();
    node.elements(found, |node, found| tools.push(server_tool(node, &mut names, found)));
    tools
}

/// `ConversationContext.Tools`: names are unique within the list and not built-in.
pub(super) fn client_tools(node: Node<'_, '_>, found: &mut Findings) -> Vec<ClientToolDefinition> {
    let mut tools = Vec::new();
    let mut names = Seen::new();
    tool_list(node, found, |node, found| tools.push(client_tool(node, &mut names, found)));
    tools
}

fn server_tool<'d>(node: Node<'d, '_>, names: &mut Seen<'d>, found: &mut Findings) -> ServerTool {
    let mut tool = ServerTool::default();
    SERVER_TOOL.read(node, found, |member, node, found| match member {
        "Name" => tool.name = tool_name(node, names, found),
        "Description" => tool.description = stated_prose(node, CHOICE_BYTES, found),
        "Strict" => tool.strict = flag(node, found),
        "OnError" => {
            let choices =
                [("FailTurn", OnError::FailTurn), ("ReportToModel", OnError::ReportToModel)];
            tool.on_error = choice(node, choices, found);
        }
        "Approval" => tool.approval = approval(node, found),
        "Http" => HTTP.read(node, found, |name, node, found| tool.http.take(name, node, found)),
        // `Parameters` is read below: its rules depend on `Strict`, which may follow it.
        _ => {}
    });
    tool.parameters = parameters(node, "Parameters", tool.strict, found);
    tool
}

fn client_tool<'d>(
    node: Node<'d, '_>,
    names: &mut Seen<'d>,
    found: &mut Findings,
) -> ClientToolDefinition {
    let mut tool = ClientToolDefinition::default();
    CLIENT_TOOL.read(node, found, |member, node, found| match member {
        "type" => choice(node, [("function", ())], found),
        "name" => tool.name = tool_name(node, names, found),
        "description" => tool.description = Some(prose(node, CHOICE_BYTES, found)),
        "strict" => tool.strict = flag(node, found),
        // `parameters` is read below: its rules depend on `strict`, which may follow it.
        _ => {}
    });
    tool.parameters = parameters(node, "parameters", tool.strict, found);
    tool
}

fn tool_name<'d>(node: Node<'d, '_>, names: &mut Seen<'d>, found: &mut Findings) -> String {
    found.unique(node, "name", names);
    let name = named(node, is_tool_name, "must be 1 to 64 of A-Z a-z 0-9 _ -", found);
    if BuiltInTool::parse(&name).is_some() || name == APPROVE_TOOL {
        let name = quoted(&name);
        found.fault(node, format!("{name} is a tool of the product itself; choose another name"));
    }
    name
}
