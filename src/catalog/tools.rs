//! Reading tools: definitions of server tools (interface §6) and of a conversation context's default
//! client tools, in the model service's own flat shape (interface §2, `ToolsJson`), and the names by which
//! modes and contexts choose tools that the server runs.
//!
//! Composition decides which tools a turn offers.

use serde_json::{Map, Value};

use super::approval::{APPROVE_TOOL, Approval, approval};
use super::definitions::{BuiltInTool, OnError};
use super::findings::{Findings, Seen};
use super::http_endpoint::{HttpService, is_host};
use super::names::{is_tool_name, quoted};
use super::tool_parameters::tool_parameters;
use super::values::{
    CHOICE_BYTES, checked_text, choice, each_once, filled_prose, flag, matching_text, prose,
    reference, tool_list, undeclared_problem, word,
};
use super::written_once::WrittenOnce;
use crate::json::{Kind, Node, declared_object};

declared_object! {
    /// A tool the server runs by an HTTP call.
    pub struct ServerTool by Findings {
        "Name" required => name: String = tool_name(),
        /// What the model reads to choose this tool; not blank.
        "Description" required => description: String = filled_prose(CHOICE_BYTES),
        "Parameters" = later(),
        /// Whether the model service holds the model to the parameters. Every object schema must then say
        /// additionalProperties: false and require all of its properties.
        "Strict" => strict: bool = flag(),
        /// What a failure does: FailTurn ends the turn, ReportToModel gives the error to the model as the tool's
        /// output.
        "OnError" => on_error: OnError = word(OnError::ALL),
        "Approval" => approval: Option<Approval> = approval(),
        /// Whether calls of it may run at once with neighbouring calls that may, too. Beside Approval Always it has no
        /// effect.
        "Parallel" => parallel: bool = flag(),
        /// POST {ToolCallId, Name, Arguments, SessionId, TurnId}; in a session of a user also User, since two users may
        /// have sessions of one id, and Actor, where there is one. The JSON answer is the tool's result.
        "Http" required => http: HttpService = http_service(),
        /// Hosts, without scheme and port: the tool's result may hand the model pictures and files at their addresses.
        /// Others make the result a failure of the tool; data: URLs are always taken.
        "FileHosts" => file_hosts: Vec<String> = file_hosts(),
        /// Whether the tool's result may name files that the model service keeps, by their file_id. Otherwise one makes
        /// the result a failure of the tool.
        "FileIds" => file_ids: bool = flag(),
        /// Whether it gets the place of the call in its client's trace (W3C Trace Context): an HTTP tool in the headers
        /// traceparent and tracestate, an MCP server in params._meta.
        "TraceContext" => trace_context: bool = flag(),
    } with {
        /// A JSON Schema that always says `"type": "object"` and has `properties`.
        pub parameters: Map<String, Value>,
        /// As the model service takes it.
        pub definition: WrittenOnce,
    }
}

declared_object! {
    /// A tool the client runs, in the model service's flat shape.
    pub struct ClientToolDefinition by Findings {
        "type" required = choice([("function", ())]),
        "name" required => name: String = tool_name(),
        "description" => description: Option<String> = prose(CHOICE_BYTES),
        "parameters" = later(),
        /// Whether the model service holds the model to the parameters.
        "strict" => strict: bool = flag(),
    } with {
        /// As those of a server tool.
        pub parameters: Map<String, Value>,
    }
}

/// The tools that a conversation context names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextTools {
    /// Those of sessions none of whose requests had any.
    pub of_client: Vec<ClientToolDefinition>,
    /// Tools of MCP servers that every turn offers, written as in a mode.
    pub of_servers: Vec<String>,
}

/// The parameters of a tool: their rules depend on whether it is strict, which may follow them.
fn later(_: Node<'_, '_>, _: &mut Findings) {}

