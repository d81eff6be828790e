//! `DELETE /sessions/{SessionId}` (interface §1, §9): it cancels the running turn, deletes the files, erases
//! all rows in one transaction and has a task delete the responses that the model service stores.

use serde_json::json;

use super::session_host::SessionHost;
use crate::catalog::{AgentContext, Continuation};
use crate::contract::{Fault, Result, SessionId, no_session};
use crate::entry::request_context::RequestContext;
use crate::entry::request_id::RequestId;
use crate::files::FileId;
use crate::object::TaskKind;
use crate::persistence::{ErasureReceipt, Session, StoredAtServices};
use crate::ports::{Database, FileFault, Platform};
use crate::users::Ending;

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// Erases the session and returns the receipt. A fault means that no row was erased, unless the storage failed
    /// after that, while the responses were asked for. `received_at` is the time at which the Worker in front received
    /// the request. Only [`Ending::WhenDone`] waits for the deletions at the model service.
    pub(super) async fn erase(
        &self,
        context: &RequestContext,
        session_id: &SessionId,
        received_at: u64,
        ending: Ending,
    ) -> Result<ErasureReceipt> {
        let known = match self.store.session() {
            Err(_) if self.store.newer_form()?.is_some() => {
                return self.erase_newer_form(context, session_id, received_at).await;
            }
            known => known?,
        };
        let life = known.map(|session| session.created_at);
        if life.is_some() {
            // Only the catalog says whether the model service has responses to delete.
            context.catalog()?;
        } else {
            // A fork of the tenant's own that is being built becomes no session after that.
            self.drop_build(0)?;
        }
        self.erasures.begin(received_at);
        let under_way = self.erasures.under_way.lock().await;
        let files = self.erase_files(life).await?;
        let receipt = match self.session_of(life)? {
            Some(session) => {
                let catalog = context.catalog()?;
                let mut agents = session.agents();
                // A service that is no fall-back any more has made some, too.
                agents.extend(self.store.agents_of_responses()?);
                let services: Vec<_> =
                    agents.iter().flat_map(|agent| catalog.services(agent)).collect();
                let mut deleting =
                    services.iter().map(|(_, agent)| agent).filter(|agent| agent.delete_stored);
                // A service whose agent context is gone cannot be asked, and the receipt says so.
                let is_gone = agents.iter().any(|agent| catalog.agent_context(agent).is_none());
                let at_services = StoredAtServices {
                    any_deletes: is_gone || deleting.clone().next().is_some(),
                    deletes: &|id| {
                        catalog.agent_context(id).is_none_or(|agent| agent.delete_stored)
                    },
                    lost_calls_too: is_gone
                        || deleting.any(|agent| agent.continuation == Continuation::Stored),
                };
                let now = self.platform.now_ms();
                // The alarm brings the deletions at the model service to their end.
                self.ensure_alarm(context.deployment.turn_alarm_ms)?;
                let receipt = self.store.erase(&session, files, at_services, now)?;
                self.erasures.stored();
                // No turn after the erasure uses them.
                self.running.connections.take();
                receipt
            }
            None => self.store.receipt()?.ok_or_else(|| no_session(session_id))?,
        };
        drop(under_way);
        self.platform.durable().await;
        if ending != Ending::WhenDone {
            self.start_tasks(context)?;
            self.log_erased(context, &receipt);
            return Ok(receipt);
        }
        let had_open = self.store.has_open_responses()?;
        // An attempt that is under way may have begun before these responses were to be deleted.
        self.tasks.idle(TaskKind::Deletion).await;
        self.attempt_now(context, TaskKind::Deletion).await?;
        self.tasks.idle(TaskKind::Cancel).await;
        // Where the attempt, or that of another request or of the alarm, has ended the erasure, its receipt is the last one.
        let settled = self.erasures.receipt.borrow().clone().filter(|_| had_open);
        let receipt = self.store.receipt()?.or(settled).unwrap_or(receipt);
        self.log_erased(context, &receipt);
        Ok(receipt)
    }

    /// Erases a session that a newer version of the product wrote: its files, and its storage as a whole. No turn of it runs
    /// here.
    ///
    /// # Errors
    /// The fault of every other request, where the model service may hold responses of it that are to be deleted: only the
    /// newer version knows which.
    async fn erase_newer_form(
        &self,
        context: &RequestContext,
        session_id: &SessionId,
        received_at: u64,
    ) -> Result<ErasureReceipt> {
        let deletes = |(_, agent): (_, &AgentContext)| agent.delete_stored;
        if context.catalog()?.agent_contexts().any(deletes) || self.store.has_noted_responses()? {
            self.store.session()?;
        }
        self.erasures.begin(received_at);
        let folder = FileId::folder(&self.platform.object_id());
        let files = self.files_erased(&folder).await?;
        // Another request may have erased it meanwhile, and it may have begun anew.
        if self.store.newer_form()?.is_none() {
            return Err(no_session(session_id));
        }
        let now = self.platform.now_ms();
        let receipt = self.store.receipt_over(session_id, files, now)?;
        self.platform.free_storage().await?;
        self.alarm.forget();
        self.store.forget();
        self.erasures.stored();
        self.log_erased(context, &receipt);
        Ok(receipt)
    }

    fn log_erased(&self, context: &RequestContext, receipt: &ErasureReceipt) {
        let mut line = json!({ "event": "erased", "level": "info", "receipt": receipt });
        RequestId::sign(context.request_id.as_ref(), &mut line);
        self.platform.log(line);
    }

    /// Deletes the files of a folder, and returns their number.
    async fn files_erased(&self, folder: &str) -> Result<u64> {
        match self.platform.erase_files(folder).await {
            Ok(count) => Ok(count),
            Err(FileFault::NoBucket) => Ok(0),
            Err(FileFault::Failed) => {
                let message = "The session's files could not be deleted, so nothing else was. Send the same request again.";
                Err(Fault::internal(message))
            }
        }
    }

    /// Frees the storage of an object without a session, or sets the alarm of an unfinished erasure.
    pub(super) async fn end_erasure(&self, context: &RequestContext) -> Result<()> {
        if self.store.receipt()?.is_some() {
            return self.ensure_alarm(context.deployment.turn_alarm_ms);
        }
        let is_empty = self.store.session()?.is_none() && !self.store.is_building_fork()?;
        // The alarm is set for what is owed all the same.
        if is_empty && self.store.tasks().next_at(self.platform.now_ms())?.is_none() {
            // Freeing the storage deletes the alarm. A turn that begins meanwhile sets a new one.
            self.alarm.forget();
            self.store.forget();
            self.platform.free_storage().await?;
        }
        Ok(())
    }

    /// The session that began at that time. Another request may have erased it meanwhile, and it may have begun anew.
    fn session_of(&self, life: Option<u64>) -> Result<Option<Session>> {
        Ok(self.store.session()?.filter(|session| Some(session.created_at) == life))
    }

    /// Stops the running turn and deletes the session's files. The rows are erased afterwards, so that an
    /// erasure that is cut off here can be repeated. If a turn ran during the deletion, the turn may have
    /// kept a file, and the deletion is repeated.
    async fn erase_files(&self, life: Option<u64>) -> Result<u64> {
        let mut erased = 0;
        while self.session_of(life)?.is_some() {
            self.running.stop().await;
            let begun = self.running.begun.get();
            self.give_lease_back().await?;
            let folder = FileId::folder(&self.platform.object_id());
            erased += self.files_erased(&folder).await?;
            if self.running.begun.get() == begun {
                break;
            }
        }
        Ok(erased)
    }
}
