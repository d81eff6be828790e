//! `DELETE /sessions/{SessionId}` (interface §1, §9): it cancels the running turn, deletes the files, erases
//! all rows in one transaction and lets the model service delete the stored responses. The next request
//! or alarm continues an interrupted erasure.

use serde_json::json;

use super::response_deletion::delete_responses;
use super::session_host::SessionHost;
use crate::catalog::Continuation;
use crate::contract::{Fault, SessionId};
use crate::entry::context::AdmissionContext;
use crate::entry::response::no_session;
use crate::files::FileId;
use crate::persistence::{ErasureReceipt, StoredAtService};
use crate::ports::{Database, FileFault, Platform};

/// The number of stored responses that one invocation deletes. The runtime limits the requests of an
/// invocation.
const PER_PASS: u32 = 200;

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// Erases the session and returns the receipt. A fault means that no row was erased. `received_at` is
    /// the time at which the Worker in front received the request.
    pub(super) async fn erase(
        &self,
        context: &AdmissionContext,
        session_id: &SessionId,
        received_at: u64,
    ) -> Result<ErasureReceipt, Fault> {
        if self.store.session()?.is_some() {
            // Only the catalog says whether the model service has responses to delete.
            context.catalog()?;
        }
        let _under_way = self.erasing.begin(received_at);
        let files = self.erase_files().await?;
        let receipt = match self.store.session()? {
            Some(session) => {
                let agent = context.catalog()?.agent_context(&session.agent_context);
                let at_service = match agent {
                    Some(agent) if !agent.delete_stored => StoredAtService::Left,
                    Some(agent) => StoredAtService::Deleted {
                        lost_calls_too: match agent.continuation {
                            Continuation::Stored => true,
                            Continuation::Replay => false,
                        },
                    },
                    None => StoredAtService::Deleted { lost_calls_too: true },
                };
                let now = self.platform.now_ms();
                // The alarm brings the deletions at the model service to their end.
                self.ensure_alarm(context.deployment.turn_alarm_ms)?;
                let receipt = self.store.erase(&session, files, at_service, now)?;
                self.erasing.stored();
                self.running.forget_connections();
                receipt
            }
            None => self.store.receipt()?.ok_or_else(|| no_session(session_id))?,
        };
        self.platform.durable().await;
        self.cancel_all(context).await?;
        let receipt = self.delete_some(context).await?.unwrap_or(receipt);
        let mut line = json!({ "event": "erased", "level": "info", "receipt": receipt });
        if let Some(id) = &context.request_id {
            id.sign(&mut line);
        }
        self.platform.log(line);
        Ok(receipt)
    }

    /// Continues an erasure that was interrupted, or that waits for the model service.
    pub(super) async fn resume_erasure(&self, context: &AdmissionContext) -> Result<(), Fault> {
        if self.erasing.is_under_way() {
            // The request continues the erasure.
            return Ok(());
        }
        self.delete_some(context).await.map(|_| ())
    }

    /// Frees the storage of an object without a session, or sets the alarm of an unfinished erasure.
    pub(super) async fn end_erasure(&self, context: &AdmissionContext) -> Result<(), Fault> {
        if self.store.receipt()?.is_some() || self.cancels.next_at()?.is_some() {
            return self.ensure_alarm(context.deployment.turn_alarm_ms);
        }
        if self.store.session()?.is_none() && !self.store.is_building_fork()? {
            // Freeing the storage deletes the alarm. A turn that begins meanwhile sets a new one.
            self.alarm.forget();
            self.platform.free_storage().await?;
        }
        Ok(())
    }

    /// Stops the running turn and deletes the session's files. The rows are erased afterwards, so that an
    /// erasure that is cut off here can be repeated. If a turn ran during the deletion, the turn may have
    /// kept a file, and the deletion is repeated.
    async fn erase_files(&self) -> Result<u64, Fault> {
        let mut erased = 0;
        loop {
            self.running.stop().await;
            if self.store.session()?.is_none() {
                return Ok(erased);
            }
            let begun = self.running.begun();
            self.reporter.give_lease_back().await?;
            let folder = FileId::folder(&self.platform.object_id());
            erased += match self.platform.erase_files(&folder).await {
                Ok(count) => count,
                Err(FileFault::NoBucket) => 0,
                Err(FileFault::Failed) => {
                    let message = "The session's files could not be deleted, so nothing else was. Send the same request again.";
                    return Err(Fault::internal(message));
                }
            };
            if self.running.begun() == begun {
                return Ok(erased);
            }
        }
    }

    /// Asks the model service to delete some of the responses. Returns the receipt after that; `None` when no
    /// response was to be deleted.
    async fn delete_some(
        &self,
        context: &AdmissionContext,
    ) -> Result<Option<ErasureReceipt>, Fault> {
        let responses = self.store.responses_to_delete(PER_PASS)?;
        if responses.is_empty() {
            return Ok(None);
        }
        // An invalid catalog names no model service, and nothing counts as an attempt.
        let Ok(catalog) = &context.catalog else { return self.store.receipt() };
        let (platform, deployment) = (self.platform.as_ref(), &context.deployment);
        let settled = delete_responses(platform, deployment, catalog, responses).await;
        if let Some(receipt) = self.store.settle_erasure(&settled)? {
            self.erasing.keep_receipt(receipt);
        }
        // Where another request or alarm has ended the erasure meanwhile, its receipt is the last one.
        Ok(self.erasing.receipt())
    }
}
