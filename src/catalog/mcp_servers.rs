//! Reading `McpServers` (interface §11).

use super::approval::{Approval, approval};
use super::definitions::OnError;
use super::findings::{Findings, Recipient};
use super::http_endpoint::{self, HttpService, closed_url, headers};
use super::names::is_mcp_server_key;
use super::tools::is_mcp_tool_name;
use super::values::{each_once, flag, integer, matching_text, word};
use crate::encoding::{is_sha256, sha256_hex};
use crate::json::{Node, declared_object, named_values};

/// For a call, in milliseconds. It is the default of the protocol's own clients.
const TIMEOUT_MS: u64 = 60_000;

const NAME: &str = "must be a tool's name: 1 to 256 bytes without control characters";

/// What is wrong with a server's key.
pub(super) fn key_problem(key: &str) -> Option<&'static str> {
    (!is_mcp_server_key(key)).then_some("the key must be 1 to 32 of A-Z a-z 0-9 _ -")
}

pub(super) fn mcp_server(node: Node<'_, '_>, findings: &mut Findings) -> McpServer {
    let fingerprint = sha256_hex(node.json.as_bytes());
    McpServer { fingerprint, ..McpServer::read(node, findings) }
}

declared_object! {
    /// A server of tools that is asked by the Model Context Protocol.
    #[derive(Eq)]
    pub struct McpServer by Findings {
        /// The server's endpoint: https, or http to this machine.
        "Url" required => http.url = closed_url("server"),
        "Headers" => http.headers = headers(Recipient::OtherService),
        "TimeoutMs" => http.timeout_ms = integer(http_endpoint::TIMEOUT_MS) or TIMEOUT_MS,
        /// Names of tools, * standing for any text: only these are offered. Absent: all.
        "Allow" => allow: Option<Vec<String>> = patterns(),
        /// By patterns of tools' names, whether a human is asked before a call runs: the first pattern that matches
        /// decides. A tool that none matches runs unasked.
        "Approval" => approvals: Vec<(String, Option<Approval>)> =
            named_values(pattern_problem, approval),
        /// By patterns of tools' names, whether calls may run at once with neighbouring calls that may, too: the first
        /// pattern that matches decides. A tool that none matches runs alone.
        "Parallel" => parallels: Vec<(String, bool)> = named_values(pattern_problem, flag),
        /// By a tool's name, the SHA-256 of {name, description, inputSchema} in the form of RFC 8785. A tool that no
        /// longer matches is left out.
        "Pins" => pins: Vec<(String, String)> = named_values(pin_problem, hash),
        /// What a fault of the protocol, the connection or the time limit does: FailTurn ends the turn, ReportToModel
        /// gives it to the model as the tool's output.
        "OnError" => on_error: OnError = word(OnError::ALL) or OnError::ReportToModel,
        /// Whether it gets the place of the call in its client's trace (W3C Trace Context): an HTTP tool in the headers
        /// traceparent and tracestate, an MCP server in params._meta.
        "TraceContext" => trace_context: bool = flag(),
    } with {
        /// Its time limit holds for each call.
        pub http: HttpService,
        /// SHA-256 of its definition as the document writes it. What was learnt of a server holds only as long as this
        /// fingerprint stays.
        pub fingerprint: String,
    }
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
    let (patterns, count) = each_once(node, "pattern", findings, |node, findings| {
        Some(matching_text(node, is_mcp_tool_name, NAME, findings))
    });
    if count == Some(0) {
        findings.fault(node, "would leave no tool; name one, or leave \"Allow\" out to offer all");
    }
    patterns
}

fn pattern_problem(name: &str) -> Option<&'static str> {
    (!is_mcp_tool_name(name)).then_some(NAME)
}

/// What is wrong with the name of a tool that has a pin.
fn pin_problem(name: &str) -> Option<&'static str> {
    if name.contains('*') {
        return Some("must be the name of one tool, without *: a pin is of one definition");
    }
    pattern_problem(name)
}

fn hash(node: Node<'_, '_>, findings: &mut Findings) -> String {
    matching_text(node, is_sha256, "must be a SHA-256: 64 digits of lower-case hex", findings)
}
