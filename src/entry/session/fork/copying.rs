//! The build of a fork in the new session's object: a task, which goes on without a client. Each page is a durable
//! step, so the same request or the alarm resumes a build that a crash has cut.
//!
//! Every await may end the build: an erasure of the new session or of the user drops it, and so does what becomes of the
//! parent.

use serde_json::json;

use super::super::session_host::SessionHost;
use super::questions::{PartQuestion, PartReply, SessionPart};
use super::request::turn_not_ended;
use crate::contract::{ErrorCode, Fault, Result, no_session};
use crate::entry::other_version::{other_version, unanswered};
use crate::entry::request_context::RequestContext;
use crate::entry::response::{credential_expired, object_failed};
use crate::object::{Next, Task, ask};
use crate::persistence::{
    Contexts, ForkContexts, ForkHead, ForkStep, NewContexts, OutcomePlace, StoredCopy,
};
use crate::ports::{Database, Platform, failure_line, object_name};
use crate::reasoner::boot_message;
use crate::users::Revocation;

/// How often a build is begun or resumed at least before it is given up.
const ATTEMPTS: u32 = 10;

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// Attempts to build the fork that is stored.
    pub(crate) async fn attempt_fork(&self, context: &RequestContext, task: &Task) -> Result<Next> {
        let Some(mut build) = self.store.fork_build()? else { return Ok(Next::Done) };
        self.store.count_attempt(&mut build)?;
        let gives_up = build.attempts > ATTEMPTS && self.had_alarms(context, task, ATTEMPTS);
        let outcome = self.copy_parent(context, build, gives_up).await;
        self.platform.durable().await;
        self.platform.log(match &outcome {
            Ok(turns) => json!({ "event": "forked", "level": "info", "turns": turns }),
            Err(fault) => failure_line("fork_failed", "warn", fault),
        });
        self.fork_failure.replace(outcome.err());
        Ok(match self.store.is_building_fork()? {
            true => Next::Wait(self.again_at(context)),
            false => Next::Done,
        })
    }

    /// Drops the build of an incarnation of a user's session that ends; 0 for a session of no user.
    pub(crate) fn drop_build(&self, incarnation: u64) -> Result<()> {
        match self.store.fork_build()? {
            Some(build) if build.incarnation <= incarnation => self.store.drop_fork(),
            Some(_) | None => Ok(()),
        }
    }

    /// Copies the parent until the session is whole. Returns the number of its turns.
    async fn copy_parent(
        &self,
        context: &RequestContext,
        build: StoredCopy,
        gives_up: bool,
    ) -> Result<u64> {
        if gives_up {
            self.store.drop_fork()?;
            let message = "The fork could not be completed, and was given up. Nothing of it is left: send the request again.";
            return Err(Fault::internal(message));
        }
        let mut id = build.id;
        if build.attempts > 1 {
            // What the user's object had told was lost with the instance.
            let registered = self.register_fork(&build.plan, None).await;
            let build = self.current(id)?;
            match registered {
                Ok(incarnation) if incarnation == build.incarnation => {}
                Ok(_) => return Err(self.given_up(erased_meanwhile())),
                // Also where the user's object begins again with a deploy, or is of another version.
                Err(fault) if fault.http_status() >= 500 => return Err(fault),
                Err(fault) => return Err(self.given_up(fault)),
            }
            if build.is_of_other_form() {
                id = self.begin_anew(build)?;
            }
        }
        loop {
            self.platform.yield_to_others().await;
            let build = self.current(id)?;
            match self.store.fork_step(&build)? {
                ForkStep::Head => {
                    let head = self.asked_head(&build).await?;
                    if head.is_of_other_form() {
                        return Err(other_version());
                    }
                    self.store.add_fork_head(&mut self.current(id)?, head)?;
                }
                ForkStep::Rows(place) => {
                    match self.ask_parent(&build, SessionPart::Rows(place)).await? {
                        PartReply::Rows(page) => {
                            self.store.add_fork_rows(&mut self.current(id)?, page)?;
                        }
                        other => return Err(self.refused(&build, other)),
                    }
                }
                ForkStep::Text(place) => {
                    match self.ask_parent(&build, SessionPart::Text(place.clone())).await? {
                        PartReply::Text(page) => {
                            self.current(id)?;
                            self.store.add_fork_text(&place, page)?;
                        }
                        other => return Err(self.refused(&build, other)),
                    }
                }
                ForkStep::Check(version) => {
                    self.rename_outcomes(&build).await?;
                    let head = self.asked_head(&build).await?;
                    let build = self.current(id)?;
                    if head.version == version {
                        return self.finish(context, &build);
                    }
                    id = self.begin_anew(build)?;
                }
            }
        }
    }

    /// Makes the session, unless the credential of its request was revoked meanwhile.
    fn finish(&self, context: &RequestContext, build: &StoredCopy) -> Result<u64> {
        let plan = &build.plan;
        let credentials_valid_from = self.store.credentials_valid_from()?;
        if (Revocation { credentials_valid_from }).revokes(plan.issued_at) {
            return Err(self.given_up(credential_expired()));
        }
        let contexts = match &plan.request.conversation_context_id {
            None => None,
            Some(id) => Some(self.contexts_of_fork(context, build, id)?),
        };
        self.store.finish_fork(build, contexts, self.platform.now_ms())?;
        Ok(plan.turns)
    }

    /// The contexts under which the fork goes on that asks for `asked`. The parent's own one keeps the parent's agent
    /// context.
    fn contexts_of_fork(
        &self,
        context: &RequestContext,
        build: &StoredCopy,
        asked: &str,
    ) -> Result<ForkContexts> {
        let catalog = context.catalog()?;
        let Some((id, conversation)) = catalog.goes_on_under(asked) else {
            let message =
                "The catalog has no ConversationContext of the id that the request names.";
            let unknown = Fault::new(ErrorCode::ContextNotFound, message);
            return Err(self.given_up(unknown.at("/ConversationContextId")));
        };
        let agent = build.agent_context_under(id).unwrap_or(&conversation.agent_context_id);
        let contexts = |conversation: &str, agent: &str| Contexts {
            conversation: conversation.to_owned(),
            agent: agent.to_owned(),
        };
        let (new, asked_agent) = (contexts(id, agent), catalog.agent_of(asked).unwrap_or(agent));
        let asked = contexts(asked, asked_agent);
        let new = NewContexts { contexts: new, boot_message: boot_message(conversation)? };
        Ok(ForkContexts { new, asked })
    }

    /// Has all long outcomes name the new session.
    async fn rename_outcomes(&self, build: &StoredCopy) -> Result<()> {
        let mut place = OutcomePlace::default();
        loop {
            let session = &self.current(build.id)?.plan.request.session_id;
            if !self.store.rename_next_outcome(session, &mut place)? {
                return Ok(());
            }
            self.platform.yield_to_others().await;
        }
    }

    async fn asked_head(&self, build: &StoredCopy) -> Result<ForkHead> {
        match self.ask_parent(build, SessionPart::Head).await? {
            PartReply::Head(head) => Ok(*head),
            other => Err(self.refused(build, other)),
        }
    }

    /// Asks the parent, whose reply comes while the build is still the present one.
    async fn ask_parent(&self, build: &StoredCopy, part: SessionPart) -> Result<PartReply> {
        let tenant = self.platform.tenant().ok_or_else(object_failed)?;
        let parent = build.plan.parent.as_str();
        let object = object_name(tenant, self.platform.user(), parent);
        let (created_at, turns) = (build.plan.created_at, build.plan.turns);
        let question = PartQuestion { created_at, turns, part };
        let reply = ask(self.platform.as_ref(), &object, &question).await;
        self.current(build.id)?;
        reply.map_err(|fault| unanswered(&fault, object_failed()))
    }

    /// The fault of a parent that gives out nothing. Where it never will, the build is dropped whole.
    fn refused(&self, build: &StoredCopy, reply: PartReply) -> Fault {
        match reply {
            PartReply::Gone => self.given_up(no_session(&build.plan.parent)),
            PartReply::NotEnded(turn) => self.given_up(turn_not_ended(&turn)),
            PartReply::Failed(fault) => fault,
            PartReply::Head(_) | PartReply::Rows(_) | PartReply::Text(_) => object_failed(),
        }
    }

    fn begin_anew(&self, build: StoredCopy) -> Result<u64> {
        let build = build.anew(self.new_build());
        self.store.begin_fork(&build, self.platform.now_ms())?;
        Ok(build.id)
    }

    /// Drops the build, and returns the fault for which it is given up.
    fn given_up(&self, fault: Fault) -> Fault {
        self.store.drop_fork().err().unwrap_or(fault)
    }

    /// The build as it is stored, while it is the present one.
    fn current(&self, id: u64) -> Result<StoredCopy> {
        let present = self.store.fork_build()?.filter(|build| build.id == id);
        present.ok_or_else(erased_meanwhile)
    }
}

/// `session_not_found`: the new session was erased before it was whole.
pub(super) fn erased_meanwhile() -> Fault {
    let message =
        "The fork was erased before it was whole. Send the request again to make it anew.";
    Fault::new(ErrorCode::SessionNotFound, message)
}
