//! The list of a user's sessions, and their titles (interface §13).

use std::collections::BTreeSet;
use std::rc::Rc;

use super::session_asking::{ask_each, ask_session};
use super::user_host::UserHost;
use crate::catalog::Catalog;
use crate::contract::{InvokeResult, Result, SessionId, no_session, shown};
use crate::encoding::timestamp;
use crate::ports::{Database, Platform, with_timeout};
use crate::users::{
    Cursor, Ending, IndexedSession, ListingState, SessionFilter, SessionStatus, SummaryQuestion,
    SummaryReply, Waiting,
};

/// How long a session that never began stays registered, in milliseconds.
const UNBEGUN_MS: u64 = 5 * 60 * 1000;

/// How long the list waits for what a session tells of itself, in milliseconds.
const WAIT_MS: u64 = 5_000;

/// The most rounds of questions before a page is shown. Each asks as many sessions as a page holds. Where sessions are
/// still unknown after that, the page ends before the first of them.
const MOST_ROUNDS: u32 = 20;

/// The most registered sessions that are asked before a user's sessions are counted.
const MOST_ASKED: u32 = 200;

shown! {
    /// `GET /sessions`
    struct SessionsView<'a> {
        sessions: Vec<SessionEntry<'a>>,
        /// There are more sessions: ask again with this as `After`.
        next?: Option<String>,
    }

    /// A session in the list of its user.
    struct SessionEntry<'a> {
        session_id: &'a SessionId,
        title: &'a str,
        created_at: String,
        active_at: String,
        mode_display_name: &'a str,
        status: SessionStatus,
        turns: u64,
        tokens: u64,
        waiting?: Option<&'a Waiting>,
    }
}

impl<P: Platform, D: Database> UserHost<P, D> {
    /// A page of the list. `named` are the only sessions that the caller may see.
    pub(super) async fn list(
        &self,
        catalog: Option<Rc<Catalog>>,
        filter: &SessionFilter,
        named: Option<&[String]>,
    ) -> Result<InvokeResult> {
        let limit = filter.limit as usize;
        let cursor = |last: &IndexedSession| Cursor::behind(last, filter.order).text(filter.order);
        let mut absent = BTreeSet::new();
        let (mut rounds, mut last_asked) = (0, None);
        let (mut page, end) = loop {
            // One session more than the page holds shows whether there is another page.
            let mut page = self.index.page(filter, named, limit + 1 + absent.len())?;
            let is_unknown = |known: &IndexedSession| {
                known.listing_state == ListingState::Registered
                    && !absent.contains(&known.session_id)
            };
            let Some(asked) = page.iter().position(is_unknown) else { break (page, None) };
            if rounds == MOST_ROUNDS {
                page.truncate(asked);
                // Those that were asked may be gone.
                let end = page.last().map(cursor).or(last_asked);
                break (page, end);
            }
            rounds += 1;
            page.retain(is_unknown);
            absent.extend(self.absent(&page).await?);
            last_asked = page.last().map(cursor);
        };
        page.retain(|known| known.listing_state == ListingState::Listed);
        let more = page.len() > limit;
        page.truncate(limit);
        let next = page.last().filter(|_| more).map(cursor).or(end);
        let entry = |known| entry(known, catalog.as_deref());
        let view = SessionsView { sessions: page.iter().map(entry).collect(), next };
        Ok(InvokeResult::success(&view))
    }

    /// Sets the title of a session, and returns what the list shows of it.
    pub(super) async fn rename(
        &self,
        catalog: Option<Rc<Catalog>>,
        id: &SessionId,
        title: &str,
    ) -> Result<InvokeResult> {
        let known = self.index.session(id)?.ok_or_else(|| no_session(id))?;
        if known.listing_state == ListingState::Registered {
            self.absent(&[known]).await?;
        }
        self.index.rename(id, title)?;
        let renamed = self.index.session(id)?;
        let renamed = renamed.filter(|known| known.listing_state == ListingState::Listed);
        let renamed = renamed.ok_or_else(|| no_session(id))?;
        Ok(InvokeResult::success(entry(&renamed, catalog.as_deref())))
    }

    /// Asks the registered sessions whether they have begun.
    pub(super) async fn ask_registered(&self) -> Result<()> {
        let registered = self.index.in_state(ListingState::Registered, MOST_ASKED)?;
        self.absent(&registered).await.map(|_| ())
    }

    /// Asks registered sessions whether they have begun, and returns those that have not. Of the others the index then
    /// has what they tell. One that did not begin for minutes leaves the index.
    async fn absent(&self, registered: &[IndexedSession]) -> Result<Vec<SessionId>> {
        let platform = self.platform.as_ref();
        let mut absent = Vec::new();
        let replies = ask_each(registered, async |known| summary_of(platform, known).await).await;
        for (known, reply) in registered.iter().zip(replies) {
            match reply {
                Some(SummaryReply { summary: Some(summary), .. })
                    if summary.incarnation == known.summary.incarnation =>
                {
                    self.index.list(known, &summary)?;
                    continue;
                }
                Some(SummaryReply { summary: None, is_building_fork: false })
                    if is_overdue(platform, known) =>
                {
                    self.drop_unbegun(known).await?;
                }
                Some(_) | None => {}
            }
            absent.push(known.session_id.clone());
        }
        Ok(absent)
    }

    /// Takes a session that did not begin out of the index. Where that fails, the alarm goes on.
    async fn drop_unbegun(&self, known: &IndexedSession) -> Result<()> {
        self.set_for_pass()?;
        self.index.mark(known, ListingState::Expiring)?;
        let marked = self.index.session(&known.session_id)?;
        if let Some(marked) = marked.filter(|marked| marked.listing_state == ListingState::Expiring)
        {
            // Nobody asks for an erasure, so a first turn or a fork that was received before may still begin the session. A
            // failure is counted, and shows nowhere else.
            let _ = self.remove(&marked, 0, Ending::WhenDone).await;
        }
        Ok(())
    }
}

/// What a registered session tells of itself; `None` where it does not answer in time.
async fn summary_of<P: Platform>(platform: &P, known: &IndexedSession) -> Option<SummaryReply> {
    let question = SummaryQuestion { incarnation: known.summary.incarnation };
    let asking = ask_session(platform, &known.session_id, &question);
    with_timeout(platform, WAIT_MS, asking).await?.ok()
}

fn is_overdue<P: Platform>(platform: &P, known: &IndexedSession) -> bool {
    known.registered_at.saturating_add(UNBEGUN_MS) <= platform.now_ms()
}

fn entry<'a>(known: &'a IndexedSession, catalog: Option<&'a Catalog>) -> SessionEntry<'a> {
    let summary = &known.summary;
    let mode = summary.mode.as_str();
    SessionEntry {
        session_id: &known.session_id,
        title: &summary.title,
        created_at: timestamp(summary.created_at),
        active_at: timestamp(summary.active_at),
        // The mode's key while there is no valid catalog.
        mode_display_name: catalog.map_or(mode, |catalog| catalog.display_name(mode)),
        status: summary.status,
        turns: summary.turns,
        tokens: summary.tokens,
        waiting: summary.waiting.as_ref(),
    }
}
