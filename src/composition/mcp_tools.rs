//! The tools of MCP servers that modes and conversation contexts name as `server/tool` or `server/*`
//! (interface §11): the names by which the model sees them, and the warnings about tools that are left out.

use super::tool_definition::definition;
use super::tool_list::{McpTool, OfferedTool, ToolWarnings};
use crate::catalog::McpServer;
use crate::contract::{Result, UserWarning};
use crate::encoding::sha256_hex;
use crate::mcp::{AllowedTools, ChangedTool, ListedTool, ProtocolEra, Reach, ToolsByServer};

/// The longest name of a function, in bytes.
const NAME_BYTES: usize = 64;

/// The part of a hash that makes names differ which begin alike.
const HASH_DIGITS: usize = 8;

/// The tools that `{key}/{wanted}` means.
pub(super) fn mcp_tools(
    key: &str,
    wanted: &str,
    server: &McpServer,
    tools_by_server: &ToolsByServer,
    warnings: &mut ToolWarnings,
) -> Result<Vec<OfferedTool>> {
    let unreachable = AllowedTools::default();
    let allowed = tools_by_server.iter().find(|(known, _)| known == key);
    let allowed = allowed.map_or(&unreachable, |(_, allowed)| allowed.as_ref());
    match allowed.reach {
        Reach::Unreachable => {
            warnings.warn_user(UserWarning::McpServerUnreachable { server: key });
            return Ok(Vec::new());
        }
        Reach::Stale => warnings.warn_client(
            "tool_list_stale",
            format!("The tools of {key} are those of before: the server could not be reached."),
        ),
        Reach::Reached => {}
    }
    let is_wanted = |name: &str| wanted == "*" || wanted == name;
    for ChangedTool { name, .. } in allowed.changed.iter().filter(|tool| is_wanted(&tool.name)) {
        let text = format!(
            "The tool {key}/{name} was left out: its server has changed it since it was pinned."
        );
        warnings.warn_client("tool_changed", text);
    }
    let offer = |tool: &ListedTool| {
        let name = name_of(key, &tool.name);
        let description = tool.description.as_deref();
        let definition = definition(&name, description, &tool.input_schema, false)?;
        let approval = server.approval(&tool.name).cloned();
        let era = allowed.era.map_or("", ProtocolEra::as_str).to_owned();
        let mcp = McpTool { server: key.to_owned(), tool: tool.name.clone(), era };
        let parallel = server.is_parallel(&tool.name);
        Ok(OfferedTool { mcp: Some(mcp), ..OfferedTool::of_server(definition, approval, parallel) })
    };
    let wanted_tools = allowed.tools.iter().filter(|tool| is_wanted(&tool.name));
    let offered: Vec<OfferedTool> = wanted_tools.map(offer).collect::<Result<_>>()?;
    let is_changed = || allowed.changed.iter().any(|tool| tool.name == wanted);
    if wanted != "*" && offered.is_empty() && !is_changed() {
        warnings.warn_user(UserWarning::McpToolMissing { server: key, tool: wanted });
    }
    Ok(offered)
}

/// The name by which the model sees a tool: `{server}__{tool}`. Where that would not be a function's name, or where
/// another server's key and tool would give the same, it ends with a part of the hash of the whole name.
fn name_of(server: &str, tool: &str) -> String {
    let plain = format!("{server}__{tool}");
    let is_of_names =
        |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    let is_name = plain.len() <= NAME_BYTES && plain.chars().all(is_of_names);
    if is_name && plain.split_once("__") == Some((server, tool)) {
        return plain;
    }
    let of_names =
        plain.chars().map(|character| if is_of_names(character) { character } else { '_' });
    let beginning: String = of_names.take(NAME_BYTES - HASH_DIGITS - 1).collect();
    let hash = sha256_hex(format!("{server}/{tool}").as_bytes());
    format!("{beginning}_{}", hash.get(..HASH_DIGITS).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_name_is_plain_where_it_can_be_and_no_two_are_the_same() {
        let long = "a".repeat(60);
        let mut names = BTreeSet::new();
        for (server, tool, name) in [
            ("docs", "search", "docs__search"),
            ("docs", "read-file_2", "docs__read-file_2"),
            ("docs", "a__b", "docs__a__b"),
            ("docs__a", "b", "docs__a__b_"),
            ("docs_", "b", "docs___b_"),
            ("docs", "_b", "docs___b"),
            ("docs", "a.b", "docs__a_b_"),
            ("docs", "a/b", "docs__a_b_"),
            ("docs", "a_b", "docs__a_b"),
            ("docs", "s\u{fc}\u{1f600}", "docs__s___"),
            ("docs", &"a".repeat(58), &format!("docs__{}", "a".repeat(58))),
            ("docs", &long, &format!("docs__{}_", "a".repeat(49))),
            ("docs", &format!("{long}b"), &format!("docs__{}_", "a".repeat(49))),
        ] {
            let made = name_of(server, tool);
            assert!(made.starts_with(name), "{made}");
            let hashed = made.len() - name.len();
            assert!(hashed == if name.ends_with('_') { HASH_DIGITS } else { 0 }, "{made}");
            assert!(made.len() <= 64 && names.insert(made), "{server}/{tool}");
        }
    }
}
