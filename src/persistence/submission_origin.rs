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
    /// When a turn's submissions were accepted, and where they come from, in the order of their numbers, from 0.
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
        let submissions = (0..before).zip(self.submission_origins(turn)?);
        let of_words = submissions.filter(|(number, _)| !turn.progress.decisions.contains(number));
        let steers = self.steers(turn)?.into_iter().map(|steer| steer.caller);
        Ok(of_words.map(|(_, (_, origin))| origin.caller).chain(steers).collect())
    }
}
