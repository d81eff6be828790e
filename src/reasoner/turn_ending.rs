//! The one place where a submission ends or pauses, whoever ends it: its status, its outcome, the messages about it, and
//! what becomes of its calls, its background response and its steers.

use super::model_call::{Transcript, estimate_cost};
use super::settlement::settle_open_calls;
use super::steering::keep_steers;
use crate::catalog::Catalog;
use crate::composition::Abandonment;
use crate::contract::{ErrorCode, Fault, Result, TurnStatus};
use crate::persistence::{ModelOutputRecord, Session, SessionStore, StoredOutcome, Turn};
use crate::ports::{Database, Platform};
use crate::webhooks::messages_of;

/// The end of a submission.
#[derive(Clone, Copy)]
pub(crate) struct TurnEnd<'a> {
    /// What the turn is from here on.
    pub(crate) status: TurnStatus,
    pub(crate) outcome: &'a StoredOutcome,
    /// The model output with the final text, recorded in the same step.
    pub(crate) last: Option<&'a ModelOutputRecord<'a>>,
    /// Whether a failed turn's background response is given up, uncounted: nobody knows what became of it.
    pub(crate) gives_up: bool,
    /// It says which webhooks are told: without one, none.
    pub(crate) catalog: Option<&'a Catalog>,
    pub(crate) now_ms: u64,
}

/// Ends or pauses the running submission in one durable step. A failed or aborted turn leaves its session usable.
/// `before_messages` comes before the step where a webhook is told: an alarm that is set within a step is lost with it.
/// Nothing is written when the storage fails.
pub(crate) fn end_turn<P: Platform, D: Database>(
    platform: &P,
    store: &SessionStore<D>,
    session: &mut Session,
    turn: &mut Turn,
    end: TurnEnd<'_>,
    before_messages: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let TurnEnd { status, outcome, last, gives_up, catalog, now_ms } = end;
    turn.status = status;
    let webhooks = match catalog {
        Some(catalog) => messages_of(platform, catalog, session, turn, outcome, now_ms)?,
        None => Vec::new(),
    };
    if !webhooks.is_empty() {
        before_messages()?;
    }
    store.durable_step(|| {
        match status {
            TurnStatus::Running | TurnStatus::AwaitingTools | TurnStatus::Completed => {}
            TurnStatus::Failed => {
                if gives_up {
                    store.give_up_pending(session, turn, now_ms)?;
                }
                keep_steers(store, session, turn)?;
            }
            TurnStatus::Aborted => {
                count_unread(store, session, turn)?;
                store.give_up_pending(session, turn, now_ms)?;
                settle_open_calls(store, session, Abandonment::Cancelled)?;
                keep_steers(store, session, turn)?;
            }
        }
        store.end_submission(session, turn, outcome, last, &webhooks, now_ms)
    })
}

/// Counts the background response that a cancelled turn no longer reads.
fn count_unread<D: Database>(
    store: &SessionStore<D>,
    session: &mut Session,
    turn: &mut Turn,
) -> Result<()> {
    let Some(pending) = &turn.progress.pending else { return Ok(()) };
    let mut transcript = Transcript::of_pending(pending)?;
    estimate_cost(store, session, &mut transcript)?;
    transcript.fault = Some(turn_aborted());
    transcript.count(session, turn);
    store.record_attempt(session, turn, &transcript.to_json()?)
}

/// The fault of a turn that was cancelled.
pub(crate) fn turn_aborted() -> Fault {
    Fault::new(ErrorCode::TurnAborted, "The turn was cancelled. Start another one.")
}