/// `ServerTools`: names are unique and not built-in.
pub(super) fn server_tools(node: Node<'_, '_>, findings: &mut Findings) -> Vec<ServerTool> {
    let (mut tools, mut names) = (Vec::new(), Seen::new());
    node.elements(findings, |node, findings| {
        take_name(node, "Name", &mut names, findings);
        let tool = ServerTool::read(node, findings);
        let parameters = tool_parameters(node, "Parameters", tool.strict, findings);
        tools.push(ServerTool { parameters, ..tool });
    });
    tools
}

/// The name of a tool that the server runs, or `server/tool` or `server/*`. Only an MCP server itself knows its tools.
pub(super) fn server_side_tool(node: Node<'_, '_>, findings: &mut Findings) -> String {
    let text = node.as_text();
    let Some((server, tool)) = text.as_deref().and_then(|text| text.split_once('/')) else {
        return reference(node, "server tool", |declared| &declared.tools, findings);
    };
    let declared = findings.declared();
    let is_named = is_mcp_tool_name(tool) && (tool == "*" || !tool.contains('*'));
    checked_text(node, findings, |_| match is_named {
        true => undeclared_problem("MCP server", server, &declared.mcp_servers),
        false => Some("must have * alone behind its /, or the tool's whole name".to_owned()),
    })
}

/// Whether an MCP server could have a tool of that name, or of names that match that pattern: 1 to 256 bytes
/// without control characters.
pub(super) fn is_mcp_tool_name(name: &str) -> bool {
    (1..=256).contains(&name.len()) && !name.chars().any(char::is_control)
}

/// `ConversationContext.Tools`: client tools, whose names are unique within the list and not built-in, and tools of
/// MCP servers by their names.
pub(super) fn context_tools(node: Node<'_, '_>, findings: &mut Findings) -> ContextTools {
    let mut tools = ContextTools::default();
    let (mut names, mut references) = (Seen::new(), Seen::new());
    tool_list(node, findings, |node, findings| {
        if node.kind() != Kind::String {
            take_name(node, "name", &mut names, findings);
            let tool = ClientToolDefinition::read(node, findings);
            let parameters = tool_parameters(node, "parameters", tool.strict, findings);
            return tools.of_client.push(ClientToolDefinition { parameters, ..tool });
        }
        findings.unique(node, "tool", &mut references);
        if node.as_text().is_none_or(|text| text.contains('/')) {
            tools.of_servers.push(server_side_tool(node, findings));
        } else {
            let problem = "must be a client tool, or \"server/tool\" or \"server/*\" of an MCP server; server \
                           tools are named by modes";
            findings.fault(node, problem);
        }
    });
    tools
}

/// `FileHosts` of a tool, or of an agent context.
pub(super) fn file_hosts(node: Node<'_, '_>, findings: &mut Findings) -> Vec<String> {
    let remedy = "must be a host alone, without scheme, port and path, such as files.example.com";
    let host = |node: Node<'_, '_>, findings: &mut Findings| {
        Some(matching_text(node, is_host, remedy, findings))
    };
    each_once(node, "host", findings, host).0
}

fn http_service(node: Node<'_, '_>, findings: &mut Findings) -> HttpService {
    let service = HttpService::read(node, findings);
    service.check(node, findings);
    service
}

/// Each tool of a list has a name of its own, its `member`.
fn take_name<'d>(tool: Node<'d, '_>, member: &str, names: &mut Seen<'d>, findings: &mut Findings) {
    if let Some(name) = tool.find(member) {
        findings.unique(name, "name", names);
    }
}

fn tool_name(node: Node<'_, '_>, findings: &mut Findings) -> String {
    let name = matching_text(node, is_tool_name, "must be 1 to 64 of A-Z a-z 0-9 _ -", findings);
    if BuiltInTool::parse(&name).is_some() || name == APPROVE_TOOL {
        let name = quoted(&name);
        findings
            .fault(node, format!("{name} is a tool of the product itself; choose another name"));
    }
    name
}
