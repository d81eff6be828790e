//! The boundary before each model call (interface §14): all steers that have come join the conversation there, in the
//! order of their acceptance, behind what the call is owed. Steers that come too late for a call of their turn are kept:
//! the next turn's model sees them.

use futures_util::FutureExt;

use super::model_call::{Transcript, estimate_cost, keep_to_budget};
use super::running_turn::{Reasoner, RunningTurn};
use crate::composition::compose_steer;
use crate::contract::{Progress, Result, SteerStep, UserWarning};
use crate::persistence::{Session, SessionStore, Turn, UnplacedSteer};
use crate::ports::{Database, Platform};

/// The bytes of steers above which each is a piece of work of its own.
const SLICE_BYTES: u64 = 64 * 1024;

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Has the next model call take all steers of the turn. The budget is looked at first: what a call over it would
    /// have taken is kept.
    pub(super) async fn deliver_steers(&self, running: &mut RunningTurn<'_>) -> Result<()> {
        if !self.store.owes_steers(&running.turn) {
            return Ok(());
        }
        self.deliver_owed_steers(running).boxed_local().await
    }

    async fn deliver_owed_steers(&self, running: &mut RunningTurn<'_>) -> Result<()> {
        self.take_lease(running).await?;
        keep_to_budget(running, 0)?;
        let RunningTurn { session, turn, live_text, .. } = running;
        let unplaced = self.store.unplaced_steers(turn)?;
        let steers = self.store.count_steers(turn);
        let (mut ids, mut messages) = (Vec::new(), Vec::new());
        if steers.placed > steers.delivered {
            // The turn had failed before a call of it took them.
            let kept = self.store.steers(turn)?.into_iter();
            let kept = kept.filter(|steer| steer.seq.is_some() && steer.delivered.is_none());
            ids.extend(kept.map(|steer| steer.steer_id));
        }
        for steer in unplaced {
            if steers.undelivered_bytes() > SLICE_BYTES {
                self.platform.yield_to_others().await;
            }
            messages.push(composed(&steer, session, turn)?);
            ids.push(steer.steer_id);
        }
        let now = self.platform.now_ms();
        let before = turn.progress.steers.delivered;
        self.store.durable_step(|| {
            self.store.place_steers(turn, messages)?;
            self.store.deliver_steers(turn, steers.accepted_bytes, now)
        })?;
        self.run.report.borrow_mut().steers += turn.progress.steers.delivered - before;
        for id in &ids {
            let (steer_id, state) = (id.as_str(), SteerStep::Delivered);
            live_text.progress(Progress::Steer { steer_id, state });
        }
        Ok(())
    }

    /// Records a model call that an interrupt has dropped: its text is taken back, and it counts with what it has
    /// cost so far.
    pub(super) fn drop_call(
        &self,
        running: &mut RunningTurn<'_>,
        mut transcript: Transcript,
        shown: bool,
    ) -> Result<()> {
        if shown {
            running.live_text.discard(transcript.segment);
            running.turn.progress.pass_segment(transcript.segment);
        }
        transcript.interrupted = true;
        estimate_cost(&self.store, &running.session, &mut transcript)?;
        self.run.report.borrow_mut().interrupts += 1;
        self.return_to_service(running)?;
        self.record_attempt(running, &transcript)
    }
}

/// Keeps the steers of a turn that ends without a further model call: they join the conversation at once, or, where
/// calls still wait for their outputs, behind those.
pub(super) fn keep_steers<D: Database>(
    store: &SessionStore<D>,
    session: &mut Session,
    turn: &mut Turn,
) -> Result<()> {
    if !store.has_unplaced_steers(turn) {
        return Ok(());
    }
    if session.open_calls_of(turn.ordinal).is_some() {
        session.state.waiting_steers_turn = turn.ordinal;
        return Ok(());
    }
    place_steers(store, session, turn)
}

/// Puts the kept steers of an earlier turn into the conversation, whose calls have got their outputs.
pub(super) fn place_waiting_steers<D: Database>(
    store: &SessionStore<D>,
    session: &mut Session,
) -> Result<()> {
    match std::mem::take(&mut session.state.waiting_steers_turn) {
        0 => Ok(()),
        ordinal => {
            let mut turn = store.turn_at(ordinal)?;
            place_steers(store, session, &mut turn)?;
            store.save_progress(&mut turn)
        }
    }
}

/// Puts the turn's steers that have no place into the conversation, in a step that saves the turn.
fn place_steers<D: Database>(
    store: &SessionStore<D>,
    session: &Session,
    turn: &mut Turn,
) -> Result<()> {
    let mut messages = Vec::new();
    for steer in store.unplaced_steers(turn)? {
        messages.push(composed(&steer, session, turn)?);
    }
    store.place_steers(turn, messages)
}

/// A steer as a message of the conversation, with its place among the turn's steers.
fn composed(steer: &UnplacedSteer, session: &Session, turn: &mut Turn) -> Result<(u32, String)> {
    let (message, warnings) = compose_steer(&steer.content, &session.mode)?;
    for warning in warnings {
        UserWarning::add_text_once(warning, &mut turn.progress.user_warnings);
    }
    Ok((steer.position, message))
}
