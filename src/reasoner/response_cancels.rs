//! Has the model service cancel background responses that nobody reads any more (interface §4, Background responses): at
//! once after the step that gave a response up, later by the alarm.
//!
//! It works apart from the turns: nobody waits for a cancellation but an erasure, which cancels before it deletes.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use serde_json::{Value, json};

use crate::catalog::Catalog;
use crate::contract::Fault;
use crate::llm_call::{Cancellation, Endpoint, cancel_response};
use crate::persistence::{Cancel, SessionStore};
use crate::ports::{Database, Deployment, Platform, failure_line};

/// The cancellations of a session's object.
#[derive(Debug)]
pub(crate) struct ResponseCancels<P, D> {
    platform: Rc<P>,
    store: Rc<SessionStore<D>>,
    is_under_way: Cell<bool>,
    /// Those who wait for the end of what is under way.
    waiting: RefCell<Vec<Waker>>,
}

impl<P: Platform, D: Database + 'static> ResponseCancels<P, D> {
    pub(crate) fn new(platform: Rc<P>, store: Rc<SessionStore<D>>) -> Self {
        let (is_under_way, waiting) = Default::default();
        Self { platform, store, is_under_way, waiting }
    }

    /// When the next response is to be cancelled; `None` where none is.
    pub(crate) fn next_at(&self) -> Result<Option<u64>, Fault> {
        self.store.next_cancel_at()
    }

    /// Begins to cancel what is due, as a task of its own. The alarm of the turn, or of the erasure, repeats what a lost
    /// instance has begun.
    pub(crate) fn start(
        self: &Rc<Self>,
        catalog: Option<&Rc<Catalog>>,
        deployment: &Rc<Deployment>,
    ) -> Result<(), Fault> {
        if self.store.due_cancels(self.platform.now_ms())?.is_empty() {
            return Ok(());
        }
        if !self.is_under_way.replace(true) {
            let (cancels, deployment) = (Rc::clone(self), Rc::clone(deployment));
            let catalog = catalog.map(Rc::clone);
            self.platform.spawn(Box::pin(async move {
                let done = cancels.cancel_all(catalog.as_deref(), &deployment).await;
                cancels.is_under_way.set(false);
                cancels.waiting.take().into_iter().for_each(Waker::wake);
                if let Err(fault) = done {
                    cancels.platform.log(cancels_stopped(&fault));
                }
            }));
        }
        Ok(())
    }

    /// Completes when nothing is under way.
    pub(crate) async fn idle(&self) {
        poll_fn(|context| match self.is_under_way.get() {
            false => Poll::Ready(()),
            true => {
                self.waiting.borrow_mut().push(context.waker().clone());
                Poll::Pending
            }
        })
        .await;
    }

    async fn cancel_all(
        &self,
        catalog: Option<&Catalog>,
        deployment: &Deployment,
    ) -> Result<(), Fault> {
        self.platform.durable().await;
        loop {
            let due = self.store.due_cancels(self.platform.now_ms())?;
            if due.is_empty() {
                return Ok(());
            }
            for cancel in due {
                let answered = self.is_answered(catalog, deployment, &cancel).await;
                let again_at = self.platform.now_ms().saturating_add(deployment.turn_alarm_ms);
                let again_at = (!answered).then_some(again_at);
                if !self.store.settle_cancel(&cancel, again_at)? {
                    self.platform.log(json!({
                        "event": "cancel_failed", "level": "warn",
                        "agent_context": cancel.agent_context,
                    }));
                }
            }
        }
    }

    /// Asks the service; false where nobody can be asked, or there was no answer.
    async fn is_answered(
        &self,
        catalog: Option<&Catalog>,
        deployment: &Deployment,
        cancel: &Cancel,
    ) -> bool {
        let agent = catalog.and_then(|catalog| catalog.agent_context(&cancel.agent_context));
        let Some(agent) = agent else { return false };
        let platform = self.platform.as_ref();
        let Ok(endpoint) = Endpoint::of(platform, deployment, agent) else { return false };
        match cancel_response(platform, &endpoint, &cancel.response_id).await {
            Cancellation::Answered => true,
            Cancellation::Unanswered => false,
        }
    }
}

/// The line of the log for cancellations that the storage has stopped. The alarm begins them again.
pub(crate) fn cancels_stopped(fault: &Fault) -> Value {
    failure_line("cancels_stopped", "error", fault)
}
