//! The part of the catalog that an export holds: the settings that decide how a session's turns go on, and the modes
//! as the model and the client see them. Instructions stand with the calls that sent them. Addresses, headers and the
//! names of secrets are not exported.

use crate::catalog::{AgentContext, Budget, Catalog, Compaction, Mode};
use crate::contract::shown;
use crate::ports::Deployment;

shown! {
    /// The catalog as it was when the export was made.
    pub(super) struct ExportedCatalog<'a> {
        resend_tools: bool,
        max_iterations: u32,
        /// In tokens.
        budget: &'a Budget,
        compaction: &'a Compaction,
        /// Absent where the service is offered them.
        offer_hosted_tools?: Option<bool>,
        fallbacks?: Vec<Fallback<'a>>,
        modes: Vec<ExportedMode<'a>>,
    }

    /// An agent context whose model service takes calls over.
    struct Fallback<'a> {
        agent_context_id: &'a str,
        resend_tools: bool,
        offer_hosted_tools: bool,
    }

    struct ExportedMode<'a> {
        key: &'a str,
        display_name: &'a str,
        when_to_use: &'a str,
        welcome_message: &'a str,
    }
}

impl<'a> ExportedCatalog<'a> {
    /// The part that concerns a session of this agent context; `None` where the catalog lacks it.
    pub(super) fn of(catalog: &'a Catalog, id: &str, deployment: &Deployment) -> Option<Self> {
        let services = catalog.services(id);
        let ((_, agent), fallbacks) = services.split_first()?;
        let fallback = |(id, agent): &(&'a str, &AgentContext)| Fallback {
            agent_context_id: id,
            resend_tools: agent.resend_tools,
            offer_hosted_tools: agent.offer_hosted_tools,
        };
        let mode = |mode: &'a Mode| ExportedMode {
            key: &mode.key,
            display_name: &mode.display_name,
            when_to_use: &mode.when_to_use,
            welcome_message: &mode.welcome_message,
        };
        Some(Self {
            offer_hosted_tools: (!agent.offer_hosted_tools).then_some(false),
            fallbacks: fallbacks.iter().map(fallback).collect(),
            resend_tools: agent.resend_tools,
            max_iterations: agent.max_iterations.unwrap_or(deployment.max_iterations),
            budget: &agent.budget,
            compaction: &agent.compaction,
            modes: catalog.modes.iter().map(mode).collect(),
        })
    }
}
