//! The responses that the model service stores and is to delete with the session: their ids, from the moment when the
//! service names a response until it has deleted it, or that is given up: refused or unanswered too often, or not
//! wanted any more by the operator when the session is erased.

use serde::{Deserialize, Serialize};

use super::SessionStore;
use super::schema::RESPONSES;
use crate::contract::Result;
use crate::contract::closed_list;
use crate::object::has_table;
use crate::ports::{Database, Row, insert};

/// How often the model service is asked to delete a response at least before that is given up.
pub(crate) const DELETION_ATTEMPTS: u32 = 10;

/// The ids of kept responses that are read at once: a long session has hundreds of thousands.
const KEPT_AT_ONCE: u32 = 1_000;

/// Whether a response's session lives.
const LIVES: &str = "standing IN ('kept', 'background')";

closed_list! {
    /// What is to become of a response that the service keeps.
    pub enum DeletionState {
        /// Its session lives.
        Kept = "kept",
        /// The same of one whose call an instance that is lost has not lost: it was made in the background, or another
        /// attempt has followed it.
        Background = "background",
        /// The response is to be deleted.
        Pending = "pending",
        /// The service has just refused to delete it.
        Refused = "refused",
        /// Whom to ask is not known any more.
        Unreachable = "unreachable",
    }
}

/// The number of responses that the model service may have stored, by what became of them. Each is
/// counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct StoredResponses {
    /// Deleted, or unknown to the service.
    pub deleted: u64,
    /// Still to be deleted; the session's alarm sees to it.
    pub pending: u64,
    /// Given up, because the service refused to delete them the last time, after many attempts.
    pub refused: u64,
    /// Nobody can be asked: the agent context or its key is gone, or the service never answered.
    pub unreachable: u64,
    /// Attempts at model calls that were cut before the id of their response was known: each may have left a
    /// response at the service, which nobody can ask for.
    pub unknown: u64,
}

impl StoredResponses {
    /// The sums of both.
    pub fn plus(self, other: Self) -> Self {
        Self {
            deleted: self.deleted.saturating_add(other.deleted),
            pending: self.pending.saturating_add(other.pending),
            refused: self.refused.saturating_add(other.refused),
            unreachable: self.unreachable.saturating_add(other.unreachable),
            unknown: self.unknown.saturating_add(other.unknown),
        }
    }
}

impl<D: Database> SessionStore<D> {
    /// Keeps the id of a response that the model service stores. Keeping it again writes nothing.
    pub(crate) fn keep_response(&self, id: &str, agent_context: &str) -> Result<()> {
        self.durable_step(|| self.add_response(id, agent_context, DeletionState::Kept))
    }

    /// Responses to delete, each with the agent context of the call that made it, those first that were asked for the fewest
    /// times.
    pub(crate) fn responses_to_delete(&self, limit: u32) -> Result<Vec<(String, String)>> {
        if !self.has_receipt()? {
            return Ok(Vec::new());
        }
        let statement = format!(
            "SELECT response_id, agent_context FROM responses WHERE NOT {LIVES}
             ORDER BY attempts, response_id LIMIT ?"
        );
        let response = |row: &Row| Ok((row.get("response_id")?, row.get("agent_context")?));
        self.database.query(&statement, &[limit.into()])?.iter().map(response).collect()
    }

    /// Notes that another attempt follows the one that made a response, if it is kept.
    pub(crate) fn pass_response(&self, id: &str) -> Result<()> {
        if !has_table(self.database.as_ref(), "responses")? {
            return Ok(());
        }
        let pass = "UPDATE responses SET standing = 'background' WHERE response_id = ? AND standing = 'kept'";
        self.database.execute(pass, &[id.into()])
    }

    /// The number of those of the living session's responses whose calls an instance may have lost, by their ids.
    pub(super) fn count_kept_responses(&self, is_lost: impl Fn(&String) -> bool) -> Result<u64> {
        self.ensure_responses()?;
        let statement = "SELECT response_id FROM responses
             WHERE standing = 'kept' AND response_id > ? ORDER BY response_id LIMIT ?";
        let (mut count, mut last) = (0, String::new());
        loop {
            let parameters = [last.as_str().into(), KEPT_AT_ONCE.into()];
            let rows = self.database.query(statement, &parameters)?;
            let ids: Vec<String> =
                rows.iter().map(|row| row.get("response_id")).collect::<Result<_>>()?;
            count += ids.iter().filter(|id| is_lost(id)).count() as u64;
            match ids.into_iter().next_back() {
                Some(id) => last = id,
                None => return Ok(count),
            }
        }
    }

