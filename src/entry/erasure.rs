//! `DELETE /sessions/{SessionId}` (interface §1): it cancels the running turn, deletes the files, erases
//! all rows in one transaction and lets the model service delete the stored responses. The next request
//! or alarm continues an interrupted erasure.

use std::rc::Rc;

use serde_json::json;

use super::admission::no_session;
use super::admission_context::AdmissionContext;
use super::session_host::SessionHost;
use crate::contract::{Fault, SessionId};
use crate::files::FileId;
use crate::persistence::{ErasureReceipt, PendingErasure};
use crate::ports::{Database, FileFault, Platform};
use crate::reasoner::delete_responses;

/// The number of stored responses that one pass deletes. The runtime limits the requests of an
/// invocation.
const PER_PASS: usize = 200;

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// Erases the session and returns the receipt. A fault means that no row was erased. `received_at` is
    /// the time at which the Worker in front received the request.
    pub(super) async fn erase(
        self: &Rc<Self>,
        context: &AdmissionContext,
        session_id: &SessionId,
        received_at: u64,
    ) -> Result<ErasureReceipt, Fault> {
        if self.store.session()?.is_some() {
            // Only the catalog says whether the model service has responses to delete.
            context.catalog()?;
        }
        let _under_way = Rc::clone(&self.erasures);
        self.epoch.set(self.epoch.get().asked(received_at));
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
                // The alarm brings the deletions at the model service to their end.
                self.alarm.ensure(self.platform.as_ref(), context.deployment.turn_alarm_ms)?;
                let id = &session.session_id;
                let erasure = self.store.erase(id, agent, files, responses, now)?;
                self.epoch.set(self.epoch.get().stored());
                erasure
            }
            None => self.store.pending_erasure()?.ok_or_else(|| no_session(session_id))?,
        };
        self.platform.durable().await;
        let receipt = self.pass(context, erasure).await?;
        self.platform.log(json!({ "event": "erased", "level": "info", "receipt": receipt }));
        Ok(receipt)
    }

    /// Continues an erasure that was interrupted, or that waits for the model service.
    pub(super) async fn resume_erasure(
        self: &Rc<Self>,
        context: &AdmissionContext,
    ) -> Result<(), Fault> {
        if Rc::strong_count(&self.erasures) > 1 {
            // The request continues it.
            return Ok(());
        }
        if let Some(erasure) = self.store.pending_erasure()? {
            self.pass(context, erasure).await?;
        }
        Ok(())
    }

    /// Frees the storage of an object without a session, or sets the alarm of an unfinished erasure.
    pub(super) async fn end_erasure(&self, context: &AdmissionContext) -> Result<(), Fault> {
        if self.store.pending_erasure()?.is_some() {
            let every_ms = context.deployment.turn_alarm_ms;
            return self.alarm.ensure(self.platform.as_ref(), every_ms);
        }
        if self.store.session()?.is_none() {
            // Freeing the storage deletes the alarm. A turn that begins meanwhile sets a new one.
            self.alarm.forget();
            self.platform.free_storage().await?;
        }
        Ok(())
    }

    /// Stops the running turn and deletes the session's files. The rows stay until then, so that an
    /// erasure cut off here can be repeated. A turn that ran meanwhile may have kept a file, so the
    /// deletion is repeated after it.
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
                    let message = "The session's files could not be deleted, so nothing else was. Send the same request again.";
                    return Err(Fault::internal(message));
                }
            };
            if self.runs.get() == runs {
                return Ok(erased);
            }
        }
    }

    async fn stop_running(self: &Rc<Self>) {
        // Another turn may begin when one ends.
        loop {
            let running = self.live.borrow().clone();
            let Some(running) = running else { return };
            running.cancellation.abort();
            running.text.ended_with().await;
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
        // An invalid catalog does not name the model service, so this pass counts as no attempt.
        let Ok(catalog) = &context.catalog else { return Ok(receipt) };
        let deleted = match catalog.agent_context(&agent_context) {
            Some(agent) => {
                let platform = self.platform.as_ref();
                delete_responses(platform, &context.deployment, agent, &responses).await
            }
            // The catalog no longer has the agent context, and with it the model service.
            None => Vec::new(),
        };
        match self.store.settle_erasure(responses.len(), &deleted)? {
            Some(settled) => Ok(settled),
            None => {
                // Another pass has settled the erasure meanwhile.
                if let Some(stored) = &mut receipt.stored_responses {
                    stored.deleted += std::mem::take(&mut stored.pending);
                }
                Ok(receipt)
            }
        }
    }
}
