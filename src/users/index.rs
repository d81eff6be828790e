//! The index of a user's sessions: the storage of the user's object.
//!
//! Every change is conditional on the incarnation of the session that it is about and on its listing state, because the
//! object asks sessions meanwhile. When a method fails, nothing was written.

use std::cell::Cell;

use super::erasure::UserErasure;
use super::questions::Registration;
use super::records::{IndexedSession, ListingState, UserRow};
use super::schema::{SCHEMA, TABLES};
use super::spent::{EndedLease, LeaseQuestion, LeaseReply, Spent};
use super::summary::{SessionStatus, SessionSummary};
use crate::contract::{Result, SessionId, json_text};
use crate::persistence::ErasureReceipt;
use crate::ports::{Database, Row, SqlValue, insert};

/// The largest difference of two clocks, in milliseconds.
pub const MOST_SKEW_MS: u64 = 5 * 60 * 1000;

/// The longest life of a credential, in milliseconds, where no provider's token lives longer: a day, and the largest
/// difference of clocks. The object of a user without sessions keeps the time of the last revocation for so long.
pub const LONGEST_CREDENTIAL_MS: u64 = 24 * 60 * 60 * 1000 + MOST_SKEW_MS;

/// The largest whole number that the storage reads back.
const LARGEST: u64 = 1 << 53;

/// The storage of one user's object.
pub struct UserIndex<D> {
    pub(super) database: D,
    /// Whether there are tables; `None` before this instance has looked.
    has_tables: Cell<Option<bool>>,
    /// The newest incarnation that this instance has given.
    newest: Cell<u64>,
}

/// What becomes of a session that asks to be registered.
#[derive(Clone, Debug, PartialEq)]
pub enum Registering {
    /// The session is known, durably, under this number.
    Registered(u64),
    /// An earlier incarnation of it is still to be erased.
    Leaving(Box<IndexedSession>),
}

impl<D: Database> UserIndex<D> {
    /// An index over a database, which may be empty. Nothing is read or written yet.
    pub fn new(database: D) -> Self {
        Self { database, has_tables: Cell::default(), newest: Cell::default() }
    }

    /// The user's row; `None` where nothing is known of the user.
    pub fn user(&self) -> Result<Option<UserRow>> {
        self.rows(UserRow::SELECT, &[])?.first().map(UserRow::from_row).transpose()
    }

    /// A session of the user, whatever its state.
    pub fn session(&self, id: &SessionId) -> Result<Option<IndexedSession>> {
        Ok(self.sessions("WHERE session_id = ?", &[id.as_str().into()])?.pop())
    }

    /// Sessions in that state, the newest first.
    pub fn in_state(&self, listing_state: ListingState, most: u32) -> Result<Vec<IndexedSession>> {
        let which = "WHERE listing_state = ? ORDER BY active_at DESC, session_id LIMIT ?";
        self.sessions(which, &[listing_state.as_str().into(), most.into()])
    }

    /// Sessions on their way out, those with the fewest failures first.
    pub fn leaving(&self, most: u32) -> Result<Vec<IndexedSession>> {
        let which = "WHERE listing_state IN ('expiring', 'erasing', 'collected')
             ORDER BY attempts, session_id LIMIT ?";
        self.sessions(which, &[most.into()])
    }

    /// The number of sessions that are to be erased, and of those among them whose latest attempt failed.
    pub fn count_leaving(&self) -> Result<(u64, u64)> {
        let statement =
            "SELECT COUNT(*) AS leaving, COALESCE(SUM(attempts > 0), 0) AS failed FROM sessions
             WHERE listing_state IN ('expiring', 'erasing', 'collected')";
        let rows = self.rows(statement, &[])?;
        let counts = rows.first().map(|row| Ok((row.get("leaving")?, row.get("failed")?)));
        Ok(counts.transpose()?.unwrap_or_default())
    }

