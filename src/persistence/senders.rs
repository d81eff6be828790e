//! Who has sent words of a turn (interface §12, `By`): whoever asked for a call is not whoever decides on it.

use super::records::Turn;
use super::session_store::SessionStore;
use super::submission_origin::SubmissionOrigin;
use crate::contract::{CallerRecord, Fault};
use crate::ports::{Database, Row};

impl<D: Database> SessionStore<D> {
    /// The senders of a turn's steers, and of its submissions before that number, but of those that held decisions alone.
    pub(crate) fn senders_of_words(
        &self,
        turn: &Turn,
        before: u32,
    ) -> Result<Vec<CallerRecord>, Fault> {
        let progress = &turn.progress;
        let holds_words = |number: u32| number < before && !progress.decisions.contains(&number);
        let followed = "SELECT number, caller FROM submissions WHERE turn = ?";
        let sender = |row: &Row| Ok((row.get("number")?, SubmissionOrigin::of_row(row)?.caller));
        let followed = self.rows_of_calls(followed, &[turn.ordinal.into()])?;
        let mut submissions: Vec<(u32, CallerRecord)> =
            followed.iter().map(sender).collect::<Result<_, Fault>>()?;
        submissions.push((progress.submission, progress.caller.clone()));
        submissions.retain(|(number, _)| holds_words(*number));
        let steers = self.steers(turn)?.into_iter().map(|steer| steer.caller);
        Ok(submissions.into_iter().map(|(_, caller)| caller).chain(steers).collect())
    }
}
