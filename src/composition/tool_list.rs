//! The tool list of a turn (AGN-011 §4): merged once, frozen until the turn ends.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::tool_definition::ToolDefinition;
use crate::catalog::{APPROVE_TOOL, Approval};
use crate::contract::{Fault, Warning};

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
    /// How a human is asked before the server runs it: `{AllowEdit, Message?}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Box<RawValue>>,
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

/// Client tools in their order, then server tools, then those that the model service runs. When both have a
/// tool of one name, the server's is offered, because the operator has approved it. A warning names each
/// client tool that is left out. `approval_of` tells how a human is asked about a server tool; the turn keeps
/// to it, whatever becomes of the catalog.
pub(super) fn merge_tools<'a>(
    client: Vec<ToolDefinition>,
    server: Vec<ToolDefinition>,
    hosted: Vec<ToolDefinition>,
    approval_of: impl Fn(&str) -> Option<&'a Approval>,
) -> Result<(ToolList, Vec<Warning>), Fault> {
    let mut warnings = Vec::new();
    let mut list: Vec<OfferedTool> = Vec::with_capacity(client.len() + server.len());
    let plain = |(name, definition), hosted| OfferedTool {
        name,
        on_server: false,
        hosted,
        approval: None,
        definition,
    };
    for tool in client {
        let name = &tool.0;
        if name == APPROVE_TOOL {
            let message = format!(
                "The client's tool {name} was left out: by this name the service asks for approval."
            );
            warnings.push(Warning::new("tool_reserved", message));
        } else if server.iter().any(|(taken, _)| taken == name) {
            let message = format!(
                "The client's tool {name} was replaced by the server's tool of the same name."
            );
            warnings.push(Warning::new("tool_replaced", message));
        } else {
            list.push(plain(tool, false));
        }
    }
    for tool in server {
        if !list.iter().any(|known| known.name == tool.0) {
            let approval = approval_of(&tool.0).map(to_raw_value).transpose();
            let approval = approval.map_err(|_| Fault::unwritable("A tool definition"))?;
            list.push(OfferedTool { on_server: true, approval, ..plain(tool, false) });
        }
    }
    list.extend(hosted.into_iter().map(|tool| plain(tool, true)));
    Ok((ToolList(list), warnings))
}
