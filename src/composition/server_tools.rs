//! The tools of a turn that the server runs (AGN-011 §4): the two that are built in, the operator's own, and those of
//! MCP servers.

use super::mcp_tools::mcp_tools;
use super::tool_definition::{change_mode, definition, list_modes};
use super::tool_list::{LeftOut, OfferedTool};
use super::turn_material::TurnMaterial;
use crate::catalog::BuiltInTool;
use crate::contract::Fault;

/// The tools that the server runs: the mode's, in the mode's order, then those of MCP servers that the conversation
/// context names; `agent_change_mode` always, last unless the mode places it.
pub(super) fn server_tools(
    material: &TurnMaterial<'_>,
    left_out: &mut LeftOut,
) -> Result<Vec<OfferedTool>, Fault> {
    let TurnMaterial { catalog, conversation, mode, tool_lists, .. } = material;
    let change = BuiltInTool::ChangeMode.as_str();
    let always = (!mode.tools.iter().any(|name| name == change)).then_some(change);
    let named = mode.tools.iter().chain(&conversation.mcp_tools).map(String::as_str);
    let mut offered = Vec::new();
    for name in named.chain(always) {
        let built_in = match BuiltInTool::parse(name) {
            Some(BuiltInTool::ChangeMode) => Some(change_mode(catalog)?),
            Some(BuiltInTool::ListModes) => Some(list_modes()?),
            None => None,
        };
        // The catalog was checked as a whole: only known tools and servers are named.
        if let Some(definition) = built_in {
            offered.push(OfferedTool::of_server(definition, None, None)?);
        } else if let Some(tool) = catalog.server_tool(name) {
            let definition =
                definition(name, Some(&tool.description), &tool.parameters, tool.strict)?;
            offered.push(OfferedTool::of_server(definition, tool.approval.as_ref(), None)?);
        } else if let Some((key, wanted)) = name.split_once('/')
            && let Some(server) = catalog.mcp_server(key)
        {
            offered.extend(mcp_tools(key, wanted, server, tool_lists, left_out)?);
        }
    }
    Ok(offered)
}
