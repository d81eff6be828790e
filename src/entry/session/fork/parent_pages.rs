//! What a session gives out of itself to its fork: a page for each question, so that others go on between two of them.

use super::super::session_host::SessionHost;
use super::questions::{PartQuestion, PartReply, SessionPart};
use crate::contract::Result;
use crate::entry::object_question::{read, reply};
use crate::entry::request::ArrivingBody;
use crate::entry::response::Response;
use crate::ports::{Database, Platform};

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// The reply to a fork's question for a part of the session.
    pub(crate) async fn answer_with_a_part<S>(
        &self,
        body: impl ArrivingBody,
    ) -> Result<Response<S>> {
        let asked: PartQuestion = read(body).await?;
        reply::<PartQuestion, _>(&self.hand_out(asked).await.unwrap_or_else(PartReply::Failed))
    }

    /// The part that a question is about.
    async fn hand_out(&self, asked: PartQuestion) -> Result<PartReply> {
        self.platform.yield_to_others().await;
        let PartQuestion { created_at, turns, part } = asked;
        let session = self.store.session()?.filter(|session| session.created_at == created_at);
        let Some(session) = session else { return Ok(PartReply::Gone) };
        if let Some(live) = session.open_turn.filter(|live| *live <= turns) {
            return Ok(PartReply::NotEnded(self.store.turn_at(live)?.turn_id));
        }
        Ok(match part {
            SessionPart::Head => PartReply::Head(Box::new(self.store.fork_head(turns)?)),
            SessionPart::Rows(place) => PartReply::Rows(self.store.fork_rows(turns, place)?),
            SessionPart::Text(place) => PartReply::Text(self.store.fork_text(&place)?),
        })
    }
}