    /// The number of responses that are to be deleted, and of those among them whom nobody can be asked
    /// about.
    pub(super) fn count_responses(&self) -> Result<(u64, u64)> {
        self.ensure_responses()?;
        let count = |which: &str| {
            self.number(&format!("SELECT COUNT(*) AS number FROM responses WHERE {which}"), &[])
        };
        Ok((count(&format!("NOT {LIVES}"))?, count("standing = 'unreachable'")?))
    }

    /// Adds a response unless it is known.
    pub(super) fn add_response(
        &self,
        id: &str,
        agent_context: &str,
        deletion_state: DeletionState,
    ) -> Result<()> {
        self.ensure_responses()?;
        let standing = deletion_state.as_str();
        insert!(self.database, "INSERT OR IGNORE INTO" responses (attempts = 0) {
            response_id: id, agent_context, standing,
        })
    }

    /// The agent contexts under which the kept responses of the living session were made.
    pub(crate) fn agents_of_responses(&self) -> Result<Vec<String>> {
        if !has_table(self.database.as_ref(), "responses")? {
            return Ok(Vec::new());
        }
        let kept = format!("SELECT DISTINCT agent_context FROM responses WHERE {LIVES}");
        self.database.query(&kept, &[])?.iter().map(|row| row.get("agent_context")).collect()
    }

    /// Gives up the responses of the living session: they are to be deleted, or forgotten, as `deletes` says of the agent
    /// context that they were made under.
    pub(super) fn release_responses(&self, deletes: &dyn Fn(&str) -> bool) -> Result<()> {
        for agent_context in self.agents_of_responses()? {
            let released = match deletes(&agent_context) {
                true => "UPDATE responses SET standing = 'pending'",
                false => "DELETE FROM responses",
            };
            let statement = format!("{released} WHERE {LIVES} AND agent_context = ?");
            self.database.execute(&statement, &[agent_context.into()])?;
        }
        Ok(())
    }

    /// Notes what became of a request to delete a response: `None` when it is deleted. Where that ends, it is counted;
    /// without `gives_up` it never ends while the service keeps the response.
    pub(super) fn settle_response(
        &self,
        id: &str,
        deletion_state: Option<DeletionState>,
        gives_up: bool,
        counts: &mut StoredResponses,
    ) -> Result<()> {
        let known = format!("SELECT attempts FROM responses WHERE response_id = ? AND NOT {LIVES}");
        let Some(row) = self.database.first(&known, &[id.into()])? else { return Ok(()) };
        let attempts = row.get::<u32>("attempts")?.saturating_add(1);
        match deletion_state {
            None => counts.deleted += 1,
            Some(deletion_state) if attempts < DELETION_ATTEMPTS || !gives_up => {
                let asked = "UPDATE responses SET standing = ?, attempts = ? WHERE response_id = ?";
                let deletion_state = deletion_state.as_str().into();
                return self.database.execute(asked, &[deletion_state, attempts.into(), id.into()]);
            }
            Some(DeletionState::Refused) => counts.refused += 1,
            Some(
                DeletionState::Kept
                | DeletionState::Background
                | DeletionState::Pending
                | DeletionState::Unreachable,
            ) => counts.unreachable += 1,
        }
        self.database.execute("DELETE FROM responses WHERE response_id = ?", &[id.into()])
    }

    /// Drops the tables of an erasure that is complete.
    pub(super) fn drop_receipt(&self) -> Result<()> {
        self.database.execute("DROP TABLE IF EXISTS receipt", &[])?;
        let left = self.number("SELECT COUNT(*) AS number FROM responses", &[])?;
        if left == 0 {
            self.database.execute("DROP TABLE responses", &[])?;
            self.memory.borrow_mut().has_responses = false;
        }
        Ok(())
    }

    /// Whether an erasure is under way.
    pub(super) fn has_receipt(&self) -> Result<bool> {
        has_table(self.database.as_ref(), "receipt")
    }

    fn ensure_responses(&self) -> Result<()> {
        if !self.memory.borrow().has_responses {
            self.database.execute(RESPONSES, &[])?;
            self.memory.borrow_mut().has_responses = true;
        }
        Ok(())
    }
}
