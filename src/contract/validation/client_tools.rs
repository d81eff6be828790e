//! Reading a client's tool definitions, the text of `ToolsJson` (interface §2).
//!
//! It owns the two accepted spellings, the flat one and the nested one of Chat Completions, and
//! converts both into one. Reports give the pointer of the text, and a label that begins at
//! `tools[0]`.

use std::collections::BTreeSet;

use super::reader::Reader;
use crate::contract::{ClientTool, ToolParameters, limits};
use crate::json::{Node, ObjectShape, Place, for_each_element};

const FLAT: ObjectShape =
    ObjectShape::new(&["type", "name", "description", "parameters", "strict"], &["type", "name"]);

const NESTED: ObjectShape = ObjectShape::new(&["type", "function"], &["type", "function"]);

const FUNCTION: ObjectShape =
    ObjectShape::new(&["name", "description", "parameters", "strict"], &["name"]);

impl Reader {
    /// Reads `ToolsJson`, a string that holds the tools.
    pub(super) fn client_tools(&mut self, node: Node<'_, '_>) -> Option<Vec<ClientTool>> {
        let text = self.text(limits::TOOLS_JSON, node)?;
        if !self.holds_json(&text, "a JSON array", node) {
            return None;
        }
        let inside = Place::Embedded(&node.place, "tools");
        let mut tools = Vec::new();
        let mut names = BTreeSet::new();
        let mut count = 0;
        let walked = for_each_element(&text, |json| {
            if count < limits::TOOLS {
                let tool = Node { json, place: Place::Element(&inside, count) };
                tools.extend(client_tool(tool, &mut names, self));
            }
            count += 1;
        });
        if walked.is_err() {
            return self.refuse(node, "must hold a JSON array of function tools");
        }
        if count > limits::TOOLS {
            self.invalid(node, &format!("must hold at most {} tools, not {count}", limits::TOOLS));
        }
        Some(tools)
    }
}

fn client_tool(
    node: Node<'_, '_>,
    names: &mut BTreeSet<String>,
    reader: &mut Reader,
) -> Option<ClientTool> {
    let (mut name, mut description, mut parameters, mut strict) = (None, None, None, None);
    let mut member = |member: &str, node: Node<'_, '_>, reader: &mut Reader| match member {
        "type" => tool_type(node, reader),
        "name" => name = tool_name(node, names, reader),
        "description" => description = reader.text(limits::TOOL_DESCRIPTION, node),
        "parameters" => parameters = schema(node, reader),
        "strict" => strict = reader.flag(node),
        _ => {}
    };
    if node.find("function").is_some() {
        NESTED.read(node, reader, |name, node, reader| match name {
            "type" => tool_type(node, reader),
            "function" => FUNCTION.read(node, reader, &mut member),
            _ => {}
        });
    } else {
        FLAT.read(node, reader, member);
    }
    Some(ClientTool { name: name?, description, parameters, strict })
}

fn tool_type(node: Node<'_, '_>, reader: &mut Reader) {
    if node.as_text().as_deref() != Some("function") {
        reader.invalid(node, "must be \"function\"");
    }
}

fn tool_name(
    node: Node<'_, '_>,
    names: &mut BTreeSet<String>,
    reader: &mut Reader,
) -> Option<String> {
    let name = reader.plain_name(limits::TOOL_NAME, node)?;
    if !names.insert(name.clone()) {
        reader.invalid(node, "repeats the name of an earlier tool; give each tool its own");
    }
    Some(name)
}

fn schema(node: Node<'_, '_>, reader: &mut Reader) -> Option<ToolParameters> {
    let object = node.is_object().then(|| ToolParameters::compact(node.json).ok()).flatten();
    object.or_else(|| reader.refuse(node, "must be a JSON Schema object"))
}
