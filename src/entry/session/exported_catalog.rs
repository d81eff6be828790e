//! The part of the catalog that an export holds: the settings that decide how a session's turns go on, and the modes
//! as the model and the client see them. Instructions stand with the calls that sent them. Addresses, headers and the
//! names of secrets are not exported.

use serde::Serialize;

use crate::catalog::{AgentContext, Catalog, CompactionBy, Mode};
use crate::ports::Deployment;

/// The catalog as it was when the export was made.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ExportedCatalog<'a> {
    resend_tools: bool,
    max_iterations: u32,
    budget: Budget,
    compaction: Compaction,
    /// Absent where the service is offered them.
    #[serde(skip_serializing_if = "Option::is_none")]
    offer_hosted_tools: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fallbacks: Vec<Fallback<'a>>,
    modes: Vec<ExportedMode<'a>>,
}

/// In tokens.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Budget {
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_tokens_per_day: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_tokens_per_month: Option<u64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Compaction {
    /// As the catalog spells it.
    by: &'static str,
    /// In tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold: Option<u32>,
}

/// An agent context whose model service takes calls over.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Fallback<'a> {
    agent_context_id: &'a str,
    resend_tools: bool,
    offer_hosted_tools: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct ExportedMode<'a> {
    key: &'a str,
    display_name: &'a str,
    when_to_use: &'a str,
    welcome_message: &'a str,
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
            budget: Budget {
                turn_tokens: agent.budget.turn_tokens,
                session_tokens: agent.budget.session_tokens,
                user_tokens_per_day: agent.budget.user_tokens_per_day,
                user_tokens_per_month: agent.budget.user_tokens_per_month,
            },
            compaction: Compaction {
                by: match agent.compaction.by {
                    CompactionBy::Own => "Own",
                    CompactionBy::Service => "Service",
                    CompactionBy::None => "None",
                },
                threshold: agent.compaction.threshold,
            },
            modes: catalog.modes().iter().map(mode).collect(),
        })
    }
}
