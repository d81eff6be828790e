//! What the object of a session's user asks the session (interface §13), and the way to what a fork and its parent ask
//! (`fork`). No client can ask it.

use std::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fork::is_fork_question;
use super::session_host::SessionHost;
use crate::contract::Fault;
use crate::entry::context::{AdmissionContext, ContextSource};
use crate::entry::response::{Response, object_failed};
use crate::ports::{Database, HttpFault, ObjectQuestion, Platform};
use crate::users::{
    Collection, Done, EraseQuestion, EraseReply, Revocation, SummaryQuestion, SummaryReply,
};

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// The reply to a question at this target; `None` for a client's request.
    pub(super) async fn answer<S>(
        &self,
        source: &ContextSource,
        target: &str,
        body: impl Future<Output = Result<Vec<u8>, HttpFault>>,
    ) -> Result<Response<S>, Fault> {
        if is_fork_question(target) {
            return self.answer_about_fork(source, target, body).await;
        }
        if target == ObjectQuestion::Summary.path() {
            let SummaryQuestion { .. } = read(body).await?;
            return reply(&SummaryReply { summary: self.reporter.summary()? });
        }
        if target == ObjectQuestion::Revoke.path() {
            let Revocation { tickets_before } = read(body).await?;
            self.store.revoke(tickets_before)?;
            return reply(&Done {});
        }
        let context = source.context(self.platform.as_ref(), "", None).await?;
        if target == ObjectQuestion::Collected.path() {
            let Collection { registration } = read(body).await?;
            self.store.receipt_collected(registration)?;
            self.end_erasure(&context).await?;
            return reply(&Done {});
        }
        let question: EraseQuestion = read(body).await?;
        let erased = self.erase_life(&context, &question).await;
        reply(&erased.unwrap_or_else(|fault| EraseReply::Failed { fault }))
    }

    /// Erases the life of the session that a question is about, and every earlier one.
    async fn erase_life(
        &self,
        context: &AdmissionContext,
        question: &EraseQuestion,
    ) -> Result<EraseReply, Fault> {
        let id = &question.session_id;
        match self.store.session()? {
            Some(session) if session.state.registration > question.registration => {
                return Ok(EraseReply::Gone);
            }
            Some(session) if question.only_expired && !self.is_expired(context, &session) => {
                self.erase_expired(context).await?;
                let summary = self.reporter.summary()?.ok_or_else(object_failed)?;
                return Ok(EraseReply::Kept { summary });
            }
            Some(_) => {
                self.erasing.void(question.registration);
                let erased = self.erase(context, id, question.received_at).await;
                self.end_erasure(context).await?;
                let receipt = erased?;
                let is_done = !self.store.has_open_responses()?;
                return Ok(EraseReply::Erased { receipt, is_done });
            }
            None => {
                self.erasing.void(question.registration);
                self.drop_build(question.registration)?;
            }
        }
        self.resume_erasure(context).await?;
        let receipt = self.store.receipt()?;
        let is_done = !self.store.has_open_responses()?;
        self.end_erasure(context).await?;
        Ok(receipt.map_or(EraseReply::Gone, |receipt| EraseReply::Erased { receipt, is_done }))
    }
}

/// Whether a request is a question of a user's object, or of another session.
pub(super) fn is_question(target: &str) -> bool {
    let questions = [
        ObjectQuestion::Summary,
        ObjectQuestion::Revoke,
        ObjectQuestion::Collected,
        ObjectQuestion::Erase,
    ];
    questions.iter().any(|question| target == question.path()) || is_fork_question(target)
}

async fn read<Q: DeserializeOwned>(
    body: impl Future<Output = Result<Vec<u8>, HttpFault>>,
) -> Result<Q, Fault> {
    let body = body.await.map_err(|_| object_failed())?;
    serde_json::from_slice(&body).map_err(|_| Fault::internal("A question is unreadable."))
}

fn reply<S>(reply: &impl Serialize) -> Result<Response<S>, Fault> {
    let text = serde_json::to_string(reply).map_err(|_| Fault::unwritable("A reply"))?;
    Ok(Response::json(200, text))
}
