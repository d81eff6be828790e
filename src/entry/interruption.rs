//! A turn that is stored as running although nothing runs it: its instance was lost in a crash, an
//! eviction or a deploy (interface §2, Turns). It is resumed once; then it fails.

use super::admission::Admission;
use crate::contract::{ErrorCode, Fault, TurnStatus};
use crate::persistence::{Session, StoredOutcome, Turn};
use crate::ports::{Database, Platform};
use crate::reasoner::resume_turn;

/// The attempts that a submission gets, the first run included.
const MAX_ATTEMPTS: u32 = 2;

/// A turn that lost its instance, as it is stored.
#[derive(Debug)]
pub(super) struct InterruptedTurn {
    session: Session,
    turn: Turn,
}

impl InterruptedTurn {
    /// It may run once more.
    pub(super) fn may_resume(&self) -> bool {
        self.turn.attempts < MAX_ATTEMPTS
    }
}

impl<P: Platform, D: Database> Admission<'_, P, D> {
    /// The turn that lost its instance, if there is one. The caller knows that no turn runs.
    pub(super) fn interrupted_turn(&self) -> Result<Option<InterruptedTurn>, Fault> {
        let Some(session) = self.store.session()? else { return Ok(None) };
        let Some(ordinal) = session.live_turn else { return Ok(None) };
        let turn = self.store.turn_at(ordinal)?;
        Ok((turn.status == TurnStatus::Running).then_some(InterruptedTurn { session, turn }))
    }

    /// Stores an interrupted turn as resumed, and gives it to be run.
    pub(super) fn resume_interrupted(&self, interrupted: InterruptedTurn) -> Result<Turn, Fault> {
        let InterruptedTurn { mut session, mut turn } = interrupted;
        self.look_after()?;
        resume_turn(self.store, &mut session, &mut turn, self.platform.now_ms())?;
        Ok(turn)
    }

    /// Fails a turn that was interrupted too often, and gives its ordinal.
    pub(super) fn give_up_interrupted(&self, interrupted: InterruptedTurn) -> Result<u64, Fault> {
        let InterruptedTurn { mut session, mut turn } = interrupted;
        let fault = Fault::new(
            ErrorCode::TurnInterrupted,
            "The turn was interrupted more than once. Send the same request again to go on from its last step.",
        );
        turn.status = TurnStatus::Failed;
        let stored = StoredOutcome::of(&fault.into(), None);
        self.store.end(&mut session, &mut turn, None, &stored, self.platform.now_ms())?;
        Ok(turn.ordinal)
    }
}
