//! The tool list of a turn (AGN-011 §4): merged once, frozen until the turn ends.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::tool_definition::ToolDefinition;
use crate::contract::Warning;

/// A tool's name, its definition as the model service takes it, and who runs it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OfferedTool {
    /// Unique within the list.
    pub name: String,
    /// The product runs it itself.
    pub on_server: bool,
    /// `{type:"function", name, description?, parameters, strict}`.
    pub definition: Box<RawValue>,
}

/// The tools that a turn offers, in the order in which they are sent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolList(pub Vec<OfferedTool>);

impl ToolList {
    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&OfferedTool> {
        self.0.iter().find(|tool| tool.name == name)
    }
}

/// A tool list and what had to give way in it.
#[derive(Clone, Debug)]
pub struct MergedTools {
    /// The list.
    pub list: ToolList,
    /// One for each client tool that a server tool replaced.
    pub warnings: Vec<Warning>,
}

/// Client tools in their order, then server tools. One name, one tool: the server's wins, because
/// what it does has been approved by the operator.
pub fn merge_tools(client: Vec<ToolDefinition>, server: Vec<ToolDefinition>) -> MergedTools {
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
            list.push(OfferedTool { name, on_server: false, definition });
        }
    }
    for (name, definition) in server {
        if !list.iter().any(|tool: &OfferedTool| tool.name == name) {
            list.push(OfferedTool { name, on_server: true, definition });
        }
    }
    MergedTools { list: ToolList(list), warnings }
}
