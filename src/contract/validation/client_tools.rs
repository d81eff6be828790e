//! Reading a client's tool definitions, the text of `ToolsJson` (interface §2).
//!
//! It owns the two accepted spellings, the flat one and the nested one of Chat Completions, and
//! makes them one. What is wrong inside the text is reported at the text, and named from
//! `tools[0]` on.

use std::collections::BTreeSet;

use super::values::{full_text, text};
use super::violations::Violations;
use crate::contract::limits;
use crate::contract::request::{ClientTool, ToolParameters};
use crate::json::{
    DEPTH_LIMIT, Malformed, Node, ObjectShape, Place, check, for_each_element, not_json,
};

const FLAT: ObjectShape =
    ObjectShape::new(&["type", "name", "description", "parameters", "strict"], &["type", "name"]);

const NESTED: ObjectShape = ObjectShape::new(&["type", "function"], &["type", "function"]);

const FUNCTION: ObjectShape =
    ObjectShape::new(&["name", "description", "parameters", "strict"], &["name"]);

/// Reads `tools_json`, the text of the string at `node`.
pub(super) fn client_tools(
    tools_json: &str,
    node: Node<'_, '_>,
    found: &mut Violations,
) -> Option<Vec<ClientTool>> {
    match check(tools_json) {
        Err(Malformed::TooDeep { .. }) => {
            found.invalid(node, &format!("must not nest more than {DEPTH_LIMIT} levels deep"));
            return None;
        }
        Err(Malformed::NotJson(error)) => {
            let problem = format!("must hold a JSON array; it is {}", not_json(&error));
            found.invalid(node, &problem);
            return None;
        }
        Ok(()) => {}
    }
    let inside = Place::Embedded(&node.place, "tools");
    let mut tools = Vec::new();
    let mut names = BTreeSet::new();
    let mut count = 0;
    let walked = for_each_element(tools_json, |json| {
        if count < limits::TOOLS {
            let tool = Node { json, place: Place::Element(&inside, count) };
            tools.extend(client_tool(tool, &mut names, found));
        }
        count += 1;
    });
    if walked.is_err() {
        found.invalid(node, "must hold a JSON array of function tools");
        return None;
    }
    if count > limits::TOOLS {
        found.invalid(node, &format!("must hold at most {} tools, not {count}", limits::TOOLS));
    }
    Some(tools)
}

fn client_tool(
    node: Node<'_, '_>,
    names: &mut BTreeSet<String>,
    found: &mut Violations,
) -> Option<ClientTool> {
    let mut tool = Draft::default();
    // The Chat Completions way of spelling a tool: its definition is in a member `function`.
    if node.find("function").is_some() {
        NESTED.read(node, found, |name, node, found| match name {
            "type" => tool_type(node, found),
            _ => FUNCTION.read(node, found, |name, node, found| {
                tool.take(name, node, names, found);
            }),
        });
    } else {
        FLAT.read(node, found, |name, node, found| tool.take(name, node, names, found));
    }
    Some(ClientTool {
        name: tool.name?,
        description: tool.description,
        parameters: tool.parameters,
        strict: tool.strict,
    })
}

/// The members of one tool, read so far.
#[derive(Default)]
struct Draft {
    name: Option<String>,
    description: Option<String>,
    parameters: Option<ToolParameters>,
    strict: Option<bool>,
}

impl Draft {
    fn take(
        &mut self,
        member: &str,
        node: Node<'_, '_>,
        names: &mut BTreeSet<String>,
        found: &mut Violations,
    ) {
        match member {
            "type" => tool_type(node, found),
            "name" => self.name = tool_name(node, names, found),
            "description" => self.description = text(limits::TOOL_DESCRIPTION, node, found),
            "parameters" => self.parameters = parameters(node, found),
            _ => self.strict = node.flag(found),
        }
    }
}

fn tool_type(node: Node<'_, '_>, found: &mut Violations) {
    if node.as_text().as_deref() != Some("function") {
        found.invalid(node, "must be \"function\"");
    }
}

fn tool_name(
    node: Node<'_, '_>,
    names: &mut BTreeSet<String>,
    found: &mut Violations,
) -> Option<String> {
    let name = full_text(limits::TOOL_NAME, node, found)?;
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')) {
        found.invalid(node, "must be 1 to 64 of the letters A-Z a-z, the digits, _ and - only");
        return None;
    }
    if !names.insert(name.clone()) {
        found.invalid(node, "repeats the name of an earlier tool; give each tool its own");
    }
    Some(name)
}

fn parameters(node: Node<'_, '_>, found: &mut Violations) -> Option<ToolParameters> {
    let is_object = node.is_object();
    let parameters = is_object.then(|| ToolParameters::compact(node.json).ok()).flatten();
    if parameters.is_none() {
        found.invalid(node, "must be a JSON Schema object");
    }
    parameters
}
