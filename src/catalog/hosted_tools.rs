//! Reading `HostedTools`: tools that the model service runs by itself (interface §4, §6).
//!
//! A tool is sent as the document writes it: the service knows which members it takes. Tools whose calls a
//! client would have to run or approve are refused, because no client can; so are members that hold secrets,
//! because a session stores and exports its tools.

use serde_json::Value;
use serde_json::value::RawValue;

use super::definitions::HostedTool;
use super::findings::Findings;
use super::names::quoted;
use super::values::{readable, tool_list};
use crate::json::{Node, Problem, Problems};

/// In bytes, as the document writes it. Every call sends it.
const TOOL_BYTES: usize = 64 * 1024;

/// The types that the service does not run by itself, and the remedy.
const REFUSED: [(&str, &str); 9] = [
    ("function", "list it in \"Tools\" of a conversation context"),
    ("custom", NOBODY),
    ("namespace", NOBODY),
    ("computer", NOBODY),
    ("computer_use_preview", NOBODY),
    ("local_shell", NOBODY),
    ("apply_patch", NOBODY),
    ("programmatic_tool_calling", NOBODY),
    ("tool_search", NOBODY),
];

const NOBODY: &str = "its calls would wait for a client that runs them";

/// The members that hold secrets.
const SECRETS: [&str; 2] = ["authorization", "headers"];

pub(super) fn hosted_tools(node: Node<'_, '_>, findings: &mut Findings) -> Vec<HostedTool> {
    let mut tools: Vec<HostedTool> = Vec::new();
    tool_list(node, findings, |node, findings| {
        let Some(tool) = hosted_tool(node, findings) else { return };
        match tools.iter().any(|known| known.is_same(&tool)) {
            true => findings.fault(node, "this tool already stands above"),
            false => tools.push(tool),
        }
    });
    tools
}

fn hosted_tool(node: Node<'_, '_>, findings: &mut Findings) -> Option<HostedTool> {
    if !node.is_object() {
        findings.add(node, Problem::WrongKind("an object"));
        return None;
    }
    if node.json.len() > TOOL_BYTES {
        let length = node.json.len();
        findings.fault(node, format!("is {length} bytes long; the most is {TOOL_BYTES}"));
        return None;
    }
    let tool: Value = readable(node, findings)?;
    let text = |member: &str| tool.get(member).and_then(Value::as_str);
    let Some(kind) = text("type").filter(|kind| !kind.is_empty()) else {
        findings.fault(node, "needs a \"type\", the service's name for the tool");
        return None;
    };
    if let Some((_, remedy)) = REFUSED.iter().find(|(refused, _)| *refused == kind) {
        let kind = quoted(kind);
        findings
            .fault(node, format!("{kind} is no tool that the service runs by itself: {remedy}"));
    }
    let environment = tool.get("environment").filter(|environment| environment.is_object());
    let runs_here = environment
        .is_none_or(|environment| environment.get("type").and_then(Value::as_str) == Some("local"));
    if kind == "shell" && runs_here {
        findings.fault(node, format!("needs a container as its \"environment\": {NOBODY}"));
    }
    if kind == "mcp" && text("require_approval") != Some("never") {
        findings.fault(node, "needs \"require_approval\": \"never\", because nobody could approve");
    }
    for secret in SECRETS {
        if let Some(member) = node.find(secret) {
            findings.fault(member, "could hold a secret, which sessions would keep and export");
        }
    }
    let server_label = text("server_label").map(str::to_owned);
    // A part of a JSON document is JSON.
    let json = RawValue::from_string(node.json.to_owned()).ok()?;
    Some(HostedTool { kind: kind.to_owned(), server_label, json })
}
