//! What other objects ask a session: the object of its user (interface §13), a fork and a parent (`fork`).

use super::session_host::SessionHost;
use crate::contract::Result;
use crate::entry::object_question::{answered_elsewhere, read, reply};
use crate::entry::request::ArrivingBody;
use crate::entry::request_context::{IsolateSettings, RequestContext};
use crate::entry::response::{Response, object_failed};
use crate::object::TaskKind;
use crate::ports::{Database, ObjectQuestion, Platform};
use crate::users::{
    Collection, Done, Ending, EraseQuestion, EraseReply, Revocation, SummaryQuestion, SummaryReply,
};

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// The reply to a question.
    pub(super) async fn answer<S>(
        &self,
        source: &IsolateSettings,
        asked: ObjectQuestion,
        body: impl ArrivingBody,
    ) -> Result<Response<S>> {
        match asked {
            ObjectQuestion::Fork => self.answer_to_become_a_fork(source, body).await,
            ObjectQuestion::ForkPart => self.answer_with_a_part(body).await,
            ObjectQuestion::Summary => {
                let SummaryQuestion { .. } = read(body).await?;
                let summary = self.summary()?;
                let is_building_fork = self.store.is_building_fork()?;
                reply::<SummaryQuestion, _>(&SummaryReply { summary, is_building_fork })
            }
            ObjectQuestion::Revoke => {
                let Revocation { credentials_valid_from } = read(body).await?;
                self.store.revoke(credentials_valid_from)?;
                reply::<Revocation, _>(&Done {})
            }
            ObjectQuestion::Collected => {
                let context = source.context(self.platform.as_ref(), "", None).await?;
                let Collection { incarnation } = read(body).await?;
                self.store.receipt_collected(incarnation)?;
                self.end_erasure(&context).await?;
                reply::<Collection, _>(&Done {})
            }
            ObjectQuestion::Erase => {
                let context = source.context(self.platform.as_ref(), "", None).await?;
                let question: EraseQuestion = read(body).await?;
                let erased = self.erase_life(&context, &question).await;
                reply::<EraseQuestion, _>(
                    &erased.unwrap_or_else(|fault| EraseReply::Failed { fault }),
                )
            }
            ObjectQuestion::Search
            | ObjectQuestion::Tools
            | ObjectQuestion::Keys
            | ObjectQuestion::Register
            | ObjectQuestion::Report
            | ObjectQuestion::Lease
            | ObjectQuestion::Revoked => Err(answered_elsewhere()),
        }
    }

    /// Erases the incarnation of the session that a question is about, and every earlier one.
    async fn erase_life(
        &self,
        context: &RequestContext,
        question: &EraseQuestion,
    ) -> Result<EraseReply> {
        let id = &question.session_id;
        let is_unreadable = self.store.session().is_err() && self.store.newer_form()?.is_some();
        if is_unreadable && !question.only_expired {
            if question.ending == Ending::Rows {
                // It takes no submission, and keeps no receipt: whoever counts its receipt erases it.
                return Ok(EraseReply::Gone);
            }
            self.erasures.void(question.incarnation);
            let receipt = self.erase(context, id, question.received_at, question.ending).await?;
            return Ok(EraseReply::Erased { receipt, is_done: true });
        }
        if question.credentials_valid_from > 0 {
            // It may be long until it can be erased. What a report was told is not stored yet.
            self.store.revoke(question.credentials_valid_from)?;
        }
        match self.store.session()? {
            Some(session) if session.state.incarnation > question.incarnation => {
                return Ok(EraseReply::Gone);
            }
            Some(session) if question.only_expired && !self.is_expired(context, &session) => {
                // The alarm finds out when the retention ends; an earlier one may be set that this instance does not know.
                self.ensure_alarm(context.deployment.turn_alarm_ms)?;
                let summary = self.summary()?.ok_or_else(object_failed)?;
                return Ok(EraseReply::Kept { summary });
            }
            Some(_) => {
                self.erasures.void(question.incarnation);
                let erased = self.erase(context, id, question.received_at, question.ending).await;
                self.end_erasure(context).await?;
                let receipt = erased?;
                let is_done = !self.store.has_open_responses()?;
                return Ok(EraseReply::Erased { receipt, is_done });
            }
            None => {
                self.erasures.overtake(question.received_at);
                self.erasures.void(question.incarnation);
                self.drop_build(question.incarnation)?;
            }
        }
        // The task goes on, also in a session that begins anew.
        if question.ending == Ending::WhenDone {
            self.attempt_now(context, TaskKind::Deletion).await?;
        }
        let receipt = self.store.receipt()?;
        let is_done = !self.store.has_open_responses()?;
        self.end_erasure(context).await?;
        Ok(receipt.map_or(EraseReply::Gone, |receipt| EraseReply::Erased { receipt, is_done }))
    }
}