    /// The ids of all sessions but those that are erased already.
    pub fn all(&self) -> Result<Vec<SessionId>> {
        let statement = "SELECT session_id FROM sessions WHERE listing_state <> 'collected'";
        self.rows(statement, &[])?.iter().map(|row| row.get("session_id")).collect()
    }

    /// Registers a session that has no row, so that it may begin. The user's row and the time of the submission are
    /// looked at before.
    pub fn register(&self, new: &Registration, now_ms: u64) -> Result<Registering> {
        let known = self.session(&new.session_id)?;
        let (id, title) = (new.session_id.as_str(), new.title.as_str());
        let registered = match known {
            Some(known) if known.listing_state.is_leaving() => {
                return Ok(Registering::Leaving(Box::new(known)));
            }
            Some(known) => {
                self.database.execute(
                    "UPDATE sessions SET registered_at = ?,
                        title = CASE WHEN renamed = 1 OR listing_state = 'listed' THEN title ELSE ? END
                     WHERE session_id = ?",
                    &[now_ms.into(), title.into(), id.into()],
                )?;
                Registering::Registered(known.summary.incarnation)
            }
            None => {
                let incarnation = now_ms.max(self.newest.get().saturating_add(1));
                let begins = SessionSummary {
                    incarnation,
                    created_at: now_ms,
                    active_at: now_ms,
                    status: SessionStatus::Running,
                    mode: new.mode.clone(),
                    turns: 0,
                    tokens: 0,
                    title: new.title.clone(),
                    waiting: None,
                };
                self.take_in(&new.session_id, &begins, ListingState::Registered, now_ms)?;
                Registering::Registered(incarnation)
            }
        };
        if let Some(parent) = &new.parent {
            self.database.execute(
                "UPDATE sessions SET title = parent.title, renamed = 1
                 FROM (SELECT title FROM sessions WHERE session_id = ?1 AND renamed = 1) AS parent
                 WHERE session_id = ?2 AND listing_state = 'registered' AND renamed = 0",
                &[parent.as_str().into(), id.into()],
            )?;
        }
        Ok(registered)
    }

    /// Takes in a session under its number: one that registers, or one that has begun and that nobody has registered.
    pub fn take_in(
        &self,
        id: &SessionId,
        told: &SessionSummary,
        listing_state: ListingState,
        now_ms: u64,
    ) -> Result<()> {
        self.step(now_ms, || {
            insert!(self.database, "INSERT INTO" sessions (renamed = 0, attempts = 0) {
                session_id: id.as_str(),
                listing_state: listing_state.as_str(),
                incarnation: told.incarnation,
                registered_at: now_ms,
                created_at: told.created_at,
                active_at: told.active_at,
                status: told.status.as_str(),
                mode: told.mode.as_str(),
                turns: told.turns,
                tokens: told.tokens.min(LARGEST),
                title: told.title.as_str(),
            })
        })?;
        self.newest.set(self.newest.get().max(told.incarnation));
        Ok(())
    }

    /// Takes over what a session tells of itself. Nothing is written where that is known, or about another incarnation of the
    /// session.
    pub fn report(&self, id: &SessionId, told: &SessionSummary) -> Result<()> {
        let Some(known) = self.session(id)? else { return Ok(()) };
        let is_current = known.summary.incarnation == told.incarnation;
        if is_current && !known.listing_state.is_leaving() {
            self.list(&known, told)
        } else {
            Ok(())
        }
    }

