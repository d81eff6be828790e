//! How a catalog is asked: its contexts, modes and tools by their names.

use super::definitions::{AgentContext, Catalog, ConversationContext, McpServer, Mode, ServerTool};

impl Catalog {
    /// The agent contexts and their ids, in the ids' order; at least one.
    pub fn agent_contexts(&self) -> impl Iterator<Item = (&str, &AgentContext)> {
        self.agent_contexts.iter().map(|(id, context)| (id.as_str(), context))
    }

    /// The conversation contexts under which turns can run, and their ids, in the ids' order; at least one.
    pub fn conversation_contexts(&self) -> impl Iterator<Item = (&str, &ConversationContext)> {
        let contexts = self.conversation_contexts.iter();
        contexts
            .filter(|(_, context)| context.is_whole())
            .map(|(id, context)| (id.as_str(), context))
    }

    /// The agent context of that id.
    pub fn agent_context(&self, id: &str) -> Option<&AgentContext> {
        self.agent_contexts.get(id)
    }

    /// The conversation context of that id; `None` for one that has nothing but its `Instead`.
    pub fn conversation_context(&self, id: &str) -> Option<&ConversationContext> {
        self.conversation_contexts.get(id).filter(|context| context.is_whole())
    }

    /// The mode of that key.
    pub fn mode(&self, key: &str) -> Option<&Mode> {
        self.modes.iter().find(|mode| mode.key == key)
    }

    /// The name by which clients see a mode; the default mode's when the key is no longer known.
    pub fn display_name(&self, key: &str) -> &str {
        &self.mode(key).unwrap_or(&self.default_mode).display_name
    }

    /// The MCP server of that key.
    pub fn mcp_server(&self, key: &str) -> Option<&McpServer> {
        Some(&self.mcp_servers.iter().find(|(known, _)| known == key)?.1)
    }

    /// The keys of all MCP servers, in the order of the document.
    pub fn mcp_servers(&self) -> impl Iterator<Item = &str> {
        self.mcp_servers.iter().map(|(key, _)| key.as_str())
    }

    /// The server tool of that name; built-in tools are not among them.
    pub fn server_tool(&self, name: &str) -> Option<&ServerTool> {
        self.server_tools.iter().find(|tool| tool.name == name)
    }
}
