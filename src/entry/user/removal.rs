//! Removing sessions of a user (interface §13). The index hides a session first, then the session erases itself, then its
//! row leaves the index. The alarm repeats the second step until it is done, so a list never shows a session that is
//! gone, and no crash leaves one that the index does not know.

use super::session_asking::{ask_each, ask_session};
use super::user_host::UserHost;
use crate::contract::{Result, SessionId, no_session};
use crate::identity::Providers;
use crate::persistence::ErasureReceipt;
use crate::ports::{Database, Platform};
use crate::users::{
    Collection, Done, Ending, EraseQuestion, EraseReply, Forgetting, IndexedSession, ListingState,
};

/// The sessions that one ring of the alarm asks. The runtime limits the requests of an invocation.
const PER_PASS: u32 = 100;

/// The time after which a pass asks no further session, in milliseconds: each may wait minutes for a silent model service. The
/// runtime ends an alarm after a quarter of an hour, the object with it, and drops one that it has ended some times.
const PASS_MS: u64 = 300_000;

impl<P: Platform, D: Database> UserHost<P, D> {
    /// Erases one session (`DELETE /sessions/{SessionId}`) and returns its receipt. `received_at` is the time at which
    /// the Worker in front received the request.
    pub(super) async fn erase_session(
        &self,
        id: &SessionId,
        received_at: u64,
    ) -> Result<ErasureReceipt> {
        let known = match self.index.session(id)? {
            Some(known) if known.listing_state != ListingState::Collected => known,
            _ => return self.stop_beginning(id, received_at).await,
        };
        // The runtime keeps the alarm together with the writes that follow without an await.
        self.set_for_pass()?;
        self.index.mark(&known, ListingState::Erasing)?;
        let known = self.index.session(id)?.ok_or_else(|| no_session(id))?;
        let receipt = self.remove(&known, received_at, Ending::WhenDone).await?;
        self.end_removals().await?;
        receipt.ok_or_else(|| no_session(id))
    }

    /// Has a session that the index does not know refuse what was received before the request to erase it: a submission
    /// may be on its way that would begin it.
    async fn stop_beginning(&self, id: &SessionId, received_at: u64) -> Result<ErasureReceipt> {
        let session_id = id.clone();
        let question = EraseQuestion {
            session_id,
            incarnation: 0,
            received_at,
            only_expired: false,
            ending: Ending::WhenDone,
            credentials_valid_from: 0,
        };
        ask_session(self.platform.as_ref(), id, &question).await?;
        Err(no_session(id))
    }

    /// Has a session on its way out erase itself, and takes its row out of the index. Returns the receipt, `None` of a
    /// session that is gone or stays.
    ///
    /// # Errors
    /// The session could not be erased, or did not answer. It stays on its way out.
    pub(super) async fn remove(
        &self,
        known: &IndexedSession,
        received_at: u64,
        ending: Ending,
    ) -> Result<Option<ErasureReceipt>> {
        let removed = self.ask_to_erase(known, received_at, ending).await;
        self.index.note_attempt(known, removed.is_err())?;
        removed
    }

    async fn ask_to_erase(
        &self,
        known: &IndexedSession,
        received_at: u64,
        ending: Ending,
    ) -> Result<Option<ErasureReceipt>> {
        let id = &known.session_id;
        if known.listing_state == ListingState::Collected {
            self.let_receipt_go(known).await?;
            return Ok(None);
        }
        let question = self.erase_question(known, received_at, ending)?;
        match ask_session(self.platform.as_ref(), id, &question).await? {
            EraseReply::Gone => {
                self.index.remove(known)?;
                self.underway.borrow_mut().remove(id);
                Ok(None)
            }
            EraseReply::Erased { receipt, is_done } => {
                if is_done || ending == Ending::Now {
                    self.index.collect(known, &receipt)?;
                    self.underway.borrow_mut().remove(id);
                    // It is erased all the same where the session does not hear of it: the alarm tells it again.
                    let _ = self.let_receipt_go(known).await;
                } else if self.index.is_uncounted(known)? {
                    // Otherwise the session began anew while this reply was awaited, and its receipt is counted.
                    self.underway.borrow_mut().insert(id.clone(), receipt.clone());
                }
                Ok(Some(receipt))
            }
            EraseReply::Kept { summary } => {
                self.index.list(known, &summary)?;
                Ok(None)
            }
            EraseReply::Failed { fault } => Err(fault),
        }
    }

    /// Lets a session forget a receipt that is counted; with it the session's row goes.
    async fn let_receipt_go(&self, known: &IndexedSession) -> Result<()> {
        let counted = Collection { incarnation: known.summary.incarnation };
        let Done {} = ask_session(self.platform.as_ref(), &known.session_id, &counted).await?;
        self.index.remove(known)
    }