    /// Lists a session that has begun, or one whose retention is not over after all, with what it tells of itself. Nothing is
    /// written where its state has changed since `known` was read: what has been told meanwhile is newer.
    pub fn list(&self, known: &IndexedSession, told: &SessionSummary) -> Result<()> {
        let waiting = told.waiting.as_ref();
        let waiting =
            waiting.map(|waiting| json_text("What a session waits for", waiting)).transpose()?;
        let tokens = told.tokens.min(LARGEST);
        self.database.execute(
            "UPDATE sessions SET listing_state = 'listed', created_at = ?1, active_at = ?2, status = ?3, mode = ?4,
                turns = ?5, tokens = ?6, title = CASE renamed WHEN 1 THEN title ELSE ?7 END, waiting = ?8,
                attempts = 0
             WHERE session_id = ?9 AND incarnation = ?10 AND listing_state IN ('registered', 'listed', 'expiring')
                AND listing_state = ?11
                AND NOT (listing_state = 'listed' AND created_at = ?1 AND active_at = ?2 AND status = ?3 AND mode = ?4
                    AND turns = ?5 AND tokens = ?6 AND (renamed = 1 OR title = ?7) AND waiting IS ?8)",
            &[
                told.created_at.into(),
                told.active_at.into(),
                told.status.as_str().into(),
                told.mode.as_str().into(),
                told.turns.into(),
                tokens.into(),
                told.title.as_str().into(),
                waiting.into(),
                known.session_id.as_str().into(),
                known.summary.incarnation.into(),
                known.listing_state.as_str().into(),
            ],
        )
    }

    /// Sets the title of a listed session for good.
    pub fn rename(&self, id: &SessionId, title: &str) -> Result<()> {
        self.database.execute(
            "UPDATE sessions SET title = ?, renamed = 1 WHERE session_id = ? AND listing_state = 'listed'",
            &[title.into(), id.as_str().into()],
        )
    }

    /// Marks a session that is to erase itself, for good or if its retention is over, and hides it. One that has registered
    /// since `known` was read is about to begin, and stays.
    pub fn mark(&self, known: &IndexedSession, listing_state: ListingState) -> Result<()> {
        self.database.execute(
            "UPDATE sessions SET listing_state = ?, attempts = 0
             WHERE session_id = ? AND incarnation = ? AND listing_state IN ('registered', 'listed', 'expiring')
                AND registered_at = ?",
            &[
                listing_state.as_str().into(),
                known.session_id.as_str().into(),
                known.summary.incarnation.into(),
                known.registered_at.into(),
            ],
        )
    }

    /// Notes how an attempt to erase a session ended: failures in a row are counted. Nothing is written where it failed neither
    /// now nor before.
    pub fn note_attempt(&self, known: &IndexedSession, failed: bool) -> Result<()> {
        if !failed && known.attempts == 0 {
            return Ok(());
        }
        self.database.execute(
            "UPDATE sessions SET attempts = CASE ? WHEN 1 THEN attempts + 1 ELSE 0 END
             WHERE session_id = ? AND incarnation = ? AND listing_state IN ('expiring', 'erasing', 'collected')",
            &[
                u32::from(failed).into(),
                known.session_id.as_str().into(),
                known.summary.incarnation.into(),
            ],
        )
    }

    /// Drops a session that is gone. In an erasure of the user it counts as erased, unless its receipt was counted
    /// before or it never began.
    pub fn remove(&self, known: &IndexedSession) -> Result<()> {
        self.database.transaction(|| {
            let Some(current) = self.current(known)?.filter(|it| it.listing_state.is_leaving())
            else {
                return Ok(());
            };
            if current.listing_state != ListingState::Collected && current.summary.turns > 0 {
                self.count(None)?;
            }
            let statement = "DELETE FROM sessions WHERE session_id = ?";
            self.database.execute(statement, &[known.session_id.as_str().into()])
        })
    }

    /// Counts a session's receipt in the erasure of the user. The session may forget the receipt from here on.
    pub fn collect(&self, known: &IndexedSession, receipt: &ErasureReceipt) -> Result<()> {
        self.database.transaction(|| {
            if !self.is_uncounted(known)? {
                return Ok(());
            }
            self.count(Some(receipt))?;
            let statement = "UPDATE sessions SET listing_state = 'collected' WHERE session_id = ?";
            self.database.execute(statement, &[known.session_id.as_str().into()])
        })
    }

