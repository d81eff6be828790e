//! What a session owes to the outside: the tasks of its object, and what each kind of them does.
//!
//! | task | owed by | file |
//! |---|---|---|
//! | cancel a background response | the step that gives it up | `response_cancellation` |
//! | delete the responses of an erased session | the erasure | `response_deletion` |
//! | become a fork | the request to fork | `fork::copying` |
//! | tell a webhook | the step that ends or pauses a turn | `webhook` |

mod response_cancellation;
mod response_deletion;
mod webhook;

use std::rc::Rc;

use super::session_host::SessionHost;
use crate::contract::Result;
use crate::entry::request_context::RequestContext;
use crate::object::{Attempt, Attempted, Next, Task, TaskHandler, TaskKind};
use crate::ports::{Database, Platform};

/// Does the tasks of a session's object.
pub(super) struct SessionTasks<P, D> {
    host: SessionHost<P, D>,
    context: RequestContext,
}

impl<P: Platform, D: Database + 'static> TaskHandler for SessionTasks<P, D> {
    fn attempt<'a>(&'a self, task: &'a Task) -> Attempt<'a> {
        Box::pin(async move {
            match task.kind {
                TaskKind::Cancel => Ok(self.cancel(task).await.into()),
                TaskKind::Deletion => self.delete_responses(task).await.map(Attempted::from),
                TaskKind::Fork => {
                    self.host.attempt_fork(&self.context, task).await.map(Attempted::from)
                }
                TaskKind::Webhook => self.tell_webhook(task).await,
            }
        })
    }
}

impl<P: Platform, D: Database + 'static> SessionTasks<P, D> {
    /// Comes back after `TURN_ALARM_MS`, without an attempt that the table counts.
    fn wait(&self) -> Next {
        Next::Wait(self.host.again_at(&self.context))
    }
}

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// What attempts the tasks of this instance.
    pub(super) fn session_tasks(&self, context: &RequestContext) -> Rc<SessionTasks<P, D>> {
        Rc::new(SessionTasks { host: self.clone(), context: context.clone() })
    }

    /// Begins to attempt what a step outside a run has just made owed; the alarm repeats it.
    pub(super) fn start_tasks(&self, context: &RequestContext) -> Result<()> {
        self.tasks.start(context.deployment.turn_alarm_ms, || self.session_tasks(context))
    }

    /// Makes the tasks of a kind due, and waits until none is under way; one that is under way is joined.
    pub(super) async fn attempt_now(&self, context: &RequestContext, kind: TaskKind) -> Result<()> {
        self.store.tasks().hasten(kind, self.platform.now_ms())?;
        self.start_tasks(context)?;
        self.tasks.idle(kind).await;
        Ok(())
    }

    /// Whether a task waits for so long that the alarm alone has made that many attempts. Requests, too, make some, and nothing
    /// is given up sooner for them.
    pub(super) fn had_alarms(&self, context: &RequestContext, task: &Task, attempts: u32) -> bool {
        let waits_ms = u64::from(attempts.saturating_sub(1));
        let waits_ms = waits_ms.saturating_mul(context.deployment.turn_alarm_ms);
        self.platform.now_ms() >= task.created_at.saturating_add(waits_ms)
    }

    /// When what has failed is tried again, in milliseconds since the Unix epoch.
    pub(super) fn again_at(&self, context: &RequestContext) -> u64 {
        self.platform.now_ms().saturating_add(context.deployment.turn_alarm_ms)
    }
}
