//! Reading `McpServers` (interface §11).

use super::approval::{Approval, approval};
use super::definitions::{HttpService, McpServer, OnError};
use super::findings::{Findings, Seen};
use super::names::is_mcp_server_key;
use super::tools::is_mcp_tool_name;
use super::values::{choice, entries, flag, matching_text};
use crate::encoding::{is_sent_openly, is_sha256, sha256_hex};
use crate::json::{Node, ObjectShape};

const MCP_SERVER: ObjectShape = ObjectShape::new(
    &[
        "Url",
        "Headers",
        "TimeoutMs",
        "Allow",
        "Approval",
        "Parallel",
        "Pins",
        "OnError",
        "TraceContext",
    ],
    &["Url"],
);

/// For a call, in milliseconds. It is the default of the protocol's own clients.
const TIMEOUT_MS: u64 = 60_000;

const NAME: &str = "must be a tool's name: 1 to 256 bytes without control characters";

/// `McpServers`, by their keys.
pub(super) fn mcp_servers(node: Node<'_, '_>, findings: &mut Findings) -> Vec<(String, McpServer)> {
    let mut servers = Vec::new();
    entries(node, findings, |key, node, findings| {
        if !is_mcp_server_key(key) {
            findings.fault(node, "the key must be 1 to 32 of A-Z a-z 0-9 _ -");
        }
        servers.push((key.to_owned(), mcp_server(node, findings)));
    });
    servers
}

fn mcp_server(node: Node<'_, '_>, findings: &mut Findings) -> McpServer {
    let http = HttpService { timeout_ms: TIMEOUT_MS, ..HttpService::default() };
    let mut server = McpServer {
        http,
        on_error: OnError::ReportToModel,
        fingerprint: sha256_hex(node.json.as_bytes()),
        ..McpServer::default()
    };
    MCP_SERVER.read(node, findings, |member, node, findings| match member {
        "Allow" => server.allow = Some(patterns(node, findings)),
        "Approval" => server.approvals = by_pattern(node, approval, findings),
        "Parallel" => server.parallels = by_pattern(node, flag, findings),
        "Pins" => server.pins = pins(node, findings),
        "TraceContext" => server.trace_context = flag(node, findings),
        "OnError" => {
            let choices =
                [("FailTurn", OnError::FailTurn), ("ReportToModel", OnError::ReportToModel)];
            server.on_error = choice(node, choices, findings);
        }
        "Url" => {
            server.http.take(member, node, findings);
            if is_sent_openly(&server.http.url) {
                findings
                    .fault(node, "must begin with https://, unless the server is on this machine");
            }
        }
        "Headers" | "TimeoutMs" => server.http.take(member, node, findings),
        _ => {}
    });
    server
}

impl McpServer {
    /// Whether its headers name the user.
    pub fn names_user(&self) -> bool {
        self.http.headers.iter().any(|header| header.value.names_user())
    }

    /// Whether the catalog lets a tool of that name be offered.
    pub fn allows(&self, tool: &str) -> bool {
        let allow = self.allow.as_ref();
        allow.is_none_or(|patterns| patterns.iter().any(|pattern| matches(pattern, tool)))
    }

    /// The hash that the definition of the tool of that name must have.
    pub fn pin(&self, tool: &str) -> Option<&str> {
        let pinned = self.pins.iter().find(|(name, _)| name == tool);
        pinned.map(|(_, hash)| hash.as_str())
    }

    /// How a human is asked before the tool of that name runs; `None` when it runs unasked.
    pub fn approval(&self, tool: &str) -> Option<&Approval> {
        first_match(&self.approvals, tool)?.as_ref()
    }

    /// Whether calls of the tool of that name may run beside others that may.
    pub fn is_parallel(&self, tool: &str) -> bool {
        first_match(&self.parallels, tool).is_some_and(|parallel| *parallel)
    }
}

/// What the first pattern says that matches a name.
fn first_match<'s, T>(by_pattern: &'s [(String, T)], name: &str) -> Option<&'s T> {
    by_pattern.iter().find(|(pattern, _)| matches(pattern, name)).map(|(_, said)| said)
}

/// Whether a name is the pattern with some text in the place of each `*`.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let tail = parts.pop().unwrap_or_default();
    // The first occurrence of a part leaves the most room for the parts behind it.
    for part in parts {
        let Some((_, behind)) = name.split_once(part) else { return false };
        name = behind;
    }
    name.ends_with(tail)
}

fn patterns(node: Node<'_, '_>, findings: &mut Findings) -> Vec<String> {
    let (mut patterns, mut seen) = (Vec::new(), Seen::new());
    let count = node.elements(findings, |node, findings| {
        findings.unique(node, "pattern", &mut seen);
        patterns.push(matching_text(node, is_mcp_tool_name, NAME, findings));
    });
    if count == Some(0) {
        findings.fault(node, "would leave no tool; name one, or leave \"Allow\" out to offer all");
    }
    patterns
}

/// What is said of tools by patterns of their names, in the document's order.
fn by_pattern<T>(
    node: Node<'_, '_>,
    read: fn(Node<'_, '_>, &mut Findings) -> T,
    findings: &mut Findings,
) -> Vec<(String, T)> {
    let mut said = Vec::new();
    entries(node, findings, |pattern, node, findings| {
        check_name(pattern, node, findings);
        said.push((pattern.to_owned(), read(node, findings)));
    });
    said
}

fn check_name(name: &str, node: Node<'_, '_>, findings: &mut Findings) {
    if !is_mcp_tool_name(name) {
        findings.fault(node, NAME);
    }
}

fn pins(node: Node<'_, '_>, findings: &mut Findings) -> Vec<(String, String)> {
    let mut pins = Vec::new();
    entries(node, findings, |tool, node, findings| {
        check_name(tool, node, findings);
        let remedy = "must be a SHA-256: 64 digits of lower-case hex";
        pins.push((tool.to_owned(), matching_text(node, is_sha256, remedy, findings)));
    });
    pins
}