    /// Whether a session is on its way out and its receipt is not counted yet.
    pub fn is_uncounted(&self, known: &IndexedSession) -> Result<bool> {
        Ok(self.current(known)?.is_some_and(|current| match current.listing_state {
            ListingState::Expiring | ListingState::Erasing => true,
            ListingState::Registered | ListingState::Listed | ListingState::Collected => false,
        }))
    }

    /// The session's row as it is now, where it is of the same incarnation.
    fn current(&self, known: &IndexedSession) -> Result<Option<IndexedSession>> {
        let current = self.session(&known.session_id)?;
        let is_same = |it: &IndexedSession| it.summary.incarnation == known.summary.incarnation;
        Ok(current.filter(is_same))
    }

    fn count(&self, receipt: Option<&ErasureReceipt>) -> Result<()> {
        let erasure = self.user()?.and_then(|user| user.erasure);
        let Some(mut erasure) = erasure.filter(|erasure| erasure.completed_at.is_none()) else {
            return Ok(());
        };
        erasure.erased += 1;
        if let Some(receipt) = receipt {
            erasure.counts.add(receipt);
        }
        self.save_erasure(Some(&erasure))
    }

    /// Refuses submissions that were received earlier, and credentials that were issued earlier. With the erasure of the
    /// user that begins, each session is to erase itself.
    pub fn bar_earlier(
        &self,
        received_at: u64,
        credentials_valid_from: u64,
        now_ms: u64,
        begun: Option<&UserErasure>,
    ) -> Result<()> {
        self.step(now_ms, || {
            // The time of an earlier erasure, by a clock that was set back since, bars nothing any more. Whoever only
            // revokes (0) says nothing about it.
            self.database.execute(
                "UPDATE user SET erased_at = IIF(?1 > 0 AND erased_at > ?3, ?1, MAX(erased_at, ?1)),
                    credentials_valid_from = MAX(credentials_valid_from, ?2)",
                &[
                    received_at.into(),
                    credentials_valid_from.into(),
                    received_at.saturating_add(MOST_SKEW_MS).into(),
                ],
            )?;
            let Some(begun) = begun else { return Ok(()) };
            let statement = "UPDATE sessions SET listing_state = 'erasing', attempts = 0
                 WHERE listing_state IN ('registered', 'listed', 'expiring')";
            self.database.execute(statement, &[])?;
            self.save_erasure(Some(begun))
        })
    }

    /// Stores the erasure, or that its last receipt was given.
    pub fn save_erasure(&self, erasure: Option<&UserErasure>) -> Result<()> {
        let text = erasure.map(|erasure| json_text("A receipt", erasure)).transpose()?;
        self.database.execute("UPDATE user SET receipt = ?", &[text.into()])
    }

    /// Takes a lease of tokens back, and gives another one.
    pub fn lease(&self, asked: &LeaseQuestion, now_ms: u64) -> Result<LeaseReply> {
        let known = self.user()?.map(|user| user.spent).unwrap_or_default();
        self.change_spent(known, now_ms, |spent| spent.lease(asked, now_ms))
    }

    /// Takes a lease of tokens back.
    pub fn take_back(&self, ended: EndedLease, now_ms: u64) -> Result<()> {
        let Some(user) = self.user()? else { return Ok(()) };
        self.change_spent(user.spent, now_ms, |spent| spent.take_back(ended, now_ms))
    }

    /// Counts the bytes that a fork copies, as [`Spent::copy`] does, durably.
    pub fn copy(&self, bytes: u64, most: u64, now_ms: u64) -> Result<Result<(), u64>> {
        let known = self.user()?.map(|user| user.spent).unwrap_or_default();
        self.change_spent(known, now_ms, |spent| spent.copy(bytes, most, now_ms))
    }

