//! Reading tools: definitions of server tools (interface §6) and of a conversation context's default
//! client tools, in the model service's own flat shape (interface §2, `ToolsJson`), and the names by which
//! modes and contexts choose tools that the server runs.
//!
//! Composition decides which tools a turn offers.

use std::borrow::Cow;

use super::approval::{APPROVE_TOOL, approval};
use super::definitions::{BuiltInTool, ClientToolDefinition, OnError, ServerTool};
use super::findings::{Findings, Seen};
use super::http_endpoint::is_host;
use super::names::{is_tool_name, quoted};
use super::tool_parameters::tool_parameters;
use super::values::{
    CHOICE_BYTES, checked_text, choice, filled_prose, flag, matching_text, prose, reference,
    tool_list, undeclared_problem,
};
use crate::json::{Kind, Node, ObjectShape};

const SERVER_TOOL: ObjectShape = ObjectShape::new(
    &[
        "Name",
        "Description",
        "Parameters",
        "Strict",
        "OnError",
        "Approval",
        "Parallel",
        "Http",
        "FileHosts",
        "FileIds",
        "TraceContext",
    ],
    &["Name", "Description", "Http"],
);

const HTTP: ObjectShape = ObjectShape::new(&["Url", "Headers", "TimeoutMs"], &["Url"]);

const CLIENT_TOOL: ObjectShape =
    ObjectShape::new(&["type", "name", "description", "parameters", "strict"], &["type", "name"]);

/// `ServerTools`: names are unique and not built-in.
pub(super) fn server_tools(node: Node<'_, '_>, findings: &mut Findings) -> Vec<ServerTool> {
    let mut tools = Vec::new();
    let mut names = Seen::new();
    node.elements(findings, |node, findings| tools.push(server_tool(node, &mut names, findings)));
    tools
}

/// The tools that the document declares for the server to run.
#[derive(Default)]
pub(super) struct ServerSide<'d> {
    /// Server tools and built-in tools.
    pub(super) tools: Vec<Cow<'d, str>>,
    /// The keys of MCP servers.
    pub(super) mcp_servers: Vec<Cow<'d, str>>,
}

impl ServerSide<'_> {
    /// The name of a tool, or `server/tool` or `server/*`. Only the server itself knows its tools.
    pub(super) fn reference(&self, node: Node<'_, '_>, findings: &mut Findings) -> String {
        let text = node.as_text();
        let Some((server, tool)) = text.as_deref().and_then(|text| text.split_once('/')) else {
            return reference(node, "server tool", &self.tools, findings);
        };
        checked_text(node, findings, |_| match is_mcp_tool_name(tool) {
            true => undeclared_problem("MCP server", server, &self.mcp_servers),
            false => Some("must have * behind its /, or the tool's name".to_owned()),
        })
    }
}

/// Whether an MCP server could have a tool of that name, or of names that match that pattern: 1 to 256 bytes
/// without control characters.
pub(super) fn is_mcp_tool_name(name: &str) -> bool {
    (1..=256).contains(&name.len()) && !name.chars().any(char::is_control)
}

/// `ConversationContext.Tools`: client tools, whose names are unique within the list and not built-in, and tools of
/// MCP servers by their names.
pub(super) fn context_tools(
    node: Node<'_, '_>,
    declared: &ServerSide<'_>,
    findings: &mut Findings,
) -> (Vec<ClientToolDefinition>, Vec<String>) {
    let (mut client, mut of_servers) = (Vec::new(), Vec::new());
    let (mut names, mut references) = (Seen::new(), Seen::new());
    tool_list(node, findings, |node, findings| {
        if node.kind() != Kind::String {
            return client.push(client_tool(node, &mut names, findings));
        }
        findings.unique(node, "tool", &mut references);
        if node.as_text().is_none_or(|text| text.contains('/')) {
            of_servers.push(declared.reference(node, findings));
        } else {
            let problem = "must be a client tool, or \"server/tool\" or \"server/*\" of an MCP server; server \
                           tools are named by modes";
            findings.fault(node, problem);
        }
    });
    (client, of_servers)
}

fn server_tool<'d>(
    node: Node<'d, '_>,
    names: &mut Seen<'d>,
    findings: &mut Findings,
) -> ServerTool {
    let mut tool = ServerTool::default();
    SERVER_TOOL.read(node, findings, |member, node, findings| match member {
        "Name" => tool.name = tool_name(node, names, findings),
        "Description" => tool.description = filled_prose(node, CHOICE_BYTES, findings),
        "Strict" => tool.strict = flag(node, findings),
        "OnError" => {
            let choices =
                [("FailTurn", OnError::FailTurn), ("ReportToModel", OnError::ReportToModel)];
            tool.on_error = choice(node, choices, findings);
        }
        "Approval" => tool.approval = approval(node, findings),
        "Parallel" => tool.parallel = flag(node, findings),
        "Http" => {
            HTTP.read(node, findings, |name, node, findings| tool.http.take(name, node, findings));
            tool.http.check(node, findings);
        }
        "FileHosts" => tool.file_hosts = file_hosts(node, findings),
        "FileIds" => tool.file_ids = flag(node, findings),
        "TraceContext" => tool.trace_context = flag(node, findings),
        // `Parameters` is read below: its rules depend on `Strict`, which may follow it.
        _ => {}
    });
    tool.parameters = tool_parameters(node, "Parameters", tool.strict, findings);
    tool
}

/// `FileHosts` of a tool, or of an agent context.
pub(super) fn file_hosts(node: Node<'_, '_>, findings: &mut Findings) -> Vec<String> {
    let (mut hosts, mut seen) = (Vec::new(), Seen::new());
    node.elements(findings, |node, findings| {
        findings.unique(node, "host", &mut seen);
        let remedy =
            "must be a host alone, without scheme, port and path, such as files.example.com";
        hosts.push(matching_text(node, is_host, remedy, findings));
    });
    hosts
}

fn client_tool<'d>(
    node: Node<'d, '_>,
    names: &mut Seen<'d>,
    findings: &mut Findings,
) -> ClientToolDefinition {
    let mut tool = ClientToolDefinition::default();
    CLIENT_TOOL.read(node, findings, |member, node, findings| match member {
        "type" => choice(node, [("function", ())], findings),
        "name" => tool.name = tool_name(node, names, findings),
        "description" => tool.description = Some(prose(node, CHOICE_BYTES, findings)),
        "strict" => tool.strict = flag(node, findings),
        // `parameters` is read below: its rules depend on `strict`, which may follow it.
        _ => {}
    });
    tool.parameters = tool_parameters(node, "parameters", tool.strict, findings);
    tool
}

fn tool_name<'d>(node: Node<'d, '_>, names: &mut Seen<'d>, findings: &mut Findings) -> String {
    findings.unique(node, "name", names);
    let name = matching_text(node, is_tool_name, "must be 1 to 64 of A-Z a-z 0-9 _ -", findings);
    if BuiltInTool::parse(&name).is_some() || name == APPROVE_TOOL {
        let name = quoted(&name);
        findings
            .fault(node, format!("{name} is a tool of the product itself; choose another name"));
    }
    name
}
