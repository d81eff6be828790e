//! Reading a client's tool definitions, the text of `ToolsJson` (interface §2).
//!
//! It owns the two accepted spellings, the flat one and the nested one of Chat Completions, and
//! converts both into one. Reports give the pointer of the text, and a label that begins at
//! `tools[0]`.

use std::collections::BTreeSet;

use super::reader::Reader;
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
    reader: &mut Reader,
) -> Option<Vec<ClientTool>> {
    match check(tools_json) {
        Err(Malformed::TooDeep { .. }) => {
            let problem = format!("must not nest more than {DEPTH_LIMIT} levels deep");
            return reader.refuse(node, &problem);
        }
        Err(Malformed::NotJson(error)) => {
            let problem = format!("must hold a JSON array; it is {}", not_json(&error));
            return reader.refuse(node, &problem);
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
            tools.extend(client_tool(tool, &mut names, reader));
        }
        count += 1;
    });
    if walked.is_err() {
        return reader.refuse(node, "must hold a JSON array of function tools");
    }
    if count > limits::TOOLS {
        reader.invalid(node, &format!("must hold at most {} tools, not {count}", limits::TOOLS));
    }
    Some(tools)
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
        "strict" => strict = node.flag(reader),
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
    let name = reader.full_text(limits::TOOL_NAME, node)?;
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')) {
        let problem = "must be 1 to 64 of the letters A-Z a-z, the digits, _ and - only";
        return reader.refuse(node, problem);
    }
    if !names.insert(name.clone()) {
        reader.invalid(node, "repeats the name of an earlier tool; give each tool its own");
    }
    Some(name)
}

fn schema(node: Node<'_, '_>, reader: &mut Reader) -> Option<ToolParameters> {
    let object = node.is_object().then(|| ToolParameters::compact(node.json).ok()).flatten();
    object.or_else(|| reader.refuse(node, "must be a JSON Schema object"))
}