    /// Changes what the user has spent; nothing is written where it stays as it was.
    fn change_spent<T>(
        &self,
        known: Spent,
        now_ms: u64,
        change: impl FnOnce(&mut Spent) -> T,
    ) -> Result<T> {
        let mut spent = known.clone();
        let changed = change(&mut spent);
        if spent != known {
            let text = json_text("The leases", &spent)?;
            let statement = "UPDATE user SET spent = ?";
            self.step(now_ms, || self.database.execute(statement, &[text.into()]))?;
        }
        Ok(changed)
    }

    /// Drops the tables of a user without sessions, of whom nothing is left to be known. `longest_token_ms` is the
    /// longest life of a provider's token; where nobody knows it at the moment, a revocation is kept on.
    pub fn forget(&self, longest_token_ms: Option<u64>, now_ms: u64) -> Result<Forgetting> {
        let Some(user) = self.user()? else { return Ok(Forgetting::Forgotten) };
        let some = "SELECT session_id FROM sessions LIMIT 1";
        let has_sessions = self.database.first(some, &[])?.is_some();
        if has_sessions {
            return Ok(Forgetting::Kept);
        }
        let known_until = match (user.credentials_valid_from, longest_token_ms) {
            (0, _) => 0,
            (_, None) => now_ms.saturating_add(LONGEST_CREDENTIAL_MS),
            (before, Some(longest)) => before.saturating_add(LONGEST_CREDENTIAL_MS.max(longest)),
        };
        // A user who is erased has spent as much as before.
        let known_until = known_until.max(user.spent.counts_until(now_ms));
        if now_ms < known_until {
            return Ok(Forgetting::KeptUntil(known_until));
        }
        self.database.transaction(|| {
            self.database.execute_all(&["DROP TABLE sessions", "DROP TABLE user"])
        })?;
        self.has_tables.set(Some(false));
        Ok(Forgetting::Forgotten)
    }

    /// Makes `writes` one durable step of an object that knows of its user.
    fn step(&self, now_ms: u64, writes: impl FnOnce() -> Result<()>) -> Result<()> {
        let has_tables = self.find_tables()?;
        self.database.transaction(|| {
            if !has_tables {
                self.database.execute_all(TABLES)?;
                insert!(self.database, "INSERT INTO" user
                    (id = 1, credentials_valid_from = 0, erased_at = 0, spent = "'{}'") {
                    schema_version: SCHEMA.form(),
                    created_at: now_ms,
                })?;
            }
            writes()
        })?;
        self.has_tables.set(Some(true));
        Ok(())
    }

    /// The form of tables that a newer version of the product wrote; `None` where this one reads them.
    pub fn newer_form(&self) -> Result<Option<usize>> {
        SCHEMA.newer(&self.database)
    }

    /// Looks for the tables, once, and brings older ones up to date.
    pub(super) fn find_tables(&self) -> Result<bool> {
        if let Some(known) = self.has_tables.get() {
            return Ok(known);
        }
        let found = SCHEMA.find(&self.database)?;
        self.has_tables.set(Some(found));
        Ok(found)
    }

    pub(super) fn sessions(
        &self,
        which: &str,
        parameters: &[SqlValue],
    ) -> Result<Vec<IndexedSession>> {
        let statement = format!("SELECT {} FROM sessions {which}", IndexedSession::COLUMNS);
        self.rows(&statement, parameters)?.iter().map(IndexedSession::from_row).collect()
    }

    /// What a statement selects; nothing before there are tables.
    pub(super) fn rows(&self, statement: &str, parameters: &[SqlValue]) -> Result<Vec<Row>> {
        match self.find_tables()? {
            true => self.database.query(statement, parameters),
            false => Ok(Vec::new()),
        }
    }
}

/// What became of an attempt to forget a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgetting {
    /// Nothing is stored any more.
    Forgotten,
    /// There is something to keep.
    Kept,
    /// Until when a revocation has to be known, in milliseconds since the Unix epoch.
    KeptUntil(u64),
}
