//! The model service of an agent context.

use crate::catalog::AgentContext;
use crate::llm_call::Endpoint;
use crate::ports::{Deployment, Platform};

/// The address and the key of an agent context's model service, by the catalog or else the deployment.
pub(super) fn endpoint<P: Platform>(
    platform: &P,
    deployment: &Deployment,
    agent: &AgentContext,
) -> Endpoint {
    Endpoint {
        base_url: agent.base_url.clone().unwrap_or_else(|| deployment.base_url.clone()),
        api_key: agent.api_key_secret.as_deref().and_then(|name| platform.secret(name)),
        idle_timeout_ms: deployment.upstream_idle_timeout_ms,
    }
}
