//! Deletes what the model service has stored of an erased session.

use futures_util::future::join_all;

use super::endpoint::endpoint;
use crate::catalog::AgentContext;
use crate::llm_call::delete_response;
use crate::ports::{Deployment, Platform};

/// Responses that are deleted at the same time: the runtime opens six connections at once.
const AT_ONCE: usize = 5;

/// Has the model service delete responses, and gives the ids of those that it holds no longer.
pub async fn delete_responses<P: Platform>(
    platform: &P,
    deployment: &Deployment,
    agent: &AgentContext,
    ids: &[String],
) -> Vec<String> {
    let endpoint = endpoint(platform, deployment, agent);
    let mut gone = Vec::new();
    for some in ids.chunks(AT_ONCE) {
        let deleted =
            join_all(some.iter().map(|id| delete_response(platform, &endpoint, id))).await;
        gone.extend(some.iter().zip(deleted).filter(|(_, gone)| *gone).map(|(id, _)| id.clone()));
    }
    gone
}
