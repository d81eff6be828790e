//! The objects of a catalog, and where the published schema, `catalog.schema.json`, has each. A test holds that to them.

use super::agent_context::HttpRetrieval;
use super::approval::ApprovalRule;
use super::definitions::{
    AgentContext, Budget, Catalog, ClientToolDefinition, Compaction, ConversationContext,
    Embeddings, HttpService, McpServer, Mode, Retrieval, ServerTool, Webhook,
};
use super::rollout::Rollout;
use crate::json::{Declaration, DeclaredObject};

/// Every object whose members are declared, by its place in the schema: a JSON Pointer.
pub fn declarations() -> [(&'static str, Declaration); 16] {
    [
        ("", Catalog::declaration()),
        ("/$defs/AgentContext", AgentContext::declaration()),
        ("/$defs/AgentContext/properties/Compaction", Compaction::declaration()),
        ("/$defs/AgentContext/properties/Budget", Budget::declaration()),
        ("/$defs/IndexRetrieval", Retrieval::declaration()),
        ("/$defs/Embeddings", Embeddings::declaration()),
        ("/$defs/HttpRetrieval", HttpRetrieval::declaration()),
        ("/$defs/ConversationContext", ConversationContext::declaration()),
        ("/$defs/ConversationContext/properties/Rollout", Rollout::declaration()),
        ("/$defs/FunctionTool", ClientToolDefinition::declaration()),
        ("/$defs/Mode", Mode::declaration()),
        ("/$defs/ServerTool", ServerTool::declaration()),
        ("/$defs/ServerTool/properties/Http", HttpService::declaration()),
        ("/$defs/Webhook", Webhook::declaration()),
        ("/$defs/McpServer", McpServer::declaration()),
        ("/$defs/Approval/anyOf/1", ApprovalRule::declaration()),
    ]
}
