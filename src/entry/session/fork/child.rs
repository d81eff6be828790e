//! The new session's object: it begins a fork, joins one that is being built, or shows the one that it is.

use super::super::erasure_memory::Received;
use super::super::session_host::SessionHost;
use super::copying::erased_meanwhile;
use super::questions::{ForkQuestion, ForkReply};
use crate::contract::Result;
use crate::entry::object_question::{read, reply};
use crate::entry::request::ArrivingBody;
use crate::entry::request_context::{IsolateSettings, RequestContext};
use crate::entry::response::{Response, object_failed};
use crate::object::TaskKind;
use crate::persistence::{ForkPlan, StoredCopy};
use crate::ports::{Database, Platform};
use crate::users::Registration;

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// The reply to the question to become a fork.
    pub(crate) async fn answer_to_become_a_fork<S>(
        &self,
        source: &IsolateSettings,
        body: impl ArrivingBody,
    ) -> Result<Response<S>> {
        let question: ForkQuestion = read(body).await?;
        let context = source.context(self.platform.as_ref(), "", None).await?;
        let forked = self.become_fork(&context, question).await;
        reply::<ForkQuestion, _>(&forked.unwrap_or_else(|fault| ForkReply::Failed { fault }))
    }

    async fn become_fork(
        &self,
        context: &RequestContext,
        question: ForkQuestion,
    ) -> Result<ForkReply> {
        let generation = self.erasures.generation();
        // Equal requests at the same time register one fork, whose bytes count once.
        let turn = self.fork_begins.lock().await;
        if let Some(known) = self.known_fork(&question, true)? {
            return Ok(known);
        }
        if !self.store.is_building_fork()? {
            let Some(plan) = question.plan.clone() else { return Ok(ForkReply::Absent) };
            let incarnation = self.register_fork(&plan, question.bytes).await?;
            if let Some(known) = self.known_fork(&question, true)? {
                return Ok(known);
            }
            let received = Received { generation, at_ms: plan.received_at };
            let is_void = incarnation > 0 && self.erasures.is_void(incarnation);
            if is_void || self.erasures.has_ended_generation_of(received, self.platform.now_ms()) {
                return Err(erased_meanwhile());
            }
            if !self.store.is_building_fork()? {
                self.ensure_alarm(context.deployment.turn_alarm_ms)?;
                let build = StoredCopy::new(self.new_build(), plan, incarnation);
                self.store.begin_fork(&build, self.platform.now_ms())?;
            }
        }
        drop(turn);
        let is_asked_for = |build: StoredCopy| {
            build.plan.parent == question.parent && build.plan.request == question.request
        };
        if !self.store.fork_build()?.is_some_and(is_asked_for) {
            return Ok(ForkReply::Exists);
        }
        self.fork_failure.take();
        self.attempt_now(context, TaskKind::Fork).await?;
        if let Some(known) = self.known_fork(&question, false)? {
            return Ok(known);
        }
        let failure = self.fork_failure.borrow().clone();
        let is_building = self.store.is_building_fork()?;
        let silent = || if is_building { object_failed() } else { erased_meanwhile() };
        Err(failure.unwrap_or_else(silent))
    }

    /// What the session says to the question, once there is one.
    fn known_fork(&self, question: &ForkQuestion, replayed: bool) -> Result<Option<ForkReply>> {
        let Some(session) = self.store.session()? else { return Ok(None) };
        let fork = session.state.fork;
        let fork = fork.filter(|fork| fork.answers(&question.parent, &question.request));
        Ok(Some(fork.map_or(ForkReply::Exists, |fork| ForkReply::Forked {
            after_turn_id: fork.turn_id,
            turns: fork.turns,
            replayed,
        })))
    }

    /// Has the user's object know the session before it has a row; 0 for a session of the tenant's own. `bytes` are those
    /// that the user's object is to count.
    pub(super) async fn register_fork(&self, plan: &ForkPlan, bytes: Option<u64>) -> Result<u64> {
        let question = Registration {
            session_id: plan.request.session_id.clone(),
            received_at: plan.received_at,
            issued_at: plan.issued_at,
            mode: plan.mode.clone(),
            title: plan.title.clone().unwrap_or_default(),
            parent: Some(plan.parent.clone()),
            fork_bytes: bytes,
        };
        self.ask_to_register(&question).await.map(Option::unwrap_or_default)
    }

    /// A number that no other build of this object has.
    pub(super) fn new_build(&self) -> u64 {
        (self.platform.random() * (1_u64 << 52) as f64) as u64
    }
}
