//! Deletes an erased session's responses at the model service (interface §9).

use futures_util::future::join_all;

use super::SessionTasks;
use crate::catalog::Catalog;
use crate::contract::Result;
use crate::llm_call::{Deletion, Endpoint, delete_response};
use crate::object::{Next, Task, TaskKind};
use crate::persistence::{DELETION_ATTEMPTS, DeletionState};
use crate::ports::{Database, Deployment, Platform};

/// Deletions at the same time; the runtime opens at most six connections at once.
const AT_ONCE: usize = 5;

/// The number of stored responses that one attempt deletes. The runtime limits the requests of an invocation.
const PER_ATTEMPT: u32 = 200;

impl<P: Platform, D: Database + 'static> SessionTasks<P, D> {
    /// Asks the model service to delete some of the responses, and begins with no more of them after `TURN_ALARM_MS`. Those
    /// that it has not deleted are asked for again, the others first.
    pub(super) async fn delete_responses(&self, task: &Task) -> Result<Next> {
        // Cancellations that are under way end first: a response is cancelled before it is deleted.
        self.host.tasks.idle(TaskKind::Cancel).await;
        let (store, erasures) = (&self.host.store, &self.host.erasures);
        let responses = store.responses_to_delete(PER_ATTEMPT)?;
        if responses.is_empty() {
            return Ok(Next::Done);
        }
        // An invalid catalog names no model service, and nothing counts as an attempt.
        let Ok(catalog) = &self.context.catalog else { return Ok(self.wait()) };
        let (platform, deployment) = (self.host.platform.as_ref(), &self.context.deployment);
        let mut settled = Vec::with_capacity(responses.len());
        let ends_at = self.host.again_at(&self.context);
        for batch in responses.chunks(AT_ONCE) {
            // Whoever waits for the attempt, and the alarm, which the runtime ends after a quarter of an hour, wait for no more.
            if platform.now_ms() >= ends_at {
                break;
            }
            let deletions =
                batch.iter().map(|response| delete(platform, deployment, catalog, response));
            let standings = join_all(deletions).await;
            settled.extend(batch.iter().map(|(id, _)| id.clone()).zip(standings));
        }
        let gives_up = self.host.had_alarms(&self.context, task, DELETION_ATTEMPTS);
        if let Some(receipt) = store.settle_erasure(&settled, gives_up)? {
            erasures.receipt.replace(Some(receipt));
        }
        Ok(if store.has_open_responses()? { self.wait() } else { Next::Done })
    }
}

/// Asks the model service to delete a response, and returns its state: `None` when the service no longer holds it.
async fn delete<P: Platform>(
    platform: &P,
    deployment: &Deployment,
    catalog: &Catalog,
    (id, agent_context): &(String, String),
) -> Option<DeletionState> {
    let Some(agent) = catalog.agent_context(agent_context) else {
        return Some(DeletionState::Unreachable);
    };
    // Without its headers the service would refuse every deletion.
    let Ok(endpoint) = Endpoint::of(platform, deployment, agent) else {
        return Some(DeletionState::Unreachable);
    };
    let lacks = |name: &String| platform.secret(name).is_none();
    if !endpoint.has_key() && agent.api_key_secret.as_ref().is_some_and(lacks) {
        return Some(DeletionState::Unreachable);
    }
    match delete_response(platform, &endpoint, id).await {
        Deletion::Gone => None,
        Deletion::Refused => Some(DeletionState::Refused),
        Deletion::Unanswered => Some(DeletionState::Pending),
    }
}
