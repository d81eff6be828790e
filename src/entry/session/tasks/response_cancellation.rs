//! Has the model service cancel a background response that nobody reads any more (interface §4, Background responses).

use serde_json::json;

use super::SessionTasks;
use crate::catalog::Catalog;
use crate::llm_call::{Endpoint, cancel_response};
use crate::object::{Next, Task};
use crate::ports::{Database, Platform};

/// How often the model service is asked to cancel a response: at once, and three times by the alarm.
const MAX_ATTEMPTS: u32 = 4;

impl<P: Platform, D: Database + 'static> SessionTasks<P, D> {
    /// Asks the service to cancel the response that the task is called by. `work` is the agent context, and with it the
    /// model service, that the response was made under.
    pub(super) async fn cancel(&self, task: &Task) -> Next {
        // An invalid catalog names no model service, so nobody can be asked yet.
        let Ok(catalog) = &self.context.catalog else { return self.wait() };
        if self.is_answered(task, catalog).await {
            return Next::Done;
        }
        let platform = self.host.platform.as_ref();
        if task.attempts.saturating_add(1) < MAX_ATTEMPTS {
            return Next::Again(self.host.again_at(&self.context));
        }
        platform.log(json!({
            "event": "cancel_failed", "level": "warn", "agent_context": task.work,
        }));
        Next::GivenUp
    }

    /// Asks the service; false where nobody can be asked, or there was no answer.
    async fn is_answered(&self, task: &Task, catalog: &Catalog) -> bool {
        let Some(agent) = catalog.agent_context(&task.work) else { return false };
        let platform = self.host.platform.as_ref();
        let Ok(endpoint) = Endpoint::of(platform, &self.context.deployment, agent) else {
            return false;
        };
        cancel_response(platform, &endpoint, &task.id).await
    }
}
