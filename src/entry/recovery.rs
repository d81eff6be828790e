//! What goes on without a client (interface §2, Turns): a turn whose instance was lost in a crash, an
//! eviction or a deploy is resumed once, then it fails; and an erasure is brought to its end.

use std::rc::Rc;

use serde_json::json;

use super::admission_context::{AdmissionContext, ContextSource};
use super::session_host::SessionHost;
use crate::contract::{ErrorCode, Fault, TurnStatus};
use crate::persistence::StoredOutcome;
use crate::ports::{Database, Deployment, Platform};
use crate::reasoner::resume_turn;

/// The attempts that a submission gets, the first run included.
const MAX_ATTEMPTS: u32 = 2;

/// What recovery found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recovered {
    /// No turn had lost its instance, or the one that had runs again.
    Nothing,
    /// The turn of this ordinal was interrupted too often, and has failed now.
    GivenUp(u64),
    /// A turn cannot go on before the catalog is mended.
    Waits,
}

impl Recovered {
    /// The ordinal of the turn that has failed now.
    pub(super) fn given_up(self) -> Option<u64> {
        match self {
            Self::GivenUp(ordinal) => Some(ordinal),
            Self::Nothing | Self::Waits => None,
        }
    }
}

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// The alarm has rung.
    ///
    /// # Errors
    /// `internal` when not even the next alarm can be set: the runtime then rings again by itself.
    pub async fn alarm_rang(self: &Rc<Self>, source: &ContextSource) -> Result<(), Fault> {
        self.alarm.forget();
        // A malformed variable must not keep a running turn from its alarm.
        let deployment = source.deployment(self.platform.as_ref());
        let every_ms = deployment
            .map_or_else(|_| Deployment::default().turn_alarm_ms, |known| known.turn_alarm_ms);
        if let Err(fault) = self.look_after(source, every_ms).await {
            // The runtime would ring a few times more, and then never again.
            self.platform.log(json!({
                "event": "alarm_failed", "level": "error",
                "code": fault.code.as_str(), "message": fault.message,
            }));
            self.alarm.ensure(self.platform.as_ref(), every_ms)?;
        }
        Ok(())
    }

    /// A turn that runs keeps its alarm, one that was interrupted is resumed, an erasure goes on, and
    /// storage that holds nothing any more is freed.
    async fn look_after(
        self: &Rc<Self>,
        source: &ContextSource,
        every_ms: u64,
    ) -> Result<(), Fault> {
        if self.live.borrow().is_some() {
            self.alarm.ensure(self.platform.as_ref(), every_ms)?;
        }
        let context = source.context(self.platform.as_ref(), "").await?;
        let recovered = self.recover(&context)?;
        self.resume_erasure(&context).await?;
        self.end_erasure(&context).await?;
        match context.catalog {
            Err(fault) if recovered == Recovered::Waits => Err(fault),
            _ => Ok(()),
        }
    }

    /// Resumes a turn that is stored as running and runs nowhere, or fails it when it was interrupted
    /// too often.
    pub(super) fn recover(self: &Rc<Self>, context: &AdmissionContext) -> Result<Recovered, Fault> {
        if self.live.borrow().is_some() {
            return Ok(Recovered::Nothing);
        }
        let Some(mut session) = self.store.session()? else { return Ok(Recovered::Nothing) };
        let Some(ordinal) = session.live_turn else { return Ok(Recovered::Nothing) };
        let mut turn = self.store.turn_at(ordinal)?;
        if turn.status != TurnStatus::Running {
            return Ok(Recovered::Nothing);
        }
        let now = self.platform.now_ms();
        if turn.attempts >= MAX_ATTEMPTS {
            let fault = Fault::new(
                ErrorCode::TurnInterrupted,
                "The turn was interrupted more than once. Send the same request again to go on from its last step.",
            );
            turn.status = TurnStatus::Failed;
            let outcome = StoredOutcome::of(&fault.into(), None);
            self.store.end(&mut session, &mut turn, None, &outcome, now)?;
            return Ok(Recovered::GivenUp(ordinal));
        }
        if context.catalog.is_err() {
            return Ok(Recovered::Waits);
        }
        self.admission(context).look_after()?;
        resume_turn(&self.store, &mut session, &mut turn, now)?;
        self.run(context, &turn)?;
        Ok(Recovered::Nothing)
    }
}
