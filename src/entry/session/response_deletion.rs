//! Deletes an erased session's responses at the model service (interface §9).

use futures_util::future::join_all;

use crate::catalog::Catalog;
use crate::llm_call::{Deletion, Endpoint, delete_response};
use crate::persistence::{ResponseStanding, StoredResponse};
use crate::ports::{Deployment, Platform};

/// Deletions at the same time; the runtime opens at most six connections at once.
const AT_ONCE: usize = 5;

/// Asks the model service to delete responses, and returns the id of each with its standing: `None`
/// when the service no longer holds it.
pub(super) async fn delete_responses<P: Platform>(
    platform: &P,
    deployment: &Deployment,
    catalog: &Catalog,
    responses: Vec<StoredResponse>,
) -> Vec<(String, Option<ResponseStanding>)> {
    let mut standings = Vec::with_capacity(responses.len());
    for batch in responses.chunks(AT_ONCE) {
        let deletions =
            batch.iter().map(|response| delete(platform, deployment, catalog, response));
        let settled = join_all(deletions).await;
        standings.extend(batch.iter().map(|response| response.id.clone()).zip(settled));
    }
    standings
}

async fn delete<P: Platform>(
    platform: &P,
    deployment: &Deployment,
    catalog: &Catalog,
    response: &StoredResponse,
) -> Option<ResponseStanding> {
    let Some(agent) = catalog.agent_context(&response.agent_context) else {
        return Some(ResponseStanding::Unreachable);
    };
    // Without its headers the service would refuse every deletion.
    let Ok(endpoint) = Endpoint::of(platform, deployment, agent) else {
        return Some(ResponseStanding::Unreachable);
    };
    let lacks = |name: &String| platform.secret(name).is_none();
    if agent.api_key_secret.as_ref().is_some_and(lacks) {
        return Some(ResponseStanding::Unreachable);
    }
    match delete_response(platform, &endpoint, &response.id).await {
        Deletion::Gone => None,
        Deletion::Refused => Some(ResponseStanding::Refused),
        Deletion::Unanswered => Some(ResponseStanding::Pending),
    }
}
