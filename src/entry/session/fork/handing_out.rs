//! What a session gives out of itself to its fork: a page for each question, so that others go on between two of them.

use super::super::session_host::SessionHost;
use super::questions::{Part, PartQuestion, PartReply};
use crate::contract::Fault;
use crate::ports::{Database, Platform};

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// The part that a question is about.
    pub(super) async fn hand_out(&self, asked: PartQuestion) -> Result<PartReply, Fault> {
        self.platform.yield_to_others().await;
        let PartQuestion { created_at, turns, part } = asked;
        let session = self.store.session()?.filter(|session| session.created_at == created_at);
        let Some(session) = session else { return Ok(PartReply::Gone) };
        if let Some(live) = session.live_turn.filter(|live| *live <= turns) {
            return Ok(PartReply::NotEnded(self.store.turn_at(live)?.turn_id));
        }
        Ok(match part {
            Part::Head => PartReply::Head(Box::new(self.store.fork_head(turns)?)),
            Part::Rows(place) => PartReply::Rows(self.store.fork_rows(turns, place)?),
            Part::Text(place) => PartReply::Text(self.store.fork_text(&place)?),
        })
    }
}
