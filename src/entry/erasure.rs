//! `DELETE /sessions/{SessionId}` (the interface, section 1): the running turn is cancelled, the files
//! are deleted, the rows are erased in one step, and the model service deletes what it has stored. An
//! interrupted erasure goes on with the next request or alarm.

use std::cell::Cell;
use std::rc::Rc;

use serde_json::json;

use super::admission_context::AdmissionContext;
use super::session_host::SessionHost;
use crate::contract::{ErrorCode, Fault, SessionId};
use crate::files::FileId;
use crate::persistence::{ErasureReceipt, PendingErasure};
use crate::ports::{Database, FileFault, Platform};
use crate::reasoner::delete_responses;

/// Responses that one pass deletes: the requests of one invocation are limited.
const PER_PASS: usize = 200;

/// A request to erase the session that is under way, among others.
struct UnderWay<'a>(&'a Cell<usize>);

impl<'a> UnderWay<'a> {
    fn begin(count: &'a Cell<usize>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// Erases the session, and tells what that was.
    ///
    /// # Errors
    /// `session_not_found`; `internal` when the storage fails, and then nothing was erased.
    pub(super) async fn erase(
        self: &Rc<Self>,
        context: &AdmissionContext,
        session_id: &SessionId,
    ) -> Result<ErasureReceipt, Fault> {
        if self.store.session()?.is_some() {
            // It alone says whether responses are to be deleted, and nothing is erased before.
            context.catalog()?;
        }
        let _under_way = UnderWay::begin(&self.erasures);
        let files = self.erase_files().await?;
        let erasure = match self.store.session()? {
            Some(session) => {
                let agent = context.catalog()?.agent_context(&session.agent_context);
                let responses = match agent {
                    Some(agent) if agent.delete_stored => Some(self.store.stored_responses()?),
                    _ => None,
                };
                let now = self.platform.now_ms();
                let agent = session.agent_context.as_str();
                // What the model service has still to delete is looked after from here on.
                self.alarm.ensure(self.platform.as_ref(), context.deployment.turn_alarm_ms)?;
                self.store.erase(&session.session_id, agent, files, responses, now)?
            }
            None => self.store.pending_erasure()?.ok_or_else(|| {
                Fault::new(ErrorCode::SessionNotFound, format!("There is no session {session_id}."))
            })?,
        };
        self.platform.durable().await;
        let receipt = self.pass(context, erasure).await?;
        self.platform.log(json!({ "event": "erased", "level": "info", "receipt": receipt }));
        Ok(receipt)
    }

    /// Goes on with an erasure that was interrupted, or that the model service held up.
    ///
    /// # Errors
    /// `internal` when the storage fails.
    pub(super) async fn resume_erasure(
        self: &Rc<Self>,
        context: &AdmissionContext,
    ) -> Result<(), Fault> {
        if self.erasures.get() > 0 {
            // It goes on already.
            return Ok(());
        }
        if let Some(erasure) = self.store.pending_erasure()? {
            self.pass(context, erasure).await?;
        }
        Ok(())
    }

    /// Frees the storage of an object that keeps nothing, or sees to it that an erasure goes on.
    ///
    /// # Errors
    /// `internal` when the storage fails.
    pub(super) async fn end_erasure(&self, context: &AdmissionContext) -> Result<(), Fault> {
        if self.is_erasing()? {
            let every_ms = context.deployment.turn_alarm_ms;
            return self.alarm.ensure(self.platform.as_ref(), every_ms);
        }
        if self.store.session()?.is_none() {
            // The alarm goes with the rest. A turn that begins meanwhile sets its own.
            self.alarm.forget();
            self.platform.free_storage().await?;
        }
        Ok(())
    }

    /// An erased session's responses are still to be deleted at the model service.
    fn is_erasing(&self) -> Result<bool, Fault> {
        self.store.pending_erasure().map(|erasure| erasure.is_some())
    }

    /// Stops what runs and deletes the session's files: before the rows, so that an erasure that is
    /// cut off here is asked for again, and after no turn that could still keep one.
    async fn erase_files(self: &Rc<Self>) -> Result<u64, Fault> {
        let mut erased = 0;
        loop {
            self.stop_running().await;
            if self.store.session()?.is_none() {
                return Ok(erased);
            }
            let runs = self.runs.get();
            let folder = FileId::folder(&self.platform.object_id());
            erased += match self.platform.erase_files(&folder).await {
                Ok(count) => count,
                Err(FileFault::NoBucket) => 0,
                Err(FileFault::Failed) => {
                    return Err(Fault::new(
                        ErrorCode::Internal,
                        "The session's files could not be deleted, so nothing else was. Send the same request again.",
                    ));
                }
            };
            if self.runs.get() == runs {
                return Ok(erased);
            }
        }
    }

    async fn stop_running(self: &Rc<Self>) {
        // Another turn may begin as soon as one has ended.
        loop {
            let running = self.live.borrow().clone();
            let Some(running) = running else { return };
            running.cancellation.abort();
            running.stream.ended_with().await;
        }
    }

    async fn pass(
        &self,
        context: &AdmissionContext,
        erasure: PendingErasure,
    ) -> Result<ErasureReceipt, Fault> {
        let PendingErasure { mut receipt, agent_context, mut responses, .. } = erasure;
        if responses.is_empty() {
            return Ok(receipt);
        }
        responses.truncate(PER_PASS);
        // Until the catalog is mended nobody knows whom to ask: that is no attempt.
        let Ok(catalog) = &context.catalog else { return Ok(receipt) };
        let deleted = match catalog.agent_context(&agent_context) {
            Some(agent) => {
                let platform = self.platform.as_ref();
                delete_responses(platform, &context.deployment, agent, &responses).await
            }
            // The catalog does not say any more whom to ask.
            None => Vec::new(),
        };
        match self.store.settle_erasure(responses.len(), &deleted)? {
            Some(settled) => Ok(settled),
            None => {
                // Another pass has settled it meanwhile.
                if let Some(told) = &mut receipt.stored_responses {
                    told.deleted += std::mem::take(&mut told.pending);
                }
                Ok(receipt)
            }
        }
    }
}
