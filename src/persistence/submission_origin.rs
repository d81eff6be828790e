//! Where a submission comes from: who sent it, and under which catalog it ran. The latest submission's stands with its
//! turn's progress, that of an earlier one in its own row. Whoever asked for a call is not whoever decides on it
//! (interface §12, `By`).

use serde::{Deserialize, Serialize};

use super::progress::TurnProgress;
use super::records::Turn;
use super::session_store::SessionStore;
use crate::contract::{CallerRecord, CatalogStamp, Result};
use crate::ports::{Database, Row};

/// Where a submission comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SubmissionOrigin {
    #[serde(flatten)]
    pub(crate) caller: CallerRecord,
    #[serde(rename = "Catalog", default, skip_serializing_if = "Option::is_none")]
    pub(crate) catalog: Option<CatalogStamp>,
}

impl SubmissionOrigin {
    /// The origin of a turn's latest submission.
    pub(super) fn of_latest(progress: &TurnProgress) -> Self {
        Self { caller: progress.caller.clone(), catalog: progress.catalog.clone() }
    }
}

impl<D: Database> SessionStore<D> {
    /// When a turn's submissions were accepted, and where they come from, oldest first.
    pub(crate) fn submission_origins(&self, turn: &Turn) -> Result<Vec<(u64, SubmissionOrigin)>> {
        let earlier = "SELECT accepted_at, caller FROM submissions WHERE turn = ? ORDER BY number";
        let earlier = self.rows_of_calls(earlier, &[turn.ordinal.into()])?;
        let origin = |row: &Row| Ok((row.get("accepted_at")?, row.json("caller")?));
        let mut origins: Vec<_> = earlier.iter().map(origin).collect::<Result<_>>()?;
        origins.push((turn.accepted_at, SubmissionOrigin::of_latest(&turn.progress)));
        Ok(origins)
    }

    /// The senders of a turn's steers, and of its submissions before that number, but of those that held decisions alone.
    pub(crate) fn senders_of_words(&self, turn: &Turn, before: u32) -> Result<Vec<CallerRecord>> {
        let progress = &turn.progress;
        let holds_words = |number: u32| number < before && !progress.decisions.contains(&number);
        let followed = "SELECT number, caller FROM submissions WHERE turn = ?";
        let sender =
            |row: &Row| Ok((row.get("number")?, row.json::<SubmissionOrigin>("caller")?.caller));
        let followed = self.rows_of_calls(followed, &[turn.ordinal.into()])?;
        let mut submissions: Vec<(u32, CallerRecord)> =
            followed.iter().map(sender).collect::<Result<_>>()?;
        submissions.push((progress.submission, progress.caller.clone()));
        submissions.retain(|(number, _)| holds_words(*number));
        let steers = self.steers(turn)?.into_iter().map(|steer| steer.caller);
        Ok(submissions.into_iter().map(|(_, caller)| caller).chain(steers).collect())
    }
}
