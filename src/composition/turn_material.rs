//! What a user turn is composed from.

use crate::catalog::{Catalog, ConversationContext, Mode};
use crate::mcp::ToolsByServer;

/// What a turn is composed from, besides the request.
#[derive(Clone, Copy, Debug)]
pub struct TurnMaterial<'a> {
    /// The operator's tools and modes.
    pub catalog: &'a Catalog,
    /// The session's conversation context.
    pub conversation: &'a ConversationContext,
    /// The tools of the MCP servers that mode and conversation context name.
    pub tools_by_server: &'a ToolsByServer,
    pub mode: &'a Mode,
    /// The turn is the first of the session, or under its conversation context, so its messages begin with the boot
    /// prompt.
    pub is_first: bool,
    /// The client tools that the session received last, as `ComposedTurn::received_tools` gave them.
    pub latched_tools: Option<&'a str>,
    /// The session's solution context, when it has to be shown (again).
    pub solution_context: Option<&'a str>,
}
