//! Reading a client's tool definitions, the text of `ToolsJson` (interface section 2).
//!
//! It owns the two accepted spellings, the flat one and the nested one of Chat Completions, and
//! makes them one. What is wrong inside the text is reported at the text, and named from
//! `tools[0]` on.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use super::json_object::{ObjectShape, for_each_element, for_each_member};
use super::json_value::{flag, full_text, invalid, text};
use super::place::Place;
use super::violations::Violations;
use super::well_formed::{DEPTH_LIMIT, not_json, too_deep_at};
use crate::contract::fault::Fault;
use crate::contract::limits;
use crate::contract::request::{ClientTool, ToolParameters};

const FLAT: ObjectShape = ObjectShape {
    required: &["type", "name"],
    optional: &["description", "parameters", "strict"],
    forbidden: &[],
};

const NESTED: ObjectShape =
    ObjectShape { required: &["type", "function"], optional: &[], forbidden: &[] };

const FUNCTION: ObjectShape = ObjectShape {
    required: &["name"],
    optional: &["description", "parameters", "strict"],
    forbidden: &[],
};

/// Reads tool definitions that come from elsewhere than a request, such as the catalog: a JSON
/// array in the form of `ToolsJson`.
///
/// # Errors
/// Every violation, each naming the tool by its index.
pub fn parse_client_tools(tools_json: &str) -> Result<Vec<ClientTool>, Vec<Fault>> {
    let mut violations = Violations::new();
    let tools = client_tools(tools_json, &Place::Embedded(&Place::Body, "tools"), &mut violations);
    violations.settle(tools)
}

/// Reads the tool definitions in the string at `place`.
pub fn client_tools(
    tools_json: &str,
    place: &Place<'_>,
    violations: &mut Violations,
) -> Option<Vec<ClientTool>> {
    if too_deep_at(tools_json).is_some() {
        let problem = format!("must not nest more than {DEPTH_LIMIT} levels deep");
        invalid(violations, place, &problem);
        return None;
    }
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(tools_json) {
        let problem = format!("must hold a JSON array; it is {}", not_json(&error));
        invalid(violations, place, &problem);
        return None;
    }
    let inside = Place::Embedded(place, "tools");
    let mut tools = Vec::new();
    let mut names = BTreeSet::new();
    let mut count = 0;
    let walked = for_each_element(tools_json, |index, value| {
        count = index + 1;
        if index >= limits::TOOLS {
            return;
        }
        let place = Place::Element(&inside, index);
        tools.extend(client_tool(value, &place, &mut names, violations));
    });
    if walked.is_err() {
        invalid(violations, place, "must hold a JSON array of function tools");
        return None;
    }
    if count > limits::TOOLS {
        let problem = format!("must hold at most {} tools, not {count}", limits::TOOLS);
        invalid(violations, place, &problem);
    }
    Some(tools)
}

fn client_tool(
    value: &RawValue,
    place: &Place<'_>,
    names: &mut BTreeSet<String>,
    violations: &mut Violations,
) -> Option<ClientTool> {
    let mut tool = Draft::default();
    if is_nested(value) {
        NESTED.read(value.get(), place, violations, |name, value, place, found| match name {
            "type" => tool_type(value, place, found),
            _ => FUNCTION.read(value.get(), place, found, |name, value, place, found| {
                tool.take(name, value, place, names, found);
            }),
        });
    } else {
        FLAT.read(value.get(), place, violations, |name, value, place, found| {
            tool.take(name, value, place, names, found);
        });
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
        value: &RawValue,
        place: &Place<'_>,
        names: &mut BTreeSet<String>,
        violations: &mut Violations,
    ) {
        match member {
            "type" => tool_type(value, place, violations),
            "name" => self.name = tool_name(value, place, names, violations),
            "description" => {
                self.description = text(limits::TOOL_DESCRIPTION, value, place, violations)
            }
            "parameters" => self.parameters = parameters(value, place, violations),
            _ => self.strict = flag(value, place, violations),
        }
    }
}

/// Whether the tool is spelt the Chat Completions way: its definition in a member `function`.
fn is_nested(tool: &RawValue) -> bool {
    let mut nested = false;
    // What is not an object has no such member; its kind is reported by whoever reads it.
    let _ = for_each_member(tool.get(), |name, _| nested |= name == "function");
    nested
}

fn tool_type(value: &RawValue, place: &Place<'_>, violations: &mut Violations) {
    if serde_json::from_str::<String>(value.get()).ok().as_deref() != Some("function") {
        invalid(violations, place, "must be \"function\"");
    }
}

fn tool_name(
    value: &RawValue,
    place: &Place<'_>,
    names: &mut BTreeSet<String>,
    violations: &mut Violations,
) -> Option<String> {
    let name = full_text(limits::TOOL_NAME, value, place, violations)?;
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if !is_name {
        invalid(
            violations,
            place,
            "must be 1 to 64 of the letters A-Z a-z, the digits, _ and - only",
        );
        return None;
    }
    if !names.insert(name.clone()) {
        invalid(violations, place, "repeats the name of an earlier tool; give each tool its own");
    }
    Some(name)
}

fn parameters(
    value: &RawValue,
    place: &Place<'_>,
    violations: &mut Violations,
) -> Option<ToolParameters> {
    let parameters = Some(value)
        .filter(|value| value.get().starts_with('{'))
        .and_then(|value| ToolParameters::compact(value).ok());
    if parameters.is_none() {
        invalid(violations, place, "must be a JSON Schema object");
    }
    parameters
}
