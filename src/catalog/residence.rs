//! `Residence` (interface §6): the jurisdictions in which a service keeps what it gets, as the operator says. It is declared,
//! not measured.

use super::agent_context::AgentContext;
use super::definitions::DEFAULT_CONTEXT;
use super::document::Catalog;
use super::embeddings::Embeddings;
use crate::encoding::Jurisdiction;

impl Catalog {
    /// Whether every service of an agent context is in a jurisdiction, those of its fall-backs included: whatever sessions
    /// under it send is then sent there.
    pub fn resides(&self, agent: &AgentContext, jurisdiction: Jurisdiction) -> bool {
        let embeddings = agent.retrieval.embeddings.as_ref();
        let is_there = |agent: &AgentContext| agent.residence.contains(&jurisdiction);
        let mut fallbacks = agent.fallbacks.iter().filter_map(|id| self.agent_context(id));
        is_there(agent)
            && fallbacks.all(is_there)
            && embeddings.is_none_or(|embeddings| embeddings.resides(jurisdiction))
    }

    /// Whether the `default` contexts, by which a workspace is embedded and searched, are in a jurisdiction. So are those of
    /// a catalog without them: nothing is sent.
    pub fn default_resides(&self, jurisdiction: Jurisdiction) -> bool {
        let default = self.goes_on_under(DEFAULT_CONTEXT).map(|(_, context)| context);
        let agent = default.and_then(|context| self.agent_context(&context.agent_context_id));
        agent.is_none_or(|agent| self.resides(agent, jurisdiction))
    }
}

impl Embeddings {
    /// Whether the service is in a jurisdiction.
    pub fn resides(&self, jurisdiction: Jurisdiction) -> bool {
        self.residence.contains(&jurisdiction)
    }
}
