//! The tools of a turn that the server runs (AGN-011 §4): the two that are built in, the operator's own, and those of
//! MCP servers.

use super::mcp_tools::mcp_tools;
use super::tool_definition::{change_mode, definition, list_modes};
use super::tool_list::{OfferedTool, ToolWarnings};
use super::turn_material::TurnMaterial;
use crate::catalog::{BuiltInTool, NamedTool};
use crate::contract::Result;

/// The tools that the server runs, in the order in which the catalog names them for the turn.
pub(super) fn server_tools(
    material: &TurnMaterial<'_>,
    warnings: &mut ToolWarnings,
) -> Result<Vec<OfferedTool>> {
    let TurnMaterial { catalog, conversation, mode, tools_by_server, .. } = material;
    let mut offered = Vec::new();
    for named in catalog.named_tools(mode, conversation) {
        match named {
            NamedTool::BuiltIn(BuiltInTool::ChangeMode) => {
                offered.push(OfferedTool::of_server(change_mode(catalog)?, None, false));
            }
            NamedTool::BuiltIn(BuiltInTool::ListModes) => {
                offered.push(OfferedTool::of_server(list_modes()?, None, false));
            }
            NamedTool::Server(tool) => {
                let (description, parameters) = (Some(tool.description.as_str()), &tool.parameters);
                let definition = definition(&tool.name, description, parameters, tool.strict)?;
                let approval = tool.approval.clone();
                offered.push(OfferedTool::of_server(definition, approval, tool.parallel));
            }
            NamedTool::Mcp { key, server, tool } => {
                offered.extend(mcp_tools(key, tool, server, tools_by_server, warnings)?);
            }
        }
    }
    Ok(offered)
}
