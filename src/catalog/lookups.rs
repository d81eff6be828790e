//! How a catalog is asked: its contexts, modes, tools, services and webhooks by their names.

use super::agent_context::AgentContext;
use super::definitions::DEFAULT_CONTEXT;
use super::document::{Catalog, ConversationContext};
use super::embeddings::Embeddings;
use super::mcp_servers::McpServer;
use super::modes::Mode;
use super::tools::ServerTool;
use super::webhook_event::WebhookEvent;
use super::webhooks::Webhook;
use crate::encoding::Jurisdiction;

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

    /// The agent contexts whose services the sessions of one call, with their ids: itself, and behind it its fall-backs in
    /// their order. Empty where the catalog lacks it.
    pub fn services(&self, id: &str) -> Vec<(&str, &AgentContext)> {
        let named = |id: &str| self.agent_contexts.get_key_value(id);
        let Some((id, own)) = named(id) else { return Vec::new() };
        let fallbacks = own.fallbacks.iter().filter_map(|id| named(id));
        let services = [(id, own)].into_iter().chain(fallbacks);
        services.map(|(id, agent)| (id.as_str(), agent)).collect()
    }

    /// The services by which workspaces are embedded: one for each model with its dimensions, that of the
    /// `default` contexts first. Of a tenant with a jurisdiction, those that are there.
    pub fn embeddings(&self, jurisdiction: Option<Jurisdiction>) -> Vec<&Embeddings> {
        let default = self.goes_on_under(DEFAULT_CONTEXT).map(|(_, context)| context);
        let default = default.and_then(|context| self.agent_context(&context.agent_context_id));
        let mut services: Vec<&Embeddings> = Vec::new();
        for context in default.into_iter().chain(self.agent_contexts.values()) {
            let Some(embeddings) = &context.retrieval.embeddings else { continue };
            if jurisdiction.is_some_and(|needed| !embeddings.resides(needed)) {
                continue;
            }
            if !services.iter().any(|known| known.makes(&embeddings.model, embeddings.dimensions)) {
                services.push(embeddings);
            }
        }
        services
    }

    /// All webhooks and their names, in the order of the document.
    pub fn webhooks(&self) -> impl Iterator<Item = (&str, &Webhook)> {
        self.webhooks.iter().map(|(name, webhook)| (name.as_str(), webhook))
    }

    /// The webhook of that name.
    pub fn webhook(&self, name: &str) -> Option<&Webhook> {
        self.webhooks().find(|(known, _)| *known == name).map(|(_, webhook)| webhook)
    }

    /// The webhooks of a conversation context that are told an event.
    pub fn webhooks_of(
        &self,
        conversation_context: &str,
        event: WebhookEvent,
    ) -> impl Iterator<Item = (&str, &Webhook)> {
        let context = self.conversation_context(conversation_context);
        let names = context.into_iter().flat_map(|context| &context.webhooks);
        names.filter_map(move |name| {
            let webhook = self.webhook(name)?;
            webhook.events.contains(&event).then_some((name.as_str(), webhook))
        })
    }
}
