//! Deletes an erased session's responses at the model service.

use futures_util::future::join_all;

use super::exchange::endpoint;
use crate::catalog::AgentContext;
use crate::llm_call::delete_response;
use crate::ports::{Deployment, Platform};

/// Deletions at the same time; the runtime opens at most six connections at once.
const AT_ONCE: usize = 5;

/// Asks the model service to delete responses, and returns the ids of those that it no longer holds.
pub(crate) async fn delete_responses<P: Platform>(
    platform: &P,
    deployment: &Deployment,
    agent: &AgentContext,
    ids: &[String],
) -> Vec<String> {
    // Without its headers the service would refuse every deletion.
    let Ok(endpoint) = endpoint(platform, deployment, agent) else { return Vec::new() };
    let mut gone = Vec::new();
    for some in ids.chunks(AT_ONCE) {
        let deleted =
            join_all(some.iter().map(|id| delete_response(platform, &endpoint, id))).await;
        gone.extend(some.iter().zip(deleted).filter(|(_, gone)| *gone).map(|(id, _)| id.clone()));
    }
    gone
}
