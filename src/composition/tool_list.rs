//! The tool list of a turn (AGN-011 §4): merged once, frozen until the turn ends.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::tool_definition::ToolDefinition;
use crate::contract::Warning;

/// A tool that a turn offers to the model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OfferedTool {
    /// Unique among the functions of the list. Of a hosted tool, its type.
    pub name: String,
    /// The server runs it; otherwise the client does, or the model service.
    pub on_server: bool,
    /// The model service runs it by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hosted: bool,
    /// `{type:"function", name, description?, parameters, strict}`, or a hosted tool as the catalog writes it.
    pub definition: Box<RawValue>,
}

/// The tools that a turn offers, in the order in which they are sent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolList(pub Vec<OfferedTool>);

impl ToolList {
    /// The function of that name.
    pub fn get(&self, name: &str) -> Option<&OfferedTool> {
        self.0.iter().find(|tool| tool.name == name && !tool.hosted)
    }
}

/// Client tools in their order, then server tools, then those that the model service runs. When client and
/// server have a tool of one name, the server's is offered, because the operator has approved it; a warning
/// names each client tool that it replaces.
pub(super) fn merge_tools(
    client: Vec<ToolDefinition>,
    server: Vec<ToolDefinition>,
    hosted: Vec<ToolDefinition>,
) -> (ToolList, Vec<Warning>) {
    let mut warnings = Vec::new();
    let mut list = Vec::with_capacity(client.len() + server.len());
    for (name, definition) in client {
        if server.iter().any(|(taken, _)| *taken == name) {
            warnings.push(Warning::new(
                "tool_replaced",
                format!(
                    "The client's tool {name} was replaced by the server's tool of the same name."
                ),
            ));
        } else {
            list.push(OfferedTool { name, on_server: false, hosted: false, definition });
        }
    }
    for (name, definition) in server {
        if !list.iter().any(|tool: &OfferedTool| tool.name == name) {
            list.push(OfferedTool { name, on_server: true, hosted: false, definition });
        }
    }
    let hosted = hosted.into_iter();
    list.extend(hosted.map(|(name, definition)| OfferedTool {
        name,
        on_server: false,
        hosted: true,
        definition,
    }));
    (ToolList(list), warnings)
}
