//! The last net: the service refuses the call, and no remedy knows why. The call is made again with less of the
//! conversation, rung by rung, until it is taken, and later calls stay on that rung. A rung whose body was refused already
//! costs no call. Where this turn alone is refused as well, the session goes back to the rung that it had.

use serde_json::json;

use super::remediable;
use crate::catalog::CompactionBy;
use crate::contract::Result;
use crate::llm_call::CallFailure;
use crate::persistence::{CompactionReason, Rung};
use crate::ports::{Database, Platform};
use crate::reasoner::compaction::Reduction;
use crate::reasoner::model_call::conversation_input::Input;
use crate::reasoner::model_call::exchange::Exchange;
use crate::reasoner::running_turn::{Reasoner, RunningTurn};

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Decides how much of the conversation the next call sends, before it is made.
    pub(crate) fn begin_on_rung(&self, running: &mut RunningTurn<'_>) {
        let (chained, now) = (running.is_chained(), self.platform.now_ms());
        let model = self.model(running);
        running.session.begin_on_rung(&running.turn, model, chained, now);
    }

    /// Makes a refused call again, rung by rung, and returns the last call.
    pub(super) async fn climb(
        &self,
        running: &mut RunningTurn<'_>,
        mut exchange: Exchange,
    ) -> Result<Exchange> {
        while let Some(failure) = remediable(running, &exchange)
            && self.leads_up(running, failure)
        {
            let why = (failure.plain_code().map(str::to_owned), failure.http_status());
            running.refused_bodies.push(exchange.transcript.body_sha256.clone());
            let Some(input) = self.next_rung(running).await? else {
                running.session.step_down(&mut running.turn);
                break;
            };
            self.log_rung(running, why);
            exchange = self.call_on_rung(running, exchange, &input).await?;
        }
        Ok(exchange)
    }

    /// Makes a refused call again with less. A 409 that has stayed after its repetitions is not repeated again.
    pub(super) async fn call_on_rung(
        &self,
        running: &mut RunningTurn<'_>,
        refused: Exchange,
        input: &Input,
    ) -> Result<Exchange> {
        running.tries_rung = true;
        let called = self.call_again(running, refused, input).await;
        running.tries_rung = false;
        called
    }

    /// Whether a refusal is one after which less is sent. What is too long is not, where the operator wants nothing left
    /// out. Nor is one that says what the service does not do, where the call has asked for that: words about storage in a
    /// call that stores nothing concern what it has sent.
    pub(super) fn leads_up(&self, running: &RunningTurn<'_>, failure: &CallFailure) -> bool {
        let is_final = failure.too_long() && running.agent.compaction.by == CompactionBy::None;
        let of_storage = running.is_chained() && failure.refused_storage();
        let of_background = running.asks_background() && failure.refused_background();
        !(is_final || of_storage || of_background)
            && failure.may_concern_conversation(self.model(running))
    }

    /// The input on the next rung; `None` where each was refused.
    async fn next_rung(&self, running: &mut RunningTurn<'_>) -> Result<Option<Input>> {
        if running.session.return_to_rung()
            && let Some(input) = self.unless_refused(running).await?
        {
            return Ok(Some(input));
        }
        let present = running.session.state.window.rung;
        // On the last one the cut moves.
        let last = present.filter(|rung| *rung == Rung::Turn);
        for rung in Rung::above(present).iter().copied().chain(last) {
            let model = self.model(running);
            running.session.climb_to(rung, &running.turn, model);
            let reason = CompactionReason::Refused;
            if rung == Rung::Turn && !self.compact(running, Reduction::LastNet, 0, reason).await? {
                return Ok(None);
            }
            if let Some(input) = self.unless_refused(running).await? {
                return Ok(Some(input));
            }
        }
        Ok(None)
    }

    /// What the next call sends; nothing if it is too long, or if the service has refused the same body in this step.
    async fn unless_refused(&self, running: &RunningTurn<'_>) -> Result<Option<Input>> {
        let input = Input::unsent(&self.store, running)?;
        let request = self.output_request(running, &input);
        let body = self.compose(&request, &input).await?.map(|composed| composed.sha256);
        let is_new = body.is_some_and(|body| !running.refused_bodies.contains(&body));
        Ok(is_new.then_some(input))
    }

    fn log_rung(&self, running: &RunningTurn<'_>, (code, status): (Option<String>, Option<u16>)) {
        self.platform.log(json!({
            "event": "conversation_reduced",
            "level": "warn",
            "agent_context": running.services.present().id,
            "model": self.model(running),
            "turn": running.turn.turn_id.as_str(),
            "rung": running.session.state.window.rung.map(Rung::as_str),
            "code": code,
            "status": status,
        }));
    }
}
