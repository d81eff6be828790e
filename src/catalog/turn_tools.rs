//! What a turn of a session names: its mode, and the tools that the server runs in it (AGN-011 §4).
//!
//! Whoever asks an MCP server for its list, begins a turn or composes its tools asks here, so that no turn
//! names a server whose list nobody has asked for.

use super::definitions::{BuiltInTool, GENERAL_MODE};
use super::document::{Catalog, ConversationContext};
use super::mcp_servers::McpServer;
use super::modes::Mode;
use super::tools::ServerTool;

/// A tool that a turn names, and that the server runs.
#[derive(Clone, Copy, Debug)]
pub enum NamedTool<'a> {
    /// The product's own.
    BuiltIn(BuiltInTool),
    /// The operator's.
    Server(&'a ServerTool),
    /// `server/tool`, or `server/*` for all that the server lists.
    Mcp {
        /// The server's key.
        key: &'a str,
        /// Its definition.
        server: &'a McpServer,
        /// The tool's own name, or `*`.
        tool: &'a str,
    },
}

impl Catalog {
    /// The mode of a session's next turn. `stored` is the key of the session's mode, `None` before its first
    /// turn: that begins in the mode of its conversation context. The default mode takes the place of a mode
    /// that the catalog does not have.
    pub fn turn_mode(&self, stored: Option<&str>, conversation: &ConversationContext) -> &Mode {
        let key = stored.or(conversation.mode.as_deref()).unwrap_or(GENERAL_MODE);
        self.mode(key).unwrap_or(&self.default_mode)
    }

    /// The tools of a turn that the server runs: the mode's, in the mode's order, then those of MCP servers that
    /// the conversation context names; `agent_change_mode` always, last unless the mode places it.
    pub fn named_tools<'a>(
        &'a self,
        mode: &'a Mode,
        conversation: &'a ConversationContext,
    ) -> impl Iterator<Item = NamedTool<'a>> {
        let change_mode = BuiltInTool::ChangeMode.as_str();
        let always = (!mode.tools.iter().any(|name| name == change_mode)).then_some(change_mode);
        let named = mode.tools.iter().chain(&conversation.tools.of_servers).map(String::as_str);
        // The catalog was checked as a whole, so every name is one of these.
        named.chain(always).filter_map(|name| {
            if let Some(tool) = BuiltInTool::parse(name) {
                return Some(NamedTool::BuiltIn(tool));
            }
            match name.split_once('/') {
                None => self.server_tool(name).map(NamedTool::Server),
                Some((key, tool)) => {
                    let server = self.mcp_server(key)?;
                    Some(NamedTool::Mcp { key, server, tool })
                }
            }
        })
    }

    /// The keys of the MCP servers whose tools a turn names, each once.
    pub fn named_servers(&self, mode: &Mode, conversation: &ConversationContext) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        for tool in self.named_tools(mode, conversation) {
            if let NamedTool::Mcp { key, .. } = tool
                && !keys.iter().any(|known| known == key)
            {
                keys.push(key.to_owned());
            }
        }
        keys
    }
}