    /// Asks a session on its way out to erase itself.
    fn erase_question(
        &self,
        known: &IndexedSession,
        received_at: u64,
        ending: Ending,
    ) -> Result<EraseQuestion> {
        Ok(EraseQuestion {
            session_id: known.session_id.clone(),
            incarnation: known.summary.incarnation,
            received_at,
            only_expired: known.listing_state == ListingState::Expiring,
            ending,
            credentials_valid_from: self.revoked()?.credentials_valid_from,
        })
    }

    /// Sessions on their way out, at most `most` of them. Those whose rows are erased come last, since they wait for the
    /// model service alone.
    pub(super) fn next_to_remove(&self, most: u32) -> Result<Vec<IndexedSession>> {
        let waiting = self.underway.borrow().len() as u32;
        let mut leaving = self.index.leaving(most.saturating_add(waiting))?;
        leaving.sort_by_key(|known| self.underway.borrow().contains_key(&known.session_id));
        leaving.truncate(most as usize);
        Ok(leaving)
    }

    /// Removes sessions that are on their way out, as many as it comes to in a pass, and returns whether one could not be
    /// erased.
    pub(super) async fn remove_each(&self, leaving: &[IndexedSession], received_at: u64) -> bool {
        let ends_at = self.platform.now_ms().saturating_add(PASS_MS);
        let ask = async |known: &IndexedSession| {
            self.platform.now_ms() < ends_at
                && self.remove(known, received_at, Ending::WhenDone).await.is_err()
        };
        ask_each(leaving, ask).await.contains(&true)
    }

    /// Has sessions on their way out erase their rows, so that none of them takes a submission any more. The alarm removes
    /// them.
    pub(super) async fn erase_rows(
        &self,
        leaving: &[IndexedSession],
        received_at: u64,
    ) -> Result<()> {
        let ask = async |known: &IndexedSession| {
            let question = self.erase_question(known, received_at, Ending::Rows)?;
            let reply = ask_session(self.platform.as_ref(), &known.session_id, &question).await;
            self.index.note_attempt(known, matches!(reply, Ok(EraseReply::Failed { .. }) | Err(_)))
        };
        ask_each(leaving, ask).await.into_iter().collect()
    }

    /// Sets the alarm for the next pass over the sessions that are to be erased, unless it rings before.
    pub(super) fn set_for_pass(&self) -> Result<()> {
        let wait_ms = self.removals.wait_ms(self.alarm_interval_ms.get());
        self.alarm.set_in(self.platform.as_ref(), wait_ms)
    }

    /// Goes on with removals when the alarm rings: ever later while nothing but the model service is waited for.
    pub(super) async fn resume_removals(&self) -> Result<()> {
        let erased_at = self.index.user()?.map_or(0, |user| user.erased_at);
        let failed = self.remove_each(&self.next_to_remove(PER_PASS)?, erased_at).await;
        let (leaving, _) = self.index.count_leaving()?;
        let waiting = self.underway.borrow().len() as u64;
        self.removals.note(failed || (1..=waiting).contains(&leaving));
        self.end_removals_of(leaving).await
    }

    /// Sets the alarm where sessions are still to be erased, notes that an erasure of the user is complete, and frees
    /// the storage of a user of whom nothing is left to be known.
    pub(super) async fn end_removals(&self) -> Result<()> {
        self.end_removals_of(self.index.count_leaving()?.0).await
    }

    /// The same for whoever has just counted the sessions that are still to be erased.
    async fn end_removals_of(&self, leaving: u64) -> Result<()> {
        let platform = self.platform.as_ref();
        if leaving > 0 {
            return self.set_for_pass();
        }
        self.complete_erasure()?;
        // How long earlier tokens live is known when the variable is mended.
        let longest_token_ms = longest_token_ms(platform).ok();
        match self.index.forget(longest_token_ms, platform.now_ms())? {
            Forgetting::Kept => Ok(()),
            Forgetting::KeptUntil(at_ms) => self.alarm.set_by(platform, at_ms),
            Forgetting::Forgotten => {
                self.alarm.forget();
                platform.free_storage().await
            }
        }
    }
}

/// The longest life of a provider's token, in milliseconds; 0 where no provider is named.
///
/// # Errors
/// The variable that names them is malformed.
fn longest_token_ms<P: Platform>(platform: &P) -> Result<u64> {
    let named = platform.secret("IDENTITY_PROVIDERS").filter(|text| !text.is_empty());
    named.map_or(Ok(0), |text| Ok(Providers::parse(&text)?.longest_token_ms()))
}
