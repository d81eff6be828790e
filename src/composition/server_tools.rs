//! The tools of a turn that the server runs (AGN-011 §4): the two that are built in, the operator's own, and those of
//! MCP servers.

use super::mcp_tools::mcp_tools;
use super::tool_definition::{change_mode, list_modes, server_tool};
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
                let written = catalog.change_mode_definition.or_write(|| change_mode(catalog))?;
                let name = BuiltInTool::ChangeMode.as_str().to_owned();
                offered.push(OfferedTool::of_server((name, written), None, false));
            }
            NamedTool::BuiltIn(BuiltInTool::ListModes) => {
                offered.push(OfferedTool::of_server(list_modes()?, None, false));
            }
            NamedTool::Server(tool) => {
                let written = tool.definition.or_write(|| server_tool(tool))?;
                let definition = (tool.name.clone(), written);
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
